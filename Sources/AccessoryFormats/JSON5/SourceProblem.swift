/// A position in a file, as editors count: lines and columns from 1, a column per Unicode scalar.
public struct SourcePosition: Equatable, Hashable, Sendable, CustomStringConvertible {
  /// The file's name as the user gave it, or a name such as "standard input".
  public var file: String
  /// The line, from 1.
  public var line: Int
  /// The column, from 1; a tab counts as one.
  public var column: Int

  /// A position in a file.
  public init(file: String, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  /// The position of values that were made, not read.
  public static let made = SourcePosition(file: "", line: 0, column: 0)

  /// The beginning of an argument of the command line, which has no lines: "quirk 'flicker,cycles=0'".
  public init(argument: String) { self.init(file: argument, line: 0, column: 0) }

  /// A place in an argument; for a text in a file, that of the text.
  func column(_ column: Int) -> SourcePosition {
    line == 0 && self != .made ? SourcePosition(file: file, line: 0, column: column) : self
  }

  /// `file:line:column`, the form that editors make clickable; of an argument what it is, and the column.
  public var description: String {
    if line > 0 { return "\(file):\(line):\(column)" }
    return column > 0 ? "\(file), column \(column)" : file
  }

  /// The same without the file.
  var inFile: String { line > 0 ? "line \(line), column \(column)" : "column \(column)" }
}

/// One thing that is wrong with a file: where, under which key, what, and what to do about it.
///
/// Its description is the one line a user sees: `mine.json5:4:11: accessory.name: expected text, found number 5`.
public struct SourceProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// How bad it is.
  public enum Severity: String, Sendable {
    /// The file cannot be used.
    case error
    /// The file can be used, but probably does not mean what its author wants.
    case warning
  }

  /// Whether it forbids using the file.
  public var severity: Severity
  /// Its place; nil for other sources than files, such as an argument of the command line.
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

/// Everything that is wrong with a file, in the order of the file, never empty.
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

/// Collects the problems of one file, so that a user can fix all of them at once.
public final class ProblemCollector {
  /// Of either severity, more than these are counted only: a file with a thousand mistakes has one cause.
  public static let most = 50

  private var errors: [SourceProblem] = []
  private var warnings: [SourceProblem] = []
  private var unreadable: Set<String> = []
  private var uncountedErrors = 0
  private var uncountedWarnings = 0

  /// Whether one word is read, which its reader quotes, so that messages do not.
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

  /// An element of a list could not be read, and is left out of it.
  func noteUnreadable(_ path: String) { unreadable.insert(path) }

  /// The paths of the elements of a list that were read, where some may be missing from it.
  public func paths(of list: String, count: Int) -> [String] {
    Array((0...).lazy.map { "\(list)[\($0)]" }.filter { [unreadable] in !unreadable.contains($0) }.prefix(count))
  }

  /// How many errors there are so far.
  public var errorCount: Int { errors.count + uncountedErrors }

  /// The problems in the order of the file, and last how many more there were than are kept.
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
