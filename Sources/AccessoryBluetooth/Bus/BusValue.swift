import CSystemd
import Glibc

/// A value of a D-Bus message.
///
/// ```swift
/// let options: [BusValue] = [.properties(["Role": .string("server"), "Channel": .uint16(3)])]
/// ```
public indirect enum BusValue: Equatable, Sendable {
  /// Text.
  case string(String)
  /// The path of an object.
  case objectPath(String)
  /// The signature of other values.
  case signature(String)
  /// A truth value.
  case bool(Bool)
  /// An unsigned byte.
  case byte(UInt8)
  /// A signed number of 16 bits.
  case int16(Int16)
  /// An unsigned number of 16 bits.
  case uint16(UInt16)
  /// A signed number of 32 bits.
  case int32(Int32)
  /// An unsigned number of 32 bits.
  case uint32(UInt32)
  /// A signed number of 64 bits.
  case int64(Int64)
  /// An unsigned number of 64 bits.
  case uint64(UInt64)
  /// A number with a fraction.
  case double(Double)
  /// An open file descriptor.
  case descriptor(BusDescriptor)
  /// Values of one signature.
  case array(of: String, [BusValue])
  /// A struct.
  case structure([BusValue])
  /// A key and its value. A dictionary is an array of these.
  case entry(BusValue, BusValue)
  /// A value with its signature.
  case variant(BusValue)

  /// A dictionary from names to values of any signature (`a{sv}`).
  public static func properties(_ values: [String: BusValue]) -> BusValue {
    let entries = values.sorted { $0.key < $1.key }.map { BusValue.entry(.string($0.key), .variant($0.value)) }
    return .array(of: "{sv}", entries)
  }

  /// Its signature.
  public var signature: String {
    switch self {
    case .string: "s"
    case .objectPath: "o"
    case .signature: "g"
    case .bool: "b"
    case .byte: "y"
    case .int16: "n"
    case .uint16: "q"
    case .int32: "i"
    case .uint32: "u"
    case .int64: "x"
    case .uint64: "t"
    case .double: "d"
    case .descriptor: "h"
    case .array(let element, _): "a" + element
    case .structure(let values): "(" + values.map(\.signature).joined() + ")"
    case .entry(let key, let value): "{" + key.signature + value.signature + "}"
    case .variant: "v"
    }
  }

  // MARK: Reading

  /// The value inside, where this is a variant.
  public var unwrapped: BusValue {
    if case .variant(let inner) = self { inner.unwrapped } else { self }
  }

  /// The text of a string, a path or a signature.
  public var text: String? {
    switch unwrapped {
    case .string(let text), .objectPath(let text), .signature(let text): text
    default: nil
    }
  }

  /// The truth value.
  public var truth: Bool? {
    if case .bool(let truth) = unwrapped { truth } else { nil }
  }

  /// A whole number of any width.
  public var number: Int? {
    switch unwrapped {
    case .byte(let number): Int(number)
    case .int16(let number): Int(number)
    case .uint16(let number): Int(number)
    case .int32(let number): Int(number)
    case .uint32(let number): Int(number)
    case .int64(let number): Int(number)
    case .uint64(let number): Int(exactly: number)
    default: nil
    }
  }

  /// The elements of an array or a structure.
  public var elements: [BusValue]? {
    switch unwrapped {
    case .array(_, let values), .structure(let values): values
    default: nil
    }
  }

  /// The values of a dictionary by their names.
  public var dictionary: [String: BusValue]? {
    guard case .array(_, let entries) = unwrapped else { return nil }
    var values: [String: BusValue] = [:]
    for case .entry(let key, let value) in entries {
      if let key = key.text { values[key] = value.unwrapped }
    }
    return values
  }
}

/// A file descriptor received or sent with a message. It is closed on release unless it was taken.
public final class BusDescriptor: @unchecked Sendable, Equatable {
  // Only `take` changes it, on the loop of the bus.
  private var number: Int32

  /// Takes over a descriptor.
  public init(taking number: Int32) {
    self.number = number
  }

  deinit {
    if number >= 0 { close(number) }
  }

  /// The number, until it is taken.
  public var borrowed: Int32 { number }

  /// Gives the descriptor away; -1 the second time.
  public func take() -> Int32 {
    defer { number = -1 }
    return number
  }

  /// Whether both are one object.
  public static func == (left: BusDescriptor, right: BusDescriptor) -> Bool { left === right }
}

// MARK: - Messages

/// The values of a message, in order.
///
/// - Throws: ``BusError`` when the message cannot be read.
func readValues(of message: OpaquePointer) throws(BusError) -> [BusValue] {
  var values: [BusValue] = []
  while let value = try readValue(message) { values.append(value) }
  return values
}

