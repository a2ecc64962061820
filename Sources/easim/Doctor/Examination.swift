/// The check of one capability of easim on this machine.
struct Examination: Equatable {
  /// The result of a check.
  enum Finding: Equatable {
    /// It works; the text describes what was found.
    case works(String)
    /// It works less well than it could.
    case limited(String, remedy: String)
    /// It does not work, so some functions of easim are unavailable.
    case fails(String, remedy: String)
  }

  /// The name of the check in JSON, which does not change.
  let name: String
  /// What the capability is needed for.
  let purpose: String
  /// The result.
  let finding: Finding

  /// Whether everything is available.
  var passed: Bool {
    if case .fails = finding { return false }
    return true
  }

  /// The description of the finding.
  var text: String {
    switch finding {
    case .works(let text), .limited(let text, _), .fails(let text, _): text
    }
  }

  /// The command that fixes the problem.
  var remedy: String? {
    switch finding {
    case .limited(_, let remedy), .fails(_, let remedy): remedy
    case .works: nil
    }
  }

  /// The symbol printed for the result.
  var mark: String {
    switch finding {
    case .works: "✓"
    case .limited: "!"
    case .fails: "✗"
    }
  }
}
