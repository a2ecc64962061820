/// One thing that is wrong with a file: where, under which key, what, and what to do about it.
///
/// Its description is the one line a user sees: `mine.json5:4:11: accessory.name: expected text, found number 5`.
public struct SourceProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// How bad it is.
  public enum Severity: Sendable {
    /// The file cannot be used.
    case error
    /// The file can be used, and probably does not do what was meant.
    case warning
  }

  /// Whether it forbids using the file.
  public var severity: Severity
  /// Where it stands; nil for what was not read from a file, such as an argument of the command line.
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
    precondition(!problems.isEmpty, "an error without a problem explains nothing")
    self.problems = problems
  }

  /// One line per problem.
  public var description: String {
    problems.map(\.description).joined(separator: "\n")
  }
}

/// Collects the problems of one reading, so that a user mends a file in one go and not one error at a time.
public final class ProblemCollector {
  /// More than these are counted only: a file with a thousand mistakes has one cause.
  public static let most = 50

  /// The problems so far.
  public private(set) var problems: [SourceProblem] = []
  private var uncounted = 0

  /// A collector without problems.
  public init() {}

  /// Adds a problem.
  public func add(_ problem: SourceProblem) {
    guard problems.count < Self.most else {
      uncounted += 1
      return
    }
    problems.append(problem)
  }

  /// Adds an error.
  public func error(at position: SourcePosition?, path: String = "", _ message: String) {
    add(SourceProblem(.error, at: position, path: path, message))
  }

  /// Whether an error, and not only warnings, was added.
  public var hasErrors: Bool { problems.contains { $0.severity == .error } || uncounted > 0 }

  /// Throws the errors, in the order of the file, if there are any.
  public func throwErrors() throws(SourceProblems) {
    guard hasErrors else { return }
    var errors = problems.filter { $0.severity == .error }
    errors.sort { left, right in
      guard let left = left.position, let right = right.position else {
        return left.position != nil && right.position == nil
      }
      return (left.file, left.line, left.column) < (right.file, right.line, right.column)
    }
    if uncounted > 0 { errors.append(SourceProblem(at: nil, "and \(uncounted) more")) }
    throw SourceProblems(errors)
  }
}