/// The next value at this level of a message, or nil at its end.
private func readValue(_ message: OpaquePointer) throws(BusError) -> BusValue? {
  var type: CChar = 0
  var contents: UnsafePointer<CChar>?
  let more = try checked(sd_bus_message_peek_type(message, &type, &contents), "read a message")
  if more == 0 { return nil }
  let element = contents.map { String(cString: $0) } ?? ""
  switch UInt8(bitPattern: type) {
  case UInt8(ascii: "s"): return .string(try readText(message, type))
  case UInt8(ascii: "o"): return .objectPath(try readText(message, type))
  case UInt8(ascii: "g"): return .signature(try readText(message, type))
  case UInt8(ascii: "b"): return .bool(try readBasic(message, type, Int32(0)) != 0)
  case UInt8(ascii: "y"): return .byte(try readBasic(message, type, 0))
  case UInt8(ascii: "n"): return .int16(try readBasic(message, type, 0))
  case UInt8(ascii: "q"): return .uint16(try readBasic(message, type, 0))
  case UInt8(ascii: "i"): return .int32(try readBasic(message, type, 0))
  case UInt8(ascii: "u"): return .uint32(try readBasic(message, type, 0))
  case UInt8(ascii: "x"): return .int64(try readBasic(message, type, 0))
  case UInt8(ascii: "t"): return .uint64(try readBasic(message, type, 0))
  case UInt8(ascii: "d"): return .double(try readBasic(message, type, 0))
  case UInt8(ascii: "h"):
    // The message closes its own descriptor.
    let copy = fcntl(try readBasic(message, type, Int32(0)), F_DUPFD_CLOEXEC, 3)
    if copy < 0 { throw .failed("keep a descriptor of a message", code: errno) }
    return .descriptor(BusDescriptor(taking: copy))
  case UInt8(ascii: "a"): return .array(of: element, try readContainer(message, type, element))
  case UInt8(ascii: "r"): return .structure(try readContainer(message, type, element))
  case UInt8(ascii: "e"):
    let pair = try readContainer(message, type, element)
    guard pair.count == 2 else { throw .failed("read a dictionary", code: EBADMSG) }
    return .entry(pair[0], pair[1])
  case UInt8(ascii: "v"):
    guard let inner = try readContainer(message, type, element).first else {
      throw .failed("read a variant", code: EBADMSG)
    }
    return .variant(inner)
  default: throw .failed("read a message", code: EBADMSG)
  }
}

private func readText(_ message: OpaquePointer, _ type: CChar) throws(BusError) -> String {
  let text: UnsafePointer<CChar>? = try readBasic(message, type, nil)
  return text.map { String(cString: $0) } ?? ""
}

private func readBasic<Value: BitwiseCopyable>(
  _ message: OpaquePointer, _ type: CChar, _ empty: Value
) throws(BusError) -> Value {
  var value = empty
  _ = try checked(sd_bus_message_read_basic(message, type, &value), "read a message")
  return value
}

private func readContainer(
  _ message: OpaquePointer, _ type: CChar, _ contents: String
) throws(BusError) -> [BusValue] {
  _ = try checked(sd_bus_message_enter_container(message, type, contents), "read a message")
  let values = try readValues(of: message)
  _ = try checked(sd_bus_message_exit_container(message), "read a message")
  return values
}

/// Appends values to a message.
func append(_ values: [BusValue], to message: OpaquePointer) throws(BusError) {
  for value in values { try append(value, to: message) }
}

private func append(_ value: BusValue, to message: OpaquePointer) throws(BusError) {
  switch value {
  case .string(let text), .objectPath(let text), .signature(let text):
    // Text on D-Bus has no zero bytes; C cuts it at the first one.
    let result = text.withCString { sd_bus_message_append_basic(message, value.typeCode, $0) }
    _ = try checked(result, "write a message")
  case .bool(let truth): try appendBasic(value, Int32(truth ? 1 : 0), to: message)
  case .byte(let number): try appendBasic(value, number, to: message)
  case .int16(let number): try appendBasic(value, number, to: message)
  case .uint16(let number): try appendBasic(value, number, to: message)
  case .int32(let number): try appendBasic(value, number, to: message)
  case .uint32(let number): try appendBasic(value, number, to: message)
  case .int64(let number): try appendBasic(value, number, to: message)
  case .uint64(let number): try appendBasic(value, number, to: message)
  case .double(let number): try appendBasic(value, number, to: message)
  case .descriptor(let descriptor): try appendBasic(value, descriptor.borrowed, to: message)
  case .array(let element, let values): try appendContainer("a", element, values, to: message)
  case .structure(let values):
    try appendContainer("r", values.map(\.signature).joined(), values, to: message)
  case .entry(let key, let inner):
    try appendContainer("e", key.signature + inner.signature, [key, inner], to: message)
  case .variant(let inner): try appendContainer("v", inner.signature, [inner], to: message)
  }
}

private func appendBasic<Value>(_ value: BusValue, _ raw: Value, to message: OpaquePointer) throws(BusError) {
  let result = withUnsafePointer(to: raw) { sd_bus_message_append_basic(message, value.typeCode, $0) }
  _ = try checked(result, "write a message")
}

private func appendContainer(
  _ type: Unicode.Scalar, _ contents: String, _ values: [BusValue], to message: OpaquePointer
) throws(BusError) {
  _ = try checked(sd_bus_message_open_container(message, CChar(type.value), contents), "write a message")
  try append(values, to: message)
  _ = try checked(sd_bus_message_close_container(message), "write a message")
}

extension BusValue {
  /// The first byte of the signature, as sd-bus takes it.
  fileprivate var typeCode: CChar { CChar(bitPattern: signature.utf8.first ?? 0) }
}
