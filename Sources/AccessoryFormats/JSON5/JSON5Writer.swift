/// Writes a tree in a readable form: two spaces per level, one member per line, and short flat values on a single line.
///
/// ```swift
/// JSON5Writer.write(tree)                  // keys without quotes, trailing commas
/// JSON5Writer.write(tree, as: .json)       // for programs that read only JSON
/// ```
public struct JSON5Writer {
  /// The two dialects.
  public enum Style: Sendable {
    /// JSON5 with keys without quotes where possible, numbers as originally spelled, and a trailing comma in each list
    /// or object that spans several lines.
    case json5
    /// Plain JSON. NaN and Infinity, which JSON cannot express, become null, as in JavaScript.
    case json
    /// Plain JSON on one line, for line-delimited streams.
    case jsonLine
  }

  private static let longestLine = 100

  private let style: Style
  private var text = ""

  /// Writes a document that ends with a line break.
  public static func write(_ value: JSON5Value, as style: Style = .json5) -> String {
    if style == .jsonLine { return line(value) + "\n" }
    var writer = JSON5Writer(style: style)
    writer.append(value, indent: 0, isDocument: true)
    return writer.text + "\n"
  }

  /// Writes a document below a comment. Plain JSON has no comments, so the comment is dropped in plain JSON.
  public static func write(_ value: JSON5Value, under comment: String, as style: Style = .json5) -> String {
    let lines = style == .json5 ? comment.split(separator: "\n", omittingEmptySubsequences: false) : []
    let shown = comment.isEmpty ? [] : lines.map { $0.isEmpty ? "//\n" : "// \($0)\n" }
    return shown.joined() + write(value, as: style)
  }

  /// Returns a value as plain JSON on one line, without a line break.
  public static func line(_ value: JSON5Value) -> String {
    switch value.content {
    case .array(let values): "[" + values.map(line).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { "\(JSONObject.quoted($0.key)):\(line($0.value))" }.joined(separator: ",") + "}"
    case .null, .boolean, .number, .text: JSON5Writer(style: .jsonLine).scalar(value)
    }
  }

  private init(style: Style) {
    self.style = style
  }

  private mutating func append(_ value: JSON5Value, indent: Int, isDocument: Bool = false) {
    if !isDocument, let line = onOneLine(value), indent + line.unicodeScalars.count <= Self.longestLine {
      text += line
      return
    }
    switch value.content {
    case .array(let values):
      lines(values, "[", "]", indent) { writer, value in writer.append(value, indent: indent + 2) }
    case .object(let members):
      lines(members, "{", "}", indent) { writer, member in
        writer.text += writer.key(member.key) + ": "
        writer.append(member.value, indent: indent + 2)
      }
    default: text += scalar(value)
    }
  }

  private mutating func lines<Element>(
    _ elements: [Element], _ open: String, _ close: String, _ indent: Int,
    _ body: (inout JSON5Writer, Element) -> Void
  ) {
    text += open
    for (index, element) in elements.enumerated() {
      text += "\n" + String(repeating: " ", count: indent + 2)
      body(&self, element)
      if style == .json5 || index < elements.count - 1 { text += "," }
    }
    if !elements.isEmpty { text += "\n" + String(repeating: " ", count: indent) }
    text += close
  }

  /// Returns the value on one line, or nil if it contains a non-empty list or object.
  private func onOneLine(_ value: JSON5Value) -> String? {
    switch value.content {
    case .array(let values):
      guard values.allSatisfy(\.isScalar) else { return nil }
      return "[" + values.map(scalar).joined(separator: ", ") + "]"
    case .object(let members):
      guard members.allSatisfy(\.value.isScalar) else { return nil }
      if members.isEmpty { return "{}" }
      return "{ " + members.map { "\(key($0.key)): \(scalar($0.value))" }.joined(separator: ", ") + " }"
    default: return scalar(value)
    }
  }

  private func scalar(_ value: JSON5Value) -> String {
    switch value.content {
    case .boolean(let boolean): "\(boolean)"
    case .number(let number): spelling(number)
    case .text(let text): JSONObject.quoted(text)
    default: "null"
    }
  }

  private func spelling(_ number: JSON5Number) -> String {
    if style == .json5 { return number.spelling }
    if let integer = number.integer { return "\(integer)" }
    return number.value.isFinite ? "\(number.value)" : "null"
  }

  private func key(_ key: String) -> String {
    var scalars = key.unicodeScalars.makeIterator()
    let isName =
      scalars.next().map { JSON5Scanner.mayStand($0, first: true) } ?? false
      && IteratorSequence(scalars).allSatisfy { JSON5Scanner.mayStand($0, first: false) }
    return style == .json5 && isName ? key : JSONObject.quoted(key)
  }
}

extension JSON5Value {
  fileprivate var isScalar: Bool {
    switch content {
    case .array, .object: false
    default: true
    }
  }
}
