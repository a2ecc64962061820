/// The form `name,parameter=value,…` in which the command line and profiles write quirks, behaviours and faults.
///
/// ```swift
/// let text = OptionText("loss,chance=5%,in")
/// text.name                       // "loss"
/// text.parameters.map(\.name)     // ["chance", "in"]
/// text.parameters[0].column       // 6
/// ```
public struct OptionText: Equatable, Sendable {
  /// What stands between two commas: `name=value`, or a word without `=`.
  public struct Parameter: Equatable, Sendable {
    /// What stands before the first `=`.
    public let name: String
    /// What stands after it; nil for a word without one.
    public let value: String?
    /// Where the name begins, in characters from 1.
    public let column: Int
  }

  /// What stands before the first comma.
  public let name: String
  /// The parameters, in order.
  public let parameters: [Parameter]

  /// Takes a text apart; nothing is wrong with any text yet.
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

  /// A text without white space at its ends.
  public static func trimmed(_ text: some StringProtocol) -> String {
    var rest = text[...]
    while rest.first?.isWhitespace == true { rest = rest.dropFirst() }
    while rest.last?.isWhitespace == true { rest = rest.dropLast() }
    return String(rest)
  }
}
