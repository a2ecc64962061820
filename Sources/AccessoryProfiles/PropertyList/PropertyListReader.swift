import AccessoryCore

/// The grammar of XML property lists: one `<plist>` with one value in it.
struct PropertyListReader {
  private var scanner: XMLScanner
  private var depth = 0
  /// How deep lists and dictionaries may be nested.
  private static let depthLimit = 64

  init(scanner: XMLScanner) {
    self.scanner = scanner
  }

  mutating func document() throws(SourceProblem) -> PropertyList {
    guard let root = try scanner.nextTag() else { throw scanner.problem("the file is empty: expected <plist>") }
    guard root.name == "plist", root.kind == .opening else {
      throw root.problem("expected <plist>, found \(root.spelling)")
    }
    guard let first = try scanner.nextTag(), first.kind != .closing else {
      throw root.problem("the <plist> has no value in it")
    }
    let value = try value(first)
    guard let end = try scanner.nextTag() else { throw root.problem("this <plist> is not closed") }
    guard end.name == "plist", end.kind == .closing else {
      throw end.problem("expected </plist>, found \(end.spelling)")
    }
    if let more = try scanner.nextTag() {
      throw more.problem("expected nothing after </plist>, found \(more.spelling)")
    }
    return value
  }

  private mutating func value(_ tag: XMLScanner.Tag) throws(SourceProblem) -> PropertyList {
    let content: PropertyList.Content
    switch tag.name {
    case "dict": content = .dictionary(tag.kind == .empty ? [] : try members(of: tag))
    case "array": content = .array(tag.kind == .empty ? [] : try elements(of: tag))
    case "string": content = .text(try text(of: tag))
    case "true", "false":
      if tag.kind == .opening { _ = try text(of: tag) }
      content = .boolean(tag.name == "true")
    case "integer", "real", "date", "data": content = .other(tag: tag.name, try text(of: tag))
    case "key": throw tag.problem("expected a value, found a <key>")
    default: throw tag.problem("\(tag.spelling) is no value of a property list")
    }
    return PropertyList(content, at: tag.position)
  }

  private mutating func text(of tag: XMLScanner.Tag) throws(SourceProblem) -> String {
    tag.kind == .empty ? "" : try scanner.text(of: tag)
  }

  private mutating func elements(of opening: XMLScanner.Tag) throws(SourceProblem) -> [PropertyList] {
    try enter(opening)
    var values: [PropertyList] = []
    while let tag = try child(of: opening) { values.append(try value(tag)) }
    depth -= 1
    return values
  }

  private mutating func members(
    of opening: XMLScanner.Tag
  ) throws(SourceProblem) -> [(key: String, value: PropertyList)] {
    try enter(opening)
    var members: [(key: String, value: PropertyList)] = []
    var seen: [String: SourcePosition] = [:]
    while let tag = try child(of: opening) {
      guard tag.name == "key" else { throw tag.problem("expected a <key>, found \(tag.spelling)") }
      let key = try text(of: tag)
      if let earlier = seen.updateValue(tag.position, forKey: key) {
        throw tag.problem("the key '\(Excerpt.of(key))' occurs twice: first at line \(earlier.line)")
      }
      guard let next = try child(of: opening) else {
        throw tag.problem("the key '\(Excerpt.of(key))' has no value")
      }
      members.append((key, try value(next)))
    }
    depth -= 1
    return members
  }

  /// The next tag inside of an element; nil at its end.
  private mutating func child(of opening: XMLScanner.Tag) throws(SourceProblem) -> XMLScanner.Tag? {
    guard let tag = try scanner.nextTag() else { throw opening.problem("this \(opening.spelling) is not closed") }
    guard tag.kind == .closing else { return tag }
    guard tag.name == opening.name else {
      throw tag.problem(
        "expected </\(opening.name)> for line \(opening.position.line), found \(tag.spelling)")
    }
    return nil
  }

  private mutating func enter(_ tag: XMLScanner.Tag) throws(SourceProblem) {
    guard depth < Self.depthLimit else { throw tag.problem("lists are nested deeper than \(Self.depthLimit)") }
    depth += 1
  }
}
