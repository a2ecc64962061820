/// A JSON5 document as a tree that records the position of every value and key.
///
/// For error messages, the tree preserves the order of members, duplicate members, and the spelling of numbers.
public struct JSON5Value: Equatable, Sendable {
  /// The value's content.
  public var content: Content
  /// The position of the value's first character.
  public var position: SourcePosition

  /// The kinds of values.
  public enum Content: Equatable, Sendable {
    case null
    case boolean(Bool)
    case number(JSON5Number)
    case text(String)
    case array([JSON5Value])
    /// Keys and values in their original order. A key may occur twice.
    case object([JSON5Member])
  }

  /// Creates a value. The value was created in code rather than read from a file, so it has no position.
  public init(_ content: Content, at position: SourcePosition = .made) {
    self.content = content
    self.position = position
  }

  /// The first member with this name, or nil if the object has no such member or the value is not an object.
  public subscript(key: String) -> JSON5Value? {
    guard case .object(let members) = content else { return nil }
    return members.first { $0.key == key }?.value
  }

  /// Returns the position of the value at a path such as `protocols[1].name`. If there is no value at the path, returns
  /// the position of the nearest enclosing value.
  public func position(at path: String) -> SourcePosition { nearest(to: path).position }

  /// Returns the value at a path. If there is no value at the path, returns the nearest enclosing value.
  public func nearest(to path: String) -> JSON5Value {
    var value = self
    for step in path.split(whereSeparator: { $0 == "." || $0 == "[" }) {
      if step.hasSuffix("]"), let index = Int(step.dropLast()), case .array(let values) = value.content {
        guard values.indices.contains(index) else { break }
        value = values[index]
      } else {
        guard let member = value[String(step)] else { break }
        value = member
      }
    }
    return value
  }

  /// A description of the value for messages such as "expected text, found number 5".
  public var summary: String {
    switch content {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .number(let number): "number \(number.spelling)"
    case .text(let text): "text '\(Excerpt.of(text))'"
    case .array: "a list"
    case .object: "an object"
    }
  }

  /// The tree without positions, for comparing the contents of two documents.
  public var withoutPositions: JSON5Value {
    switch content {
    case .array(let values): JSON5Value(.array(values.map(\.withoutPositions)))
    case .object(let members):
      JSON5Value(.object(members.map { JSON5Member($0.key, $0.value.withoutPositions) }))
    default: JSON5Value(content)
    }
  }
}

/// One `key: value` of an object.
public struct JSON5Member: Equatable, Sendable {
  /// The key, unescaped.
  public var key: String
  /// The key's position.
  public var keyPosition: SourcePosition
  /// The value.
  public var value: JSON5Value

  /// Creates a member. The member was created in code rather than read from a file, so it has no position.
  public init(_ key: String, _ value: JSON5Value, at keyPosition: SourcePosition = .made) {
    self.key = key
    self.keyPosition = keyPosition
    self.value = value
  }
}

/// A number and its spelling in the file.
public struct JSON5Number: Equatable, Sendable {
  /// The number as written: `0x1209`, `1e3`, `+5`.
  public var spelling: String
  /// The value, as precisely as a double can represent it.
  public var value: Double
  /// The value, if it is a whole number that fits in 64 bits. `5.0` and `1e3` are whole numbers, as in JSON Schema.
  public var integer: Int64?

  /// Creates a number that was read from a file.
  public init(spelling: String, value: Double, integer: Int64?) {
    self.spelling = spelling
    self.value = value
    self.integer = integer
  }

  /// Creates a whole number.
  public init(_ integer: Int64) {
    self.init(spelling: "\(integer)", value: Double(integer), integer: integer)
  }
}

// MARK: - Values that are created in code

extension JSON5Value {
  /// `null`.
  public static let null = JSON5Value(.null)
  /// Text.
  public static func text(_ text: String) -> JSON5Value { JSON5Value(.text(text)) }
  /// A whole number.
  public static func number(_ number: Int) -> JSON5Value { JSON5Value(.number(JSON5Number(Int64(number)))) }
  /// `true` or `false`.
  public static func boolean(_ boolean: Bool) -> JSON5Value { JSON5Value(.boolean(boolean)) }
  /// A list.
  public static func array(_ values: [JSON5Value]) -> JSON5Value { JSON5Value(.array(values)) }
  /// An object.
  public static func object(_ members: [JSON5Member]) -> JSON5Value { JSON5Value(.object(members)) }
  /// Creates the value for a duration, which is written as text.
  public static func duration(_ duration: Duration) -> JSON5Value { .text(DurationText.format(duration)) }

  /// Creates the value for a 16-bit number in hex, such as a message ID or a USB ID.
  public static func hex(_ number: UInt16) -> JSON5Value {
    let spelling = "0x" + Hex.number(number)
    return JSON5Value(.number(JSON5Number(spelling: spelling, value: Double(number), integer: Int64(number))))
  }
}
