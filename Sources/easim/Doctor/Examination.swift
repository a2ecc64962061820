struct Examination: Equatable {
  enum Finding: Equatable {
    case works(String)
    case limited(String, remedy: String)
    case fails(String, remedy: String)
  }

  /// The check's name in JSON, which must not change between versions.
  let name: String
  let purpose: String
  let finding: Finding

  var passed: Bool {
    if case .fails = finding { return false }
    return true
  }

  var text: String {
    switch finding {
    case .works(let text), .limited(let text, _), .fails(let text, _): text
    }
  }

  var remedy: String? {
    switch finding {
    case .limited(_, let remedy), .fails(_, let remedy): remedy
    case .works: nil
    }
  }

  var mark: String {
    switch finding {
    case .works: "✓"
    case .limited: "!"
    case .fails: "✗"
    }
  }
}
