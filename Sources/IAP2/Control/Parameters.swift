/// One parameter of a control message, and its offset.
public struct Parameter: Hashable, Sendable {
  /// The parameter's number.
  public var id: UInt16
  /// The bytes of the parameter's value.
  public var value: [UInt8]
  /// The parameter's offset in bytes from the start of the message's parameters.
  public var offset: Int

  /// Creates a parameter; `offset` is its position on the wire.
  public init(id: UInt16, value: [UInt8], offset: Int = 0) {
    self.id = id
    self.value = value
    self.offset = offset
  }

  private func fail(_ problem: String) -> ParameterError {
    ParameterError("parameter \(id) \(problem)", offset: offset, bytes: value)
  }

  /// Returns the value as a number of the given width.
  public func number<Number: FixedWidthInteger>(as type: Number.Type = Number.self) throws(ParameterError) -> Number {
    let width = Number.bitWidth / 8
    guard value.count == width else { throw fail("has \(value.count) bytes instead of \(width)") }
    var number = Number.zero
    for byte in value { number = number << 8 | Number(truncatingIfNeeded: byte) }
    return number
  }

  /// Returns the value as text, without its terminating zero byte.
  public func text() throws(ParameterError) -> String {
    guard let last = value.last, last == 0 else { throw fail("is text without a terminating zero byte") }
    let bytes = value.span.extracting(droppingLast: 1)
    for index in bytes.indices where bytes[index] == 0 { throw fail("is text that contains a zero byte") }
    // Unlike `String(validating:as:)`, a span looks up no metadata of generic types.
    do { return String(copying: try UTF8Span(validating: bytes)) } catch { throw fail("is not UTF-8") }
  }

  /// Returns the two-byte numbers that are packed into the value.
  public func list() throws(ParameterError) -> [UInt16] {
    guard value.count % 2 == 0 else { throw fail("has \(value.count) bytes, which is not a list of two-byte numbers") }
    return stride(from: 0, to: value.count, by: 2).map { UInt16(value[$0]) << 8 | UInt16(value[$0 + 1]) }
  }

  /// Returns the parameters inside this group.
  public func group() throws(ParameterError) -> [Parameter] {
    try ParameterReader.read(value, base: offset + 4)
  }
}

/// The reason why a parameter cannot be read, and the offending bytes.
public struct ParameterError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problem as a sentence fragment.
  public var problem: String
  /// The offset of the problem in bytes from the start of the message's parameters.
  public var offset: Int
  /// Up to 32 bytes, starting at the problem's offset.
  public var bytes: [UInt8]

  init(_ problem: String, offset: Int, bytes: some Sequence<UInt8>) {
    self.problem = problem
    self.offset = offset
    self.bytes = Array(bytes.prefix(32))
  }

  /// A sentence that states the problem, its offset and the bytes.
  public var description: String {
    "\(problem), at byte \(offset): \(bytes.isEmpty ? "(nothing)" : Hex.spaced(bytes))"
  }
}

/// Reads the parameters of a control message one level at a time. Nested groups are parsed only on request, so deep
/// nesting costs nothing.
public enum ParameterReader {
  /// Returns all parameters of `body` in order. Parameter numbers may repeat: lists of strings and of groups are
  /// encoded as repeated parameters. For a group, `base` is added to the offsets of its parameters.
  public static func read(_ body: [UInt8], base: Int = 0) throws(ParameterError) -> [Parameter] {
    var parameters: [Parameter] = []
    var at = 0
    while at < body.count {
      guard body.count - at >= 4 else {
        throw ParameterError(
          "a parameter needs 4 bytes but has \(body.count - at)", offset: base + at, bytes: body[at...])
      }
      let length = Int(body[at]) << 8 | Int(body[at + 1])
      guard length >= 4 else {
        throw ParameterError("a parameter claims \(length) bytes", offset: base + at, bytes: body[at...])
      }
      guard length <= body.count - at else {
        throw ParameterError(
          "a parameter claims \(length) bytes, but only \(body.count - at) are left", offset: base + at,
          bytes: body[at...])
      }
      parameters.append(
        Parameter(
          id: UInt16(body[at + 2]) << 8 | UInt16(body[at + 3]), value: Array(body[at + 4..<at + length]),
          offset: base + at))
      at += length
    }
    return parameters
  }
}

extension [Parameter] {
  /// Returns the first parameter with this number.
  public func first(_ id: UInt16) -> Parameter? {
    first { $0.id == id }
  }

  /// Returns the only parameter with this number. Throws if the parameter is missing or repeated. If the parameter is
  /// missing, the error gives `base`, the offset of the enclosing group.
  func only(_ id: UInt16, _ name: String, base: Int = 0) throws(ParameterError) -> Parameter {
    guard let index = firstIndex(where: { $0.id == id }) else {
      throw ParameterError("parameter \(id) (\(name)) is missing", offset: base, bytes: [])
    }
    if let second = self[(index + 1)...].first(where: { $0.id == id }) {
      throw ParameterError("parameter \(id) (\(name)) occurs twice", offset: second.offset, bytes: second.value)
    }
    return self[index]
  }
}

/// Encodes the parameters of a control message, each as its length, number and value.
public struct ParameterWriter: Sendable {
  /// The bytes written so far.
  public private(set) var bytes: [UInt8] = []

  /// Creates an empty writer.
  public init() {}

  /// Appends a parameter with these bytes as its value. If a value is too long for its length field, it is written
  /// anyway, and sending the message fails with an error that gives the length.
  public mutating func blob(_ id: UInt16, _ value: some Collection<UInt8>) {
    begin(id, value.count)
    bytes.append(contentsOf: value)
  }

  private mutating func begin(_ id: UInt16, _ count: Int) {
    if bytes.isEmpty { bytes.reserveCapacity(count + 4) }
    word(UInt16(clamping: count + 4))
    word(id)
  }

  /// Appends a presence-only parameter, which has no value.
  public mutating func none(_ id: UInt16) {
    begin(id, 0)
  }

  /// Appends a byte, which may also encode a boolean or an enumeration.
  public mutating func u8(_ id: UInt16, _ value: UInt8) {
    begin(id, 1)
    bytes.append(value)
  }

  /// Appends a big-endian number of any width.
  public mutating func number(_ id: UInt16, _ value: some FixedWidthInteger) {
    begin(id, value.bitWidth / 8)
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// Appends a two-byte number.
  public mutating func u16(_ id: UInt16, _ value: UInt16) {
    number(id, value)
  }

  /// Appends text and its terminating zero byte.
  public mutating func text(_ id: UInt16, _ value: String) {
    begin(id, value.utf8.count + 1)
    bytes.append(contentsOf: value.utf8)
    bytes.append(0)
  }

  /// Appends packed two-byte numbers.
  public mutating func list(_ id: UInt16, _ values: [UInt16]) {
    begin(id, 2 * values.count)
    for value in values { word(value) }
  }

  /// Appends a group of parameters.
  public mutating func group(_ id: UInt16, _ write: (inout ParameterWriter) -> Void) {
    var inner = ParameterWriter()
    write(&inner)
    blob(id, inner.bytes)
  }

  private mutating func word(_ value: UInt16) {
    bytes.append(UInt8(value >> 8))
    bytes.append(UInt8(truncatingIfNeeded: value))
  }
}
