/// One place in a Swift file that Linux asks to change.
struct PortFinding: Equatable {
  /// Bytes to replace.
  struct Edit: Equatable {
    let range: Range<Int>
    let replacement: String
  }

  /// Where it is.
  let offset: Int
  /// What was found, and what to write instead.
  let advice: String
  /// The edits; empty where a user must edit by hand.
  var edits: [Edit] = []

  var isSure: Bool { !edits.isEmpty }
}

extension [PortFinding] {
  /// The file with every sure edit made. Edits are made from the end, so that offsets stay right.
  func applied(to source: SwiftSource) -> [UInt8] {
    var bytes = source.bytes
    for edit in flatMap(\.edits).sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
      bytes.replaceSubrange(edit.range, with: [UInt8](edit.replacement.utf8))
    }
    return bytes
  }
}

/// The types that a file declares, with their members: enough to know where a method belongs.
struct SwiftTypes {
  struct Declaration: Equatable {
    /// class, struct, enum, actor, extension or protocol.
    let keyword: String
    let name: String
    /// The tokens between its braces.
    let body: Range<Int>
    let isOnMainActor: Bool
  }

  struct Method: Equatable {
    let name: String
    /// The token of its `@objc`, if it has one.
    let objc: Int?
    /// Label and type of each parameter; the label is "_" where a call writes none.
    let parameters: [(label: String, type: String)]

    static func == (one: Method, other: Method) -> Bool { one.name == other.name && one.objc == other.objc }
  }

  let declarations: [Declaration]
  private let source: SwiftSource

  init(_ source: SwiftSource) {
    self.source = source
    let tokens = source.tokens
    var found: [Declaration] = []
    for index in tokens.indices.dropLast() {
      let keyword = tokens[index].text
      guard ["class", "struct", "enum", "actor", "extension", "protocol"].contains(keyword),
        tokens[index].kind == .word,
        tokens[index + 1].kind == .word, !["func", "var", "let", "subscript"].contains(tokens[index + 1].text),
        index == 0 || tokens[index - 1].text != ".",
        let open = tokens[index...].firstIndex(where: {
          $0.text == "{" || $0.text == "}" || $0.text == "=" || $0.text == ")"
        }),
        tokens[open].text == "{", let close = source.close(of: open)
      else { continue }
      let attributes = tokens[max(0, index - 4)..<index].map(\.text)
      found.append(
        Declaration(
          keyword: keyword, name: tokens[index + 1].text, body: open + 1..<close,
          isOnMainActor: attributes.contains("@MainActor")))
    }
    declarations = found
  }

  /// The innermost type around a token.
  func around(_ index: Int) -> Declaration? {
    declarations.filter { $0.body.contains(index) }.min { $0.body.count < $1.body.count }
  }

  /// The methods of that name in a type of this file, its extensions included.
  func methods(_ name: String, of type: String) -> [Method] {
    let bodies = declarations.filter { $0.name == type }.map(\.body)
    let tokens = source.tokens
    return tokens.indices.dropLast(2).compactMap { index in
      guard tokens[index].text == "func", tokens[index + 1].text == name, tokens[index + 2].text == "(",
        bodies.contains(where: { $0.contains(index) }), around(index)?.name == type,
        let close = source.close(of: index + 2)
      else { return nil }
      return Method(name: name, objc: objc(before: index), parameters: parameters(index + 3..<close))
    }
  }

  /// The `@objc` of the declaration whose keyword is at `index`, with only modifiers, attributes and newlines between.
  private func objc(before index: Int) -> Int? {
    let modifiers: Set = [
      "private", "fileprivate", "internal", "public", "open", "final", "static", "class", "override", "dynamic",
      "nonisolated",
    ]
    var next = index - 1
    while next >= 0 {
      let token = source.tokens[next]
      if token.text == "@objc" { return next }
      guard token.kind == .newline || modifiers.contains(token.text) || token.text.hasPrefix("@") else { return nil }
      next -= 1
    }
    return nil
  }

  private func parameters(_ range: Range<Int>) -> [(label: String, type: String)] {
    var (found, depth, part): ([[String]], Int, [String]) = ([], 0, [])
    for token in source.tokens[range] where token.kind != .newline {
      if "([{<".contains(token.text) { depth += 1 }
      if ")]}>".contains(token.text) { depth -= 1 }
      if token.text == ",", depth == 0 { (found, part) = (found + [part], []) } else { part.append(token.text) }
    }
    if !part.isEmpty { found.append(part) }
    return found.map { words in
      let colon = words.firstIndex(of: ":") ?? words.endIndex
      return (words.first ?? "_", words[colon...].dropFirst().joined())
    }
  }
}
