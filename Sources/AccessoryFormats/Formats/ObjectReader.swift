/// The keys that one kind of object may have.
public struct ObjectShape: Equatable, Sendable {
  /// What the object is called in messages.
  public let name: String
  /// The keys, in the order in which they are written.
  public let keys: [String]

  /// A shape.
  public init(_ name: String, _ keys: [String]) {
    self.name = name
    self.keys = keys
  }
}

/// Reads the values of one object by key, and reports every mistake in it.
///
/// The initialiser reports keys that its shape does not have ("unknown key 'protocol' in accessory, did you mean
/// 'protocols'?") and keys that occur twice. Each getter returns nil for a missing key and for a wrong value; a wrong
/// value has then been reported, so the caller continues with its default.
///
/// ```swift
/// let problems = ProblemCollector()
/// guard let link = ObjectReader(tree, shape: linkShape, path: "link", problems) else { return nil }
/// let window = link.integer("maximumOutstandingPackets", in: 1...127) ?? 5
/// try problems.throwErrors()
/// ```
public struct ObjectReader {
  /// The path of the object; empty for the document.
  public let path: String
  /// The place of the object.
  public let position: SourcePosition
  /// Where problems go.
  public let problems: ProblemCollector
  /// The object as it was read.
  public let tree: JSON5Value
  private let shape: ObjectShape
  private let members: [String: JSON5Value]

  /// Reads `value` as an object of that shape; nil, with a problem, when it is something else. `advice` says what is
  /// wrong with a key that the shape does not know; nil for nothing but that.
  public init?(
    _ value: JSON5Value, shape: ObjectShape, path: String = "", _ problems: ProblemCollector,
    advice: (String) -> String? = { _ in nil }
  ) {
    guard case .object(let list) = value.content else {
      problems.error(at: value.position, path: path, "expected an object, found \(value.summary)")
      return nil
    }
    var first: [String: JSON5Member] = [:]
    let place = path.isEmpty ? shape.name : path
    for member in list {
      if let earlier = first[member.key] {
        // The parameters of a text in a file all have the text's own place.
        let first = earlier.keyPosition == member.keyPosition ? "" : ": first at \(earlier.keyPosition.inFile)"
        problems.error(at: member.keyPosition, "key '\(Excerpt.of(member.key))' occurs twice in \(place)\(first)")
        continue
      }
      first[member.key] = member
      if !shape.keys.contains(member.key) {
        let hint = Self.hint(for: member.key, in: shape.keys)
        let unknown = "unknown key '\(Excerpt.of(member.key))' in \(place)\(hint)"
        problems.error(at: member.keyPosition, advice(member.key) ?? unknown)
      }
    }
    self.shape = shape
    self.path = path
    self.problems = problems
    position = value.position
    tree = value
    members = first.mapValues(\.value)
  }

  /// ", did you mean 'x'?", or the list of what there is when nothing is near.
  public static func hint(for word: String, in names: [String]) -> String {
    Suggestion.hint(for: word, in: names)
  }

  /// The path of a key of this object.
  public func path(of key: String) -> String {
    path.isEmpty ? key : "\(path).\(key)"
  }

  /// The value of a key, whatever it is.
  public func value(_ key: String) -> JSON5Value? {
    precondition(shape.keys.contains(key), "'\(key)' is not in the shape '\(shape.name)'")
    return members[key]
  }

  /// Adds an error about a key's value, or about the object when the key is missing.
  public func error(_ key: String, _ message: String) {
    problems.error(at: members[key]?.position ?? position, path: path(of: key), message)
  }

  /// Adds an error about the object.
  public func error(_ message: String) { problems.error(at: position, path: path, message) }

  /// Reports that a key that must be there is not; returns whether it is.
  @discardableResult
  public func require(_ key: String) -> Bool {
    if value(key) != nil { return true }
    error("the key '\(key)' is missing")
    return false
  }

  /// A text.
  public func text(_ key: String) -> String? {
    guard let value = value(key) else { return nil }
    if case .text(let text) = value.content { return text }
    error(key, "expected text, found \(value.summary)")
    return nil
  }

  /// `true` or `false`.
  public func boolean(_ key: String) -> Bool? {
    guard let value = value(key) else { return nil }
    if case .boolean(let boolean) = value.content { return boolean }
    error(key, "expected true or false, found \(value.summary)")
    return nil
  }

  /// A whole number within a range.
  public func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
    guard let value = value(key) else { return nil }
    if case .number(let number) = value.content, let integer = number.integer, range.contains(Int(integer)) {
      return Int(integer)
    }
    error(key, "expected a whole number from \(range.lowerBound) to \(range.upperBound), found \(value.summary)")
    return nil
  }

  /// A duration such as `'250ms'` within a range.
  public func duration(_ key: String, in range: ClosedRange<Duration>) -> Duration? {
    guard let value = value(key) else { return nil }
    guard case .text(let text) = value.content else {
      error(key, "expected a duration such as '250ms', found \(value.summary)")
      return nil
    }
    do {
      let duration = try DurationText.parse(text)
      if range.contains(duration) { return duration }
      let (low, high) = (DurationText.format(range.lowerBound), DurationText.format(range.upperBound))
      error(key, "expected a duration from \(low) to \(high), found \(value.summary)")
    } catch {
      self.error(key, error.description)
    }
    return nil
  }

  /// One of a few words.
  public func choice(_ key: String, of words: [String]) -> String? {
    guard let text = text(key) else { return nil }
    if words.contains(text) { return text }
    error(key, "unknown value '\(Excerpt.of(text))'\(Self.hint(for: text, in: words))")
    return nil
  }

  /// The elements of a list, each with its path.
  public func array(_ key: String) -> [(path: String, value: JSON5Value)]? {
    guard let value = value(key) else { return nil }
    guard case .array(let values) = value.content else {
      error(key, "expected a list, found \(value.summary)")
      return nil
    }
    return values.enumerated().map { ("\(path(of: key))[\($0.offset)]", $0.element) }
  }

  /// An object within this one.
  public func object(_ key: String, _ shape: ObjectShape) -> ObjectReader? {
    value(key).flatMap { ObjectReader($0, shape: shape, path: path(of: key), problems) }
  }
}
