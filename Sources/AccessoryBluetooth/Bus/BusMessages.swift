import CSystemd
import Glibc

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
  /// libsystemd, which implements D-Bus, could not be loaded.
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
