/// One thing that easim can or cannot do on this machine.
struct Examination: Equatable {
  /// What came out.
  enum Finding: Equatable {
    /// It works; with what was found.
    case works(String)
    /// It works less well than it could.
    case limited(String, remedy: String)
    /// It does not work, and something that easim is for does not work without it.
    case fails(String, remedy: String)
  }

  /// What was looked at, in a word that does not change: for JSON.
  let name: String
  /// What it is for.
  let purpose: String
  /// What came out.
  let finding: Finding

  /// Whether nothing is missing.
  var passed: Bool {
    if case .fails = finding { return false }
    return true
  }

  /// What was found.
  var text: String {
    switch finding {
    case .works(let text), .limited(let text, _), .fails(let text, _): text
    }
  }

  /// The command that mends it.
  var remedy: String? {
    switch finding {
    case .limited(_, let remedy), .fails(_, let remedy): remedy
    case .works: nil
    }
  }

  /// A mark for people.
  var mark: String {
    switch finding {
    case .works: "✓"
    case .limited: "!"
    case .fails: "✗"
    }
  }
}
