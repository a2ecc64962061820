/// A position in a file, given as a line and a column. Lines and columns are counted from 1, and each Unicode scalar is
/// one column.
public struct SourcePosition: Equatable, Hashable, Sendable, CustomStringConvertible {
  /// The name of the file as the user gave it, or a description such as "standard input".
  public var file: String
  /// The line number, counted from 1.
  public var line: Int
  /// The column number, counted from 1. A tab counts as one column.
  public var column: Int

  /// Creates a position in a file.
  public init(file: String, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  /// The position of a value that was created in code rather than read from a file.
  public static let made = SourcePosition(file: "", line: 0, column: 0)

  /// Creates the position of a command-line argument, which has no lines. `argument` is a description such as "quirk
  /// 'flicker,cycles=0'".
  public init(argument: String) { self.init(file: argument, line: 0, column: 0) }

  /// Returns the position of a column within an argument. If the argument is a string in a file, returns the position
  /// of the string.
  func column(_ column: Int) -> SourcePosition {
    line == 0 && self != .made ? SourcePosition(file: file, line: 0, column: column) : self
  }

  /// `file:line:column`, which many terminals and editors make clickable. For an argument, the description of the
  /// argument and the column.
  public var description: String {
    if line > 0 { return "\(file):\(line):\(column)" }
    return column > 0 ? "\(file), column \(column)" : file
  }

  var inFile: String { line > 0 ? "line \(line), column \(column)" : "column \(column)" }
}

/// A problem in a file: where it is, which key it affects, what is wrong, and how to fix it.
///
/// The description is the line that the user sees: `mine.json5:4:11: accessory.name: expected text, found number 5`.
public struct SourceProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// How severe the problem is.
  public enum Severity: String, Sendable {
    /// The file cannot be used.
    case error
    /// The file can be used, but the value is probably not what the author intended.
    case warning
  }

  /// Whether the problem makes the file unusable.
  public var severity: Severity
  /// The position of the problem, or nil if the source is not a file, for example if it is a command-line argument.
  public var position: SourcePosition?
  /// The path of the key, such as `protocols[1].name`, or an empty string for the document itself.
  public var path: String
  /// What is wrong.
  public var message: String

  /// Creates a problem at a place.
  public init(_ severity: Severity = .error, at position: SourcePosition?, path: String = "", _ message: String) {
    self.severity = severity
    self.position = position == .made ? nil : position
    self.path = path
    self.message = message
  }

  /// `file:line:column: path: message`, with `warning:` before the message of a warning.
  public var description: String {
    let place = position.map { "\($0): " } ?? ""
    let key = path.isEmpty ? "" : "\(path): "
    return "\(place)\(severity == .warning ? "warning: " : "")\(key)\(message)"
  }
}

/// All problems in a file, in file order. The list is never empty.
public struct SourceProblems: Error, Equatable, Sendable, CustomStringConvertible {
  /// The problems.
  public let problems: [SourceProblem]

  /// Combines several problems into one error.
  public init(_ problems: [SourceProblem]) {
    precondition(!problems.isEmpty, "an error needs at least one problem")
    self.problems = problems
  }

  /// One line per problem.
  public var description: String {
    problems.map(\.description).joined(separator: "\n")
  }
}

/// Collects the problems in a file so that the user can fix all of them at once.
public final class ProblemCollector {
  /// The maximum number of errors to keep, and the maximum number of warnings. Further problems are only counted,
  /// because a thousand mistakes in one file usually have a single cause.
  public static let most = 50

  private var kept: [SourceProblem.Severity: [SourceProblem]] = [:]
  private var counts: [SourceProblem.Severity: Int] = [:]
  private var unreadable: Set<String> = []
  /// The paths of objects that lack a key because it is mistyped.
  var incomplete: [String] = []

  /// Whether a single word is being read. Messages about a single word leave quoting to the caller.
  let isOfOneWord: Bool

  /// Creates a collector without problems.
  public init() { isOfOneWord = false }

  init(ofOneWord isOfOneWord: Bool) { self.isOfOneWord = isOfOneWord }

  /// Adds a problem.
  public func add(_ problem: SourceProblem) {
    counts[problem.severity, default: 0] += 1
    if counts[problem.severity, default: 0] <= Self.most { kept[problem.severity, default: []].append(problem) }
  }

  /// Adds an error.
  public func error(at position: SourcePosition?, path: String = "", _ message: String) {
    add(SourceProblem(.error, at: position, path: path, message))
  }

  /// Records that an element was left out of a list because it could not be read.
  func noteUnreadable(_ path: String) { unreadable.insert(path) }

  /// Returns the paths of the `count` list elements that could be read. Unreadable elements are skipped.
  public func paths(of list: String, count: Int) -> [String] {
    Array((0...).lazy.map { "\(list)[\($0)]" }.filter { [unreadable] in !unreadable.contains($0) }.prefix(count))
  }

  /// The number of errors so far.
  public var errorCount: Int { counts[.error, default: 0] }

  /// The paths of the values that could not be read completely.
  public var errorPaths: [String] { kept[.error, default: []].map(\.path) + incomplete }

  /// The problems in file order, followed by a note that gives the number of dropped problems.
  public var problems: [SourceProblem] {
    var all = kept[.error, default: []] + kept[.warning, default: []]
    all.sort { left, right in
      guard let left = left.position, let right = right.position else {
        return left.position != nil && right.position == nil
      }
      return (left.file, left.line, left.column) < (right.file, right.line, right.column)
    }
    for severity in [SourceProblem.Severity.error, .warning] {
      let more = counts[severity, default: 0] - Self.most
      if more > 0 { all.append(SourceProblem(severity, at: nil, "and \(more) more")) }
    }
    return all
  }

  /// If there are errors, throws all of them in file order.
  public func throwErrors() throws(SourceProblems) {
    if errorCount > 0 { throw SourceProblems(problems.filter { $0.severity == .error }) }
  }
}
