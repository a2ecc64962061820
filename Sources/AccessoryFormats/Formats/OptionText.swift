/// The form `name,key=value,…`, used on the command line and in files for quirks, behaviors and faults.
///
/// ```swift
/// let text = OptionText("loss,chance=5%,in")
/// text.name                       // "loss"
/// text.parameters.map(\.name)     // ["chance", "in"]
/// text.parameters[0].column       // 6
/// ```
public struct OptionText: Equatable, Sendable {
  /// The text between two commas: `name=value`, or a word without `=`.
  public struct Parameter: Equatable, Sendable {
    /// The text before the first `=`.
    public let name: String
    /// The text after the first `=`, or nil if there is no `=`.
    public let value: String?
    /// The column where the name begins, counted from 1.
    public let column: Int
  }

  /// The text before the first comma.
  public let name: String
  /// The parameters, in order.
  public let parameters: [Parameter]

  /// Splits a string into a name and parameters. Every string is valid.
  public init(_ text: String) {
    var column = 1
    var parts: [Parameter] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let blanks = part.prefix { $0.isWhitespace }.count
      let trimmed = Self.trimmed(part)
      let sides = trimmed.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(Self.trimmed)
      parts.append(
        Parameter(
          name: parts.isEmpty ? trimmed : sides.first ?? "", value: sides.count == 2 ? sides[1] : nil,
          column: column + blanks))
      column += part.count + 1
    }
    name = parts.first?.name ?? ""
    parameters = Array(parts.dropFirst())
  }

  /// Returns the string without leading and trailing whitespace.
  public static func trimmed(_ text: some StringProtocol) -> String {
    var rest = text[...]
    while rest.first?.isWhitespace == true { rest = rest.dropFirst() }
    while rest.last?.isWhitespace == true { rest = rest.dropLast() }
    return String(rest)
  }

  /// Returns the parameters as members of an object with this shape. Reports words that match no key.
  func members(_ shape: RecordShape, _ position: SourcePosition, _ place: Place) -> [JSON5Member] {
    parameters.compactMap { part in
      let position = position.column(part.column)
      if let value = part.value {
        let content = shape.fields.first { $0.key == part.name }?.shape.content(of: value) ?? .text(value)
        return JSON5Member(part.name, JSON5Value(content, at: position), at: position)
      }
      for field in shape.fields {
        if case .words(let words) = field.shape, words.contains(part.name) {
          return JSON5Member(field.key, JSON5Value(.text(part.name), at: position), at: position)
        }
        if field.key == part.name {
          if case .boolean = field.shape {
            return JSON5Member(field.key, JSON5Value(.boolean(true), at: position), at: position)
          }
          place.problems.error(
            at: position, path: place.path,
            "the value of '\(field.key)' is missing: \(field.key)=\(field.shape.placeholder)")
          return nil
        }
      }
      let words = shape.fields.flatMap { field in
        if case .words(let words) = field.shape { words } else { [String]() }
      }
      let keys = shape.fields.map { field in if case .boolean = field.shape { field.key } else { "\(field.key)=" } }
      let hint = Suggestion.hint(for: part.name, in: words + keys)
      let form = hint.hasPrefix(":") ? shape.exampleHint : ""
      let owner = shape.owner.map { "the \($0) '\(shape.name)'" } ?? shape.name
      place.problems.error(
        at: position, path: place.path,
        part.name.isEmpty
          ? "nothing after the comma" : "unknown word '\(Excerpt.of(part.name))' for \(owner)\(hint)\(form)")
      return nil
    }
  }
}

/// Why a string is invalid. The description quotes the string and can be inserted into a sentence.
public struct OptionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong, with an example of a valid string.
  public let description: String

  /// Creates an error from its description.
  public init(_ description: String) {
    self.description = description
  }
}
