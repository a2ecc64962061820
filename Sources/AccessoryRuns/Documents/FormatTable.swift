import AccessoryFormats

extension RecordShape {
  /// A Markdown table that lists each key with its allowed values, default and meaning. Nested objects have their own
  /// tables. See ``tables(heading:elsewhere:)``.
  public var table: String { table([:]) }

  private func table(_ elsewhere: [String: String]) -> String {
    let rows = fields.map { field in
      let value = field.shape.tableText(elsewhere)
      return "| `\(field.key)` | \(value) | \(field.standardTableText) | \(field.summary.tableText) |\n"
    }
    return fields.isEmpty ? "" : "| key | value | default | meaning |\n|---|---|---|---|\n" + rows.joined()
  }

  /// Returns a table for this object, followed by a table for each nested object. Each nested object's table has a
  /// heading with the object's name. `elsewhere` contains links to other documents, keyed by the names of the objects
  /// that they explain.
  public func tables(heading: String, elsewhere: [String: String] = [:]) -> String {
    var sections = [table(elsewhere)]
    var done = Set(elsewhere.keys)
    for field in fields { field.shape.collect(into: &sections, &done, heading, elsewhere) }
    return sections.joined(separator: "\n")
  }

  fileprivate func section(_ heading: String, _ elsewhere: [String: String]) -> String {
    ["\(heading) \(name)\n", summary.isEmpty ? "" : "\(summary.sentence)\n", table(elsewhere)].filter { !$0.isEmpty }
      .joined(separator: "\n")
  }

  /// Lines for a terminal, one for each key, with the key's allowed values and default.
  public var help: String {
    let left = fields.map { "\($0.key)=\($0.shape.placeholder)" }
    let width = left.map(\.count).max() ?? 0
    return zip(left, fields).map { left, field in
      let standard = field.standardText ?? field.standard?.word
      let range = field.shape.choices.isEmpty ? "\(field.shape.range)" : nil
      let notes = [range, standard.map { "default \($0)" }, field.isRequired ? "required" : nil].compactMap(\.self)
      return "  \(left.padded(to: width))  \(field.summary)"
        + (notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))")
        + "\n"
    }.joined()
  }
}

extension OneOfShape {
  /// Returns a section for each kind, with a heading, a summary, and a table of the kind's keys. `note` returns text to
  /// add to a section.
  public func sections(heading: String, note: (RecordShape) -> String = { _ in "" }) -> String {
    kinds.map { kind in
      let parts = ["\(heading) \(kind.name)\n", "\(kind.summary.sentence)\n", note(kind), kind.table]
      return parts.filter { !$0.isEmpty }.joined(separator: "\n")
    }.joined(separator: "\n")
  }
}

extension Shape {
  /// Adds a section for each nested shape that has a name and no section yet.
  fileprivate func collect(
    into sections: inout [String], _ done: inout Set<String>, _ heading: String, _ elsewhere: [String: String]
  ) {
    switch self {
    case .record(let record):
      guard done.insert(record.name).inserted else { return }
      sections.append(record.section(heading, elsewhere))
      for field in record.fields { field.shape.collect(into: &sections, &done, heading, elsewhere) }
    case .oneOf(let kinds):
      guard done.insert(kinds.name).inserted else { return }
      sections.append("\(heading) \(kinds.name)\n\nA string, or an object whose key `\(kinds.key)` selects the kind.\n")
      for kind in kinds.kinds {
        sections.append(kind.section(heading + "#", elsewhere))
        for field in kind.fields { field.shape.collect(into: &sections, &done, heading, elsewhere) }
      }
    case .list(let element, _), .named(let element, _): element.collect(into: &sections, &done, heading, elsewhere)
    case .either(let shapes): for shape in shapes { shape.collect(into: &sections, &done, heading, elsewhere) }
    case .text, .boolean, .integer, .number, .duration, .chance, .words, .null, .constant, .document: break
    }
  }

  /// Returns the allowed values, in the plural if they are the elements of a list.
  fileprivate func tableText(_ elsewhere: [String: String], isPlural: Bool = false) -> String {
    func noun(_ word: String) -> String { isPlural ? "\(word)s" : word }
    func link(_ text: String, _ name: String) -> String {
      "[\(text)](\(elsewhere[name] ?? "#\(name.replacing(" ", with: "-"))"))"
    }
    return switch self {
    case .words(let words): words.map { "`\($0)`" }.joined(separator: ", ")
    case .boolean: "`true`, `false`"
    case .null: "`null`"
    case .constant(let number): "`\(number)`"
    case .list(let element, _): "list of \(element.tableText(elsewhere, isPlural: true))"
    case .record(let record): link(noun("object"), record.name)
    case .either(let shapes):
      shapes.map { $0.tableText(elsewhere, isPlural: isPlural) }.joined(separator: " or ")
    case .oneOf(let kinds): link(noun(kinds.name), kinds.name)
    case .named(let element, _): "object that maps names to values: \(element.tableText(elsewhere))"
    case .document(let name): link(isPlural ? noun(String(name.trimmingPrefix("a "))) : name, name)
    case .text(let text): noun(text.name ?? "string")
    case .integer(let range) where range == .min ... .max: "whole number"
    case .integer(let range) where range.upperBound == .max: "\(range.lowerBound) or more"
    case .number(let range) where range.upperBound >= 1e12: "\(Int(range.lowerBound)) or more"
    case .integer where isPlural: "numbers from \(range)"
    case .integer, .number, .duration, .chance: range
    }
  }
}

extension FieldShape {
  fileprivate var standardTableText: String {
    if isRequired { return "required" }
    if let standardText { return standardText }
    guard let standard, standard != .text("") else { return "" }
    let word = standard.word
    return "`\(word.contains("\n") ? String(JSON5Writer.write(standard, as: .jsonLine).dropLast()) : word)`"
  }
}

extension String {
  fileprivate var tableText: String { replacing("|", with: "\\|") }
  fileprivate var sentence: String { prefix(1).uppercased() + dropFirst() + (hasSuffix(".") ? "" : ".") }
}
