/// Where something stands in a file, as editors count: lines and columns from 1, a column per Unicode scalar.
public struct SourcePosition: Equatable, Hashable, Sendable, CustomStringConvertible {
  /// The file's name as the user gave it, or what stands for one ("standard input").
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

  /// `file:line:column`, the form that editors make clickable.
  public var description: String { "\(file):\(line):\(column)" }
}
