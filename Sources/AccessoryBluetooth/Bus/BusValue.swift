import CSystemd
import Glibc

/// A value in a D-Bus message.
///
/// ```swift
/// let options: [BusValue] = [.properties(["Role": .string("server"), "Channel": .uint16(3)])]
/// ```
package indirect enum BusValue: Equatable, Sendable {
  /// A string or a signature.
  case string(String)
  case objectPath(String)
  case bool(Bool)
  /// An integer of the type that the signature denotes.
  case integer(Int64, Character)
  case double(Double)
  case descriptor(BusDescriptor)
  case array(of: String, [BusValue])
  case structure([BusValue])
  case entry(BusValue, BusValue)
  /// A value that is sent with its signature.
  case variant(BusValue)

  package static func uint16(_ number: UInt16) -> BusValue { .integer(Int64(number), "q") }
  package static func uint32(_ number: UInt32) -> BusValue { .integer(Int64(number), "u") }

  /// A dictionary that maps names to values of any type (`a{sv}`).
  package static func properties(_ values: [String: BusValue]) -> BusValue {
    let entries = values.sorted { $0.key < $1.key }.map { BusValue.entry(.string($0.key), .variant($0.value)) }
    return .array(of: "{sv}", entries)
  }

  package var signature: String {
    switch self {
    case .string: "s"
    case .objectPath: "o"
    case .bool: "b"
    case .integer(_, let type): String(type)
    case .double: "d"
    case .descriptor: "h"
    case .array(let element, _): "a" + element
    case .structure(let values): "(" + values.map(\.signature).joined() + ")"
    case .entry(let key, let value): "{" + key.signature + value.signature + "}"
    case .variant: "v"
    }
  }

  /// The first byte of the signature, in the form that sd-bus expects.
  fileprivate var typeCode: CChar { CChar(bitPattern: signature.utf8.first ?? 0) }

  // MARK: Reading

  package var unwrapped: BusValue {
    if case .variant(let inner) = self { inner.unwrapped } else { self }
  }

  package var text: String? {
    switch unwrapped {
    case .string(let text), .objectPath(let text): text
    default: nil
    }
  }

  package var truth: Bool? {
    if case .bool(let truth) = unwrapped { truth } else { nil }
  }

  package var number: Int? {
    if case .integer(let number, _) = unwrapped { Int(number) } else { nil }
  }

  package var elements: [BusValue]? {
    switch unwrapped {
    case .array(_, let values), .structure(let values): values
    default: nil
    }
  }

  package var dictionary: [String: BusValue]? {
    guard case .array(_, let entries) = unwrapped else { return nil }
    var values: [String: BusValue] = [:]
    for case .entry(let key, let value) in entries {
      if let key = key.text { values[key] = value.unwrapped }
    }
    return values
  }
}

/// A file descriptor that was received or will be sent with a message. When this object is released, it closes the
/// descriptor, unless the descriptor was taken with ``take()``.
package final class BusDescriptor: @unchecked Sendable, Equatable {
  // Only ``take()`` changes this number, and only on the bus's loop.
  private var number: Int32

  package init(taking number: Int32) {
    self.number = number
  }

  deinit {
    if number >= 0 { close(number) }
  }

  var borrowed: Int32 { number }

  var hasHungUp: Bool {
    var poll = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 0) > 0 && poll.revents & Int16(POLLHUP | POLLERR) != 0
  }

  /// Transfers ownership of the descriptor to the caller. Returns -1 if called again.
  package func take() -> Int32 {
    defer { number = -1 }
    return number
  }

  package static func == (left: BusDescriptor, right: BusDescriptor) -> Bool { left === right }
}

// MARK: - Messages

func readValues(of message: OpaquePointer) throws(BusError) -> [BusValue] {
  var values: [BusValue] = []
  while let value = try readValue(message) { values.append(value) }
  return values
}

