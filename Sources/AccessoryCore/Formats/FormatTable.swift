/// Tables for documents, and the same for help.
extension RecordShape {
  /// A Markdown table of the keys: what each may be, its default and what it means. Objects in it have tables of their
  /// own; see ``tables(heading:)``.
  public var table: String {
    let rows = fields.map { field in
      "| `\(field.key)` | \(field.shape.tableText) | \(field.standardTableText) | \(field.summary.tableText) |\n"
    }
    return fields.isEmpty ? "" : "| key | value | default | meaning |\n|---|---|---|---|\n" + rows.joined()
  }

  /// The table of this object and of those within it, each under a heading with its path.
  public func tables(heading: String) -> String {
    section(heading, title: name)
  }

  private func section(_ heading: String, title: String) -> String {
    let own = "\(heading) \(title)\n\n" + (summary.isEmpty ? "" : "\(summary.sentence)\n\n") + table
    let inner = fields.compactMap { field -> String? in
      guard let record = field.shape.record else { return nil }
      let path = title == name && owner == nil && heading == "##" ? field.key : "\(title).\(field.key)"
      return record.section(heading, title: path)
    }
    return ([own] + inner).joined(separator: "\n")
  }

  /// Lines for a terminal: a line for each key, with what it may be and its default.
  public var help: String {
    let left = fields.map { "\($0.key)=\($0.shape.placeholder)" }
    let width = left.map(\.count).max() ?? 0
    return zip(left, fields).map { left, field in
      let standard = field.standardText ?? field.standard?.word
      let range = field.shape.choices.isEmpty ? "\(field.shape.range)" : nil
      let notes = [range, standard.map { "default \($0)" }, field.isRequired ? "required" : nil].compactMap(\.self)
      let spaces = String(repeating: " ", count: width - left.count)
      return "  \(left)\(spaces)  \(field.summary)" + (notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))")
        + "\n"
    }.joined()
  }
}

extension OneOfShape {
  /// For each kind a heading, what it is, and the table of its keys; `note` adds what is known beyond the shape.
  public func sections(heading: String, note: (String) -> String = { _ in "" }) -> String {
    kinds.map { kind in
      let parts = ["\(heading) \(kind.name)\n", "\(kind.summary.sentence)\n", note(kind.name), kind.table]
      return parts.filter { !$0.isEmpty }.joined(separator: "\n")
    }.joined(separator: "\n")
  }
}

extension Shape {
  /// The object that a value or an element is, when it is one with a table of its own.
  fileprivate var record: RecordShape? {
    switch self {
    case .record(let record): record
    case .list(let element, _): element.record
    case .named(let element): element.record
    case .either(let shapes): shapes.lazy.compactMap(\.record).first
    case .text, .boolean, .integer, .number, .duration, .chance, .words, .null, .constant, .oneOf: nil
    }
  }

  fileprivate var tableText: String {
    switch self {
    case .words(let words): words.map { "`\($0)`" }.joined(separator: ", ")
    case .boolean: "`true`, `false`"
    case .null: "`null`"
    case .constant(let number): "`\(number)`"
    case .list(let element, _): "list of \(element.tableText)"
    case .record(let record): "[object](#\(record.name))"
    case .either(let shapes): shapes.map(\.tableText).joined(separator: " or ")
    case .oneOf(let kinds): "[\(kinds.name)](#\(kinds.name))"
    case .text, .integer, .number, .duration, .chance, .named: range
    }
  }
}

extension FieldShape {
  fileprivate var standardTableText: String {
    if isRequired { return "required" }
    if let standardText { return standardText }
    return standard.map { "`\($0.word)`" } ?? ""
  }
}

extension String {
  fileprivate var tableText: String { replacing("|", with: "\\|") }
  /// With a capital and a full stop.
  fileprivate var sentence: String { prefix(1).uppercased() + dropFirst() + (hasSuffix(".") ? "" : ".") }
}
