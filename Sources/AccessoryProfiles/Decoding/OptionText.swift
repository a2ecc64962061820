/// The form `name,parameter=value,…` in which the command line and profiles write quirks and behaviours.
///
/// It is a JSON5 object in other clothes: ``object`` gives the same tree that `{ name: …, parameter: … }` in a file
/// gives, so there is one reader, and one set of errors, for both.
struct OptionText {
  /// What stands before the first comma.
  let name: String
  /// The parameters, in order; the value of a word without `=` is nil.
  let parameters: [(name: String, value: String?)]

  init(_ text: String) {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(Self.trimmed)
    name = parts.first ?? ""
    parameters = parts.dropFirst().map { part in
      guard let equals = part.firstIndex(of: "=") else { return (part, nil) }
      return (Self.trimmed(part[..<equals]), Self.trimmed(part[part.index(after: equals)...]))
    }
  }

  static func trimmed(_ text: some StringProtocol) -> String {
    var rest = text[...]
    while rest.first?.isWhitespace == true { rest = rest.dropFirst() }
    while rest.last?.isWhitespace == true { rest = rest.dropLast() }
    return String(rest)
  }

  /// A value as the file would have it: whole numbers, `true`/`false`/`yes`/`no`, and texts.
  static func value(_ text: String, at position: SourcePosition) -> JSON5Value {
    if let number = Int64(text) { return JSON5Value(.number(JSON5Number(number)), at: position) }
    switch text {
    case "true", "yes": return JSON5Value(.boolean(true), at: position)
    case "false", "no": return JSON5Value(.boolean(false), at: position)
    default: return JSON5Value(.text(text), at: position)
    }
  }
}
