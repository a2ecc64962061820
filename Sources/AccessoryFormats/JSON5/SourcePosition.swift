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
