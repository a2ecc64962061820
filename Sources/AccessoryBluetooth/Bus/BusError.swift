import CSystemd
import Glibc

/// Why a call on D-Bus failed.
public enum BusError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The other program answered with an error.
  case remote(name: String, message: String)
  /// No answer came in time.
  case timedOut
  /// The connection to the bus has ended.
  case closed(String)
  /// libsystemd, which speaks D-Bus, cannot be loaded.
  case noLibrary(String)
  /// A function of sd-bus failed: the action, and the system's error number.
  case failed(String, code: Int32)

  /// A sentence fragment for messages.
  public var description: String {
    switch self {
    case .remote(let name, let message): message.isEmpty ? name : message
    case .timedOut: "no answer on D-Bus"
    case .closed(let why): "the connection to D-Bus has ended: \(why)"
    case .noLibrary(let why): "libsystemd cannot be loaded: \(why)"
    case .failed(let what, let code):
      "cannot \(what): " + (strerror(code).map { String(cString: $0) } ?? "error \(code)")
    }
  }
}

/// Returns a result of sd-bus, or throws if it is negative.
func checked(_ result: Int32, _ action: @autoclosure () -> String) throws(BusError) -> Int32 {
  if result < 0 { throw .failed(action(), code: -result) }
  return result
}

extension BusError {
  /// Translates the error of a failed call.
  init(_ error: sd_bus_error, _ result: Int32) {
    guard let name = error.name.map({ String(cString: $0) }) else {
      self = result == -ETIMEDOUT ? .timedOut : .failed("call a method on D-Bus", code: -result)
      return
    }
    switch name {
    case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout", "System.Error.ETIMEDOUT":
      self = .timedOut
    default: self = .remote(name: name, message: error.message.map { String(cString: $0) } ?? "")
    }
  }
}
