import AccessoryCore
import Glibc

/// Why an address could not be listened at or connected to.
public enum TransportError: Error, Equatable, Sendable {
  /// The address means something that another part of the house does (the bench, USB).
  case notAStream(Address)
  /// Nobody listens there.
  case nobodyThere(Address, String)
  /// Somebody else has it; the process id where it could be found out.
  case inUse(Address, pid: Int32?)
  /// Nothing happened for as long as one was willing to wait.
  case timedOut(Address, after: Duration)
  /// The address leaves this machine, and that was not allowed.
  case remoteNotAllowed(Address)
  /// The system does not let this user do it; the text says what would help.
  case notPermitted(Address, String)
  /// The address is right in form and wrong in substance; the text says how.
  case unusable(Address, String)
  /// Any other refusal of the system.
  case system(Address, SystemError)
}

extension TransportError: CustomStringConvertible {
  /// One line that names the address and says what to do.
  public var description: String {
    switch self {
    case .notAStream(.usbip(let host, let port)):
      "\(Address.usbip(host: host, port: port)) is where a simulated accessory appears (easim run --on); a host finds it at "
        + "usb: once 'easim plug' has plugged it in"
    case .notAStream(.gadget(let controller)):
      "\(Address.gadget(controller: controller)) is where a simulated accessory appears (easim run --on); the host at the "
        + "other end of the cable finds it at usb:"
    case .notAStream(let address):
      "\(address) is no stream to connect to or listen at: '\(address.kind):' is opened by its own part of the house"
    case .nobodyThere(let address, let detail): "no accessory listens at \(address): \(detail)"
    case .inUse(let address, let pid?): "\(address) is in use by pid \(pid)"
    case .inUse(let address, nil): "\(address) is in use by another process"
    case .timedOut(let address, let limit): "\(address) did not answer within \(limit.inSeconds) s"
    case .remoteNotAllowed(let address):
      "\(address) is not on this machine; TCP stays on 127.0.0.1 and [::1] unless remote peers are allowed"
    case .notPermitted(let address, let detail): "\(address) may not be opened: \(detail)"
    case .unusable(let address, let detail): "\(address) cannot be used: \(detail)"
    case .system(let address, let error): "\(address): \(error)"
    }
  }
}

extension TransportError {
  /// The same of the address that was named by a user, where a part of the house stands on another one.
  public func at(_ address: Address) -> Self {
    switch self {
    case .notAStream: .notAStream(address)
    case .nobodyThere(_, let detail): .nobodyThere(address, detail)
    case .inUse(_, let pid): .inUse(address, pid: pid)
    case .timedOut(_, let limit): .timedOut(address, after: limit)
    case .remoteNotAllowed: .remoteNotAllowed(address)
    case .notPermitted(_, let detail): .notPermitted(address, detail)
    case .unusable(_, let detail): .unusable(address, detail)
    case .system(_, let error): .system(address, error)
    }
  }

  /// What a failed call means to somebody who wanted to listen.
  init(listening error: SystemError, at address: Address) {
    switch error.code {
    case EADDRINUSE: self = .inUse(address, pid: nil)
    case EACCES, EPERM: self = .notPermitted(address, error.description)
    case ENOENT: self = .unusable(address, "the directory does not exist; make it first")
    case EADDRNOTAVAIL: self = .unusable(address, "this machine has no such address")
    default: self = .system(address, error)
    }
  }

  /// What a failed call means to somebody who wanted to connect.
  init(connecting error: SystemError, to address: Address) {
    switch error.code {
    case ENOENT, ECONNREFUSED: self = .nobodyThere(address, error.reason)
    case EACCES, EPERM: self = .notPermitted(address, error.description)
    default: self = .system(address, error)
    }
  }
}
