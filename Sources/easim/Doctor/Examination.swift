/// One thing that easim can or cannot do on this machine.
struct Examination: Equatable {
  /// The result of a check.
  enum Finding: Equatable {
    /// It works; the text describes what was found.
    case works(String)
    /// It works less well than it could.
    case limited(String, remedy: String)
    /// It does not work, and without it some of easim's functions do not work.
    case fails(String, remedy: String)
  }

  /// The name of the check in JSON, which does not change.
  let name: String
  /// What it is needed for.
  let purpose: String
  /// The result.
  let finding: Finding

  /// Whether everything is available.
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

  /// The command that fixes it.
  var remedy: String? {
    switch finding {
    case .limited(_, let remedy), .fails(_, let remedy): remedy
    case .works: nil
    }
  }

  /// The mark of the result for users.
  var mark: String {
    switch finding {
    case .works: "✓"
    case .limited: "!"
    case .fails: "✗"
    }
  }
}