/// Reads the next value at the current level of a message. Returns nil if there is none.
private func readValue(_ message: OpaquePointer) throws(BusError) -> BusValue? {
  var type: CChar = 0
  var contents: UnsafePointer<CChar>?
  let more = try checked(sd_bus_message_peek_type(message, &type, &contents), "read a message")
  if more == 0 { return nil }
  let element = contents.map { String(cString: $0) } ?? ""
  let code = Character(Unicode.Scalar(UInt8(bitPattern: type)))
  switch code {
  case "s", "g": return .string(try readText(message, type))
  case "o": return .objectPath(try readText(message, type))
  case "b": return .bool(try readBasic(message, type, Int32(0)) != 0)
  case "d": return .double(try readBasic(message, type, 0))
  case "h":
    // The descriptor is duplicated because the message closes its own copy.
    let copy = fcntl(try readBasic(message, type, Int32(0)), F_DUPFD_CLOEXEC, 3)
    if copy < 0 { throw .failed("duplicate a descriptor from a message", code: errno) }
    return .descriptor(BusDescriptor(taking: copy))
  case "a": return .array(of: element, try readContainer(message, type, element))
  case "r": return .structure(try readContainer(message, type, element))
  case "e":
    let pair = try readContainer(message, type, element)
    guard pair.count == 2 else { throw .failed("read a dictionary", code: EBADMSG) }
    return .entry(pair[0], pair[1])
  case "v":
    guard let inner = try readContainer(message, type, element).first else {
      throw .failed("read a variant", code: EBADMSG)
    }
    return .variant(inner)
  case "n": return .integer(Int64(try readBasic(message, type, Int16(0))), code)
  case "i": return .integer(Int64(try readBasic(message, type, Int32(0))), code)
  case "y", "q", "u", "x", "t":
    // sd-bus writes only as many bytes as the type has. The bytes written are the low-order ones, because all supported
    // machines are little-endian.
    return .integer(try readBasic(message, type, Int64(0)), code)
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

func append(_ values: [BusValue], to message: OpaquePointer) throws(BusError) {
  for value in values { try append(value, to: message) }
}

private func append(_ value: BusValue, to message: OpaquePointer) throws(BusError) {
  switch value {
  case .string(let text), .objectPath(let text):
    // D-Bus text cannot contain zero bytes, so the text is cut at the first one.
    let result = text.withCString { sd_bus_message_append_basic(message, value.typeCode, $0) }
    _ = try checked(result, "write a message")
  case .bool(let truth): try appendBasic(value, Int32(truth ? 1 : 0), to: message)
  case .integer(let number, _): try appendBasic(value, number, to: message)
  case .double(let number): try appendBasic(value, number, to: message)
  case .descriptor(let descriptor): try appendBasic(value, descriptor.borrowed, to: message)
  case .array(let element, let values): try appendContainer("a", element, values, to: message)
  case .structure(let values): try appendContainer("r", values.map(\.signature).joined(), values, to: message)
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

package struct BusSignal: Sendable {
  package let path: String
  package let member: String
  package let values: [BusValue]
}

extension BusSignal {
  init(_ message: OpaquePointer, _ values: [BusValue]) {
    self.init(
      path: text(sd_bus_message_get_path(message)), member: text(sd_bus_message_get_member(message)), values: values)
  }
}

private func text(_ characters: UnsafePointer<CChar>?) -> String { characters.map { String(cString: $0) } ?? "" }

/// A method call from another program, which must be answered exactly once. If this object is released before it has
/// answered, the caller receives an error.
package final class BusCall {
  package let path: String
  /// The interface that the method belongs to, which may be empty.
  package let interface: String
  package let member: String
  package let arguments: [BusValue]
  /// The caller's unique bus name.
  package let sender: String
  private var message: OpaquePointer?

  init(_ message: OpaquePointer, _ arguments: [BusValue]) {
    path = text(sd_bus_message_get_path(message))
    interface = text(sd_bus_message_get_interface(message))
    member = text(sd_bus_message_get_member(message))
    sender = text(sd_bus_message_get_sender(message))
    self.arguments = arguments
    self.message = sd_bus_message_ref(message)
  }

  deinit { fail("org.freedesktop.DBus.Error.Failed", "not answered") }

  package func answer(_ values: [BusValue] = []) {
    send { message, reply throws(BusError) in
      _ = try checked(sd_bus_message_new_method_return(message, &reply), "answer a call")
      if let reply { try append(values, to: reply) }
    }
  }

  package func fail(_ name: String, _ text: String) {
    send { message, reply throws(BusError) in
      var error = sd_bus_error()
      sd_bus_error_set(&error, name, text)
      defer { sd_bus_error_free(&error) }
      _ = try checked(sd_bus_message_new_method_error(message, &reply, &error), "answer a call")
    }
  }

  package func failAsUnknown() {
    fail("org.freedesktop.DBus.Error.UnknownMethod", "no method \(interface).\(member)")
  }

  private func send(_ make: (OpaquePointer, inout OpaquePointer?) throws(BusError) -> Void) {
    guard let message else { return }
    self.message = nil
    var reply: OpaquePointer?
    // An error means that the caller is gone, so errors are ignored.
    if (try? make(message, &reply)) != nil, let reply { sd_bus_send(nil, reply, nil) }
    sd_bus_message_unref(reply)
    sd_bus_message_unref(message)
  }
}

package enum BusError: Error, Equatable, Sendable, CustomStringConvertible {
  case remote(name: String, message: String)
  case timedOut
  case closed(String)
  case noLibrary(String)
  /// An operation failed in sd-bus. The associated value is the system's error number.
  case failed(String, code: Int32)

  package var description: String {
    switch self {
    case .remote(let name, let message): message.isEmpty ? name : message
    case .timedOut: "no answer on D-Bus"
    case .closed(let why): "the connection to D-Bus has ended: \(why)"
    case .noLibrary(let why): "libsystemd cannot be loaded: \(why)"
    case .failed(let what, let code): "cannot \(what): \(String(cString: strerror(code)))"
    }
  }

  init(_ error: sd_bus_error, _ result: Int32) {
    guard let name = error.name.map({ String(cString: $0) }) else {
      self = result == -ETIMEDOUT ? .timedOut : .failed("call a method on D-Bus", code: -result)
      return
    }
    switch name {
    case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout", "System.Error.ETIMEDOUT":
      self = .timedOut
    default: self = .remote(name: name, message: text(error.message))
    }
  }
}

func checked(_ result: Int32, _ action: @autoclosure () -> String) throws(BusError) -> Int32 {
  if result < 0 { throw .failed(action(), code: -result) }
  return result
}
