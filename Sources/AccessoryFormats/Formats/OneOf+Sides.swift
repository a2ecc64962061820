/// One of the keys that say a kind in ``OneOf/format(in:at:sides:complaint:)``.
public struct OneOfSide: Sendable {
  /// The key.
  public let key: String
  let summary: String

  /// A key, and what its words are about.
  public init(_ key: String, _ summary: String) { (self.key, self.summary) = (key, summary) }
}

extension OneOf {
  /// As part of an object in which one of several keys says the kind: of the kind `app.look`, the key `app` has the value
  /// `look`. The keys of the kind stand beside it, as do those of `record`.
  ///
  /// - Parameters:
  ///   - path: where the object has the value.
  ///   - sides: the keys that can say the kind; an object has exactly one of them.
  ///   - complaint: what is wrong with a key that the given kind does not have; nil for which kinds have it.
  public func format<Owner>(
    in record: Record<Owner>, at path: Property<Owner, Root>, sides: [OneOfSide],
    complaint: @escaping @Sendable (_ key: String, _ kind: String) -> String?
  ) -> Format<Owner> {
    let shape = sided(record.shape, sides)
    let keys = ObjectShape(record.name, shape.fields.map(\.key))
    return Format(.record(shape)) { value, place in
      guard let object = ObjectReader(value, shape: keys, path: place.path, place.problems) else { return nil }
      var owner = record.base
      let isWhole = record.fill(&owner, from: object)
      guard let kind = kind(in: object, sides, of: record.name) else { return nil }
      for key in payloadKeys where object.value(key) != nil && !kind.fields.contains(where: { $0.key == key }) {
        object.error(key, complaint(key, kind.name) ?? "'\(key)' needs \(owners(of: key))")
      }
      guard let root = kind.read(object), isWhole else { return nil }
      owner[keyPath: path] = root
      return owner
    } write: { owner in
      let root = owner[keyPath: path]
      let (side, word) = Self.parts(of: name(of: root))
      return .object(record.members(owner, record.base) + [JSON5Member(side, .text(word))] + members(root))
    }
  }

  private func kind(in object: ObjectReader, _ sides: [OneOfSide], of name: String) -> Kind<Root>? {
    let given = sides.filter { object.value($0.key) != nil }
    guard given.count == 1, let side = given.first?.key else {
      // "step with apps" is a name for documents.
      let what = String(name.prefix { $0 != " " }).withArticle
      object.error("\(what) needs exactly one of \(sides.map { "'\($0.key)'" }.joined(separator: ", "))")
      return nil
    }
    return object.choice(side, of: words(of: side)).flatMap { word in kinds.first { $0.name == "\(side).\(word)" } }
  }

  private func sided(_ record: RecordShape, _ sides: [OneOfSide]) -> RecordShape {
    let sideFields = sides.map { side in
      FieldShape(key: side.key, summary: side.summary, shape: .words(words(of: side.key)), isRequired: false)
    }
    let payload = payloadKeys.compactMap { key in kinds.lazy.flatMap(\.fields).first { $0.key == key } }
    let optional = payload.map { field in
      FieldShape(
        key: field.key, summary: field.summary, shape: field.shape, isRequired: false, standard: field.standard)
    }
    let rule = sides.map { JSON5Value.object([JSON5Member("required", .array([.text($0.key)]))]) }
    return RecordShape(
      name: record.name, summary: record.summary, fields: record.fields + sideFields + optional,
      rules: [JSON5Member("anyOf", .array(rule))])
  }

  private func words(of side: String) -> [String] {
    names.map(Self.parts).filter { $0.side == side }.map(\.word)
  }

  private static func parts(of name: String) -> (side: String, word: String) {
    guard let dot = name.firstIndex(of: ".") else { preconditionFailure("the kind \(name) has no side") }
    return (String(name[..<dot]), String(name[name.index(after: dot)...]))
  }

  /// The keys of all kinds, each once.
  private var payloadKeys: [String] {
    kinds.flatMap(\.fields).reduce(into: []) { keys, field in
      if !keys.contains(field.key) { keys.append(field.key) }
    }
  }

  private func owners(of key: String) -> String {
    kinds.filter { $0.fields.contains { $0.key == key } }.map { kind in
      let (side, word) = Self.parts(of: kind.name)
      return "\(side): '\(word)'"
    }.joined(separator: " or ")
  }
}
