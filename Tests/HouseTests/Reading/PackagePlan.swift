/// The package description as the house reads it: which targets there are, on which floor, and what they say they
/// stand on.
///
/// Its text is read, because asking SwiftPM takes seconds and waits for a build that is under way.
struct PackagePlan {
  struct Target: Equatable {
    enum Kind {
      /// A library: `room(…)`.
      case room
      /// C, or a library of the system.
      case foreign
      /// A program.
      case program
      /// What test targets share.
      case support
      /// `tests(…)`.
      case tests
    }

    let name: String
    let kind: Kind
    /// Nil for tests and what they share: they stand outside the house and look in.
    let floor: Int?
    let dependencies: Set<String>
    let folder: String
  }

  let targets: [Target]

  /// Programs are at the top.
  static let topFloor = 7

  init(parsing text: String) throws(PlanError) {
    let text = SwiftText(text).withoutComments
    guard let package = text.range(of: "let package = Package(") else { throw .noPackage }
    let calls = Call.all(named: Self.makers, in: text[package.upperBound...])
    var targets: [Target] = []
    for call in calls { targets.append(try Self.target(call)) }
    if targets.isEmpty { throw .noTargets }
    self.targets = targets
  }

  subscript(name: String) -> Target? { targets.first { $0.name == name } }

  private static let makers = ["room", "tests", ".target", ".executableTarget", ".systemLibrary", ".testTarget"]

  private static func target(_ call: Call) throws(PlanError) -> Target {
    guard let name = call.text(labelled: "name") ?? call.text(labelled: nil) else { throw .noName(call.maker) }
    let dependencies = Set(call.texts(labelled: "dependencies") ?? call.texts(labelled: nil) ?? [])
    let path = call.text(labelled: "path")
    func made(_ kind: Target.Kind, _ floor: Int?, _ folder: String) -> Target {
      Target(name: name, kind: kind, floor: floor, dependencies: dependencies, folder: path ?? "\(folder)/\(name)")
    }
    switch call.maker {
    case "room":
      guard let floor = call.number(labelled: "floor") else { throw .noFloor(name) }
      return made(.room, floor, "Sources")
    case ".target" where path?.hasPrefix("Tests/") == true: return made(.support, nil, "Tests")
    case ".target", ".systemLibrary": return made(.foreign, 0, "Sources")
    // A program for tests stands beside the house, as they do.
    case ".executableTarget": return made(.program, path?.hasPrefix("Tests/") == true ? nil : topFloor, "Sources")
    default: return made(.tests, nil, "Tests")
    }
  }
}

/// What keeps a package description from being read.
enum PlanError: Error, Equatable {
  case noPackage
  case noTargets
  case noName(String)
  case noFloor(String)
}

/// A call in the text of a package description, with its arguments as text.
private struct Call {
  let maker: String
  private let arguments: [(label: String?, value: String)]

  /// The calls of these functions that are not inside one another.
  static func all(named makers: [String], in text: Substring) -> [Call] {
    var calls: [Call] = []
    var rest = text
    while let (maker, start) = earliest(makers, in: rest) {
      let (arguments, end) = split(rest[start...])
      calls.append(Call(maker: maker, arguments: arguments))
      rest = rest[end...]
    }
    return calls
  }

  private static func earliest(_ makers: [String], in text: Substring) -> (String, Substring.Index)? {
    makers.compactMap { maker in
      text.ranges(of: "\(maker)(").first { range in
        // Not the end of a longer name.
        range.lowerBound == text.startIndex || !text[text.index(before: range.lowerBound)].isLetter
      }.map { (maker, $0) }
    }.min { $0.1.lowerBound < $1.1.lowerBound }.map { ($0.0, $0.1.upperBound) }
  }

  /// Splits at the commas that are outside of brackets and literals, up to the parenthesis that closes the call.
  private static func split(
    _ text: Substring
  ) -> (arguments: [(label: String?, value: String)], end: Substring.Index) {
    var arguments: [String] = [""]
    var (depth, isQuoted) = (0, false)
    for index in text.indices {
      let character = text[index]
      if character == "\"" { isQuoted.toggle() }
      if !isQuoted {
        if character == ")", depth == 0 { return (arguments.map(labelled), index) }
        if "([".contains(character) { depth += 1 }
        if ")]".contains(character) { depth -= 1 }
        if character == ",", depth == 0 {
          arguments.append("")
          continue
        }
      }
      arguments[arguments.count - 1].append(character)
    }
    return (arguments.map(labelled), text.endIndex)
  }

  private static func labelled(_ argument: String) -> (label: String?, value: String) {
    let text = argument.trimmed
    guard let colon = text.firstIndex(of: ":"), text[..<colon].allSatisfy({ $0.isLetter }) else { return (nil, text) }
    return (String(text[..<colon]), String(text[text.index(after: colon)...]).trimmed)
  }

  func text(labelled label: String?) -> String? {
    values(label).first { $0.hasPrefix("\"") }.map { String($0.dropFirst().prefix { $0 != "\"" }) }
  }

  func texts(labelled label: String?) -> [String]? {
    values(label).first { $0.hasPrefix("[") }.map { list in
      list.split(separator: "\"", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
        .map { String($0.element) }
    }
  }

  func number(labelled label: String) -> Int? {
    values(label).first.flatMap { Int($0) }
  }

  private func values(_ label: String?) -> [String] {
    arguments.filter { $0.label == label }.map(\.value)
  }
}

extension String {
  fileprivate var trimmed: String {
    String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
  }
}
