/// Writes the parameters of a control message: length, number, value.
public struct ParameterWriter: Sendable {
  /// The bytes written so far.
  public private(set) var bytes: [UInt8] = []

  /// Nothing written yet.
  public init() {}

  /// A parameter with these bytes as its value. One that is too long for its length field is written nevertheless:
  /// the message then fits no packet, and sending it reports its length.
  public mutating func blob(_ id: UInt16, _ value: some Collection<UInt8>) {
    if bytes.isEmpty { bytes.reserveCapacity(value.count + 4) }
    word(UInt16(clamping: value.count + 4))
    word(id)
    bytes.append(contentsOf: value)
  }

  /// A parameter without a value, which means "present".
  public mutating func none(_ id: UInt16) {
    blob(id, [])
  }

  /// A byte; also for truth values and enumerations.
  public mutating func u8(_ id: UInt16, _ value: UInt8) {
    blob(id, [value])
  }

  /// A truth value.
  public mutating func bool(_ id: UInt16, _ value: Bool) {
    u8(id, value ? 1 : 0)
  }

  /// A number of any width, big-endian.
  public mutating func number(_ id: UInt16, _ value: some FixedWidthInteger) {
    blob(id, withUnsafeBytes(of: value.bigEndian) { Array($0) })
  }

  /// Two bytes.
  public mutating func u16(_ id: UInt16, _ value: UInt16) {
    number(id, value)
  }

  /// Text with the zero byte that ends it.
  public mutating func text(_ id: UInt16, _ value: String) {
    blob(id, Array(value.utf8) + [0])
  }

  /// A list of two-byte numbers, packed.
  public mutating func list(_ id: UInt16, _ values: [UInt16]) {
    blob(id, values.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] })
  }

  /// A parameter whose value is parameters.
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
