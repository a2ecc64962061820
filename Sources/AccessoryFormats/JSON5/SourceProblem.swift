/// A position in a file, as editors count: lines and columns from 1, a column per Unicode scalar.
public struct SourcePosition: Equatable, Hashable, Sendable, CustomStringConvertible {
  /// The file's name as the user gave it, or a name such as "standard input".
  public var file: String
  /// The number of the line, from 1.
  public var line: Int
  /// The number of the column, from 1; a tab counts as one.
  public var column: Int

  /// A position in a file.
  public init(file: String, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  /// The position of values that were created, not read.
  public static let made = SourcePosition(file: "", line: 0, column: 0)

  /// The beginning of an argument of the command line, which has no lines: "quirk 'flicker,cycles=0'".
  public init(argument: String) { self.init(file: argument, line: 0, column: 0) }

  /// A place in an argument; for a string in a file, the string's place.
  func column(_ column: Int) -> SourcePosition {
    line == 0 && self != .made ? SourcePosition(file: file, line: 0, column: column) : self
  }

  /// `file:line:column`, the form that editors make clickable; for an argument, its description and the column.
  public var description: String {
    if line > 0 { return "\(file):\(line):\(column)" }
    return column > 0 ? "\(file), column \(column)" : file
  }

  /// The same without the file.
  var inFile: String { line > 0 ? "line \(line), column \(column)" : "column \(column)" }
}

/// One problem in a file: where it is, under which key, what is wrong, and what to do about it.
///
/// The description is the one line that a user sees: `mine.json5:4:11: accessory.name: expected text, found number 5`.
public struct SourceProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// How severe the problem is.
  public enum Severity: String, Sendable {
    /// The file cannot be used.
    case error
    /// The file can be used, but probably does not mean what its author wants.
    case warning
  }

  /// Whether the problem prevents using the file.
  public var severity: Severity
  /// The position of the problem; nil for sources other than files, such as an argument of the command line.
  public var position: SourcePosition?
  /// The path of the key: `protocols[1].name`; empty for the document itself.
  public var path: String
  /// What is wrong.
  public var message: String

  /// A problem at a place.
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

/// All problems in a file, in the order of the file; never empty.
public struct SourceProblems: Error, Equatable, Sendable, CustomStringConvertible {
  /// The problems.
  public let problems: [SourceProblem]

  /// Several problems as one error.
  public init(_ problems: [SourceProblem]) {
    precondition(!problems.isEmpty, "an error needs at least one problem")
    self.problems = problems
  }

  /// One line per problem.
  public var description: String {
    problems.map(\.description).joined(separator: "\n")
  }
}

/// Collects the problems in one file, so that a user can fix all of them at once.
public final class ProblemCollector {
  /// Beyond this many of either severity, problems are only counted: a file with a thousand mistakes has one cause.
  public static let most = 50

  private var errors: [SourceProblem] = []
  private var warnings: [SourceProblem] = []
  private var unreadable: Set<String> = []
  private var uncountedErrors = 0
  private var uncountedWarnings = 0

  /// Whether a single word is read. Messages do not quote it, because its reader does.
  let isOfOneWord: Bool

  /// A collector without problems.
  public init() { isOfOneWord = false }

  init(ofOneWord isOfOneWord: Bool) { self.isOfOneWord = isOfOneWord }

  /// Adds a problem.
  public func add(_ problem: SourceProblem) {
    switch problem.severity {
    case .error where errors.count < Self.most: errors.append(problem)
    case .error: uncountedErrors += 1
    case .warning where warnings.count < Self.most: warnings.append(problem)
    case .warning: uncountedWarnings += 1
    }
  }

  /// Adds an error.
  public func error(at position: SourcePosition?, path: String = "", _ message: String) {
    add(SourceProblem(.error, at: position, path: path, message))
  }

  /// An element of a list could not be read, and is omitted from the list.
  func noteUnreadable(_ path: String) { unreadable.insert(path) }

  /// The paths of the elements of a list that were read; some may be missing from it.
  public func paths(of list: String, count: Int) -> [String] {
    Array((0...).lazy.map { "\(list)[\($0)]" }.filter { [unreadable] in !unreadable.contains($0) }.prefix(count))
  }

  /// The number of errors so far.
  public var errorCount: Int { errors.count + uncountedErrors }

  /// The problems in the order of the file, followed by the number of those that were not kept.
  public var problems: [SourceProblem] {
    var all = errors + warnings
    all.sort { left, right in
      guard let left = left.position, let right = right.position else {
        return left.position != nil && right.position == nil
      }
      return (left.file, left.line, left.column) < (right.file, right.line, right.column)
    }
    if uncountedErrors > 0 { all.append(SourceProblem(.error, at: nil, "and \(uncountedErrors) more")) }
    if uncountedWarnings > 0 { all.append(SourceProblem(.warning, at: nil, "and \(uncountedWarnings) more")) }
    return all
  }

  /// Throws the errors, in the order of the file, if there are any.
  public func throwErrors() throws(SourceProblems) {
    if errorCount > 0 { throw SourceProblems(problems.filter { $0.severity == .error }) }
  }
}
