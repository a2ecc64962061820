import AccessoryCore

// A quirk or a behaviour written as `name,parameter=value,…` is a JSON5 object in other clothes: it becomes the tree
// that `{ name: …, parameter: … }` in a file gives, so there is one reader, and one set of errors, for both.

extension OptionText {
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
