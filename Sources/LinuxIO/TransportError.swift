import AccessoryCore
import Glibc

/// The reason why an address cannot be used, temporarily or permanently. All media share these errors.
public enum TransportError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The address belongs to another medium; ``Transports`` opens only streams.
  case notAStream(Address)
  /// This program has no medium for addresses of this kind.
  case noMedium(Address)
  /// A host cannot connect to this address, which is only for simulated accessories.
  case simulatorsOnly(Address)
  /// A simulated accessory cannot appear at this address, which is only for hosts that look for real accessories.
  case hostsOnly(Address)
  case nobodyThere(Address, String)
  /// Another process uses the address; the value is its process ID, if known.
  case inUse(Address, pid: Int32?)
  case timedOut(Address, after: Duration)
  /// The address is on another machine, which the options do not allow.
  case remoteNotAllowed(Address)
  /// The accessory belongs to another user on this machine, which the options do not allow; the text names that user.
  case otherUser(Address, String)
  /// The system denies this user access; `fix` is a command or an action that solves the problem.
  case notPermitted(Address, String, fix: String?)
  /// The address is well-formed but cannot work, for the reason in the text.
  case unusable(Address, String)
  /// The other end closed the cable before the iAP2 link was up.
  case noLink(Address, String)
  /// The cable ended after its link was up, but before the accessory was ready. The values are the number of
  /// consecutive links that ended this way and, for the last link, its last message and the reason it ended.
  case unfinished(Address, links: Int, last: String, String)
  /// The accessory disconnected while it was being opened.
  case left(Address)
  /// Another failure, described by the text.
  case failed(Address, String)
  case system(Address, SystemError)

  /// The address to which the error applies.
  public var address: Address {
    switch self {
    case .notAStream(let address), .noMedium(let address), .simulatorsOnly(let address), .hostsOnly(let address),
      .nobodyThere(let address, _), .inUse(let address, _), .timedOut(let address, _), .remoteNotAllowed(let address),
      .otherUser(let address, _), .notPermitted(let address, _, _), .unusable(let address, _), .noLink(let address, _),
      .unfinished(let address, _, _, _), .left(let address),
      .failed(let address, _), .system(let address, _):
      address
    }
  }

  /// Whether the connection failed because the accessory belongs to another user on this machine.
  public var isAboutUsers: Bool { if case .otherUser = self { true } else { false } }

  /// Whether a retry may succeed without any action by the user.
  public var mayPass: Bool {
    switch self {
    // An accessory that is still listed may only seem to be gone, for example before udev has created its device file.
    case .nobodyThere, .inUse, .timedOut, .notPermitted, .noLink, .unfinished, .left, .failed, .system: true
    case .notAStream, .noMedium, .simulatorsOnly, .hostsOnly, .remoteNotAllowed, .otherUser, .unusable: false
    }
  }

  /// One sentence with the address, the reason and, if there is one, the fix.
  public var description: String {
    switch self {
    case .notAStream(let address): "\(address) is not a stream: '\(address.kind.rawValue):' belongs to another medium"
    case .noMedium(let address):
      "\(address) cannot be opened: this program is built without support for it; add "
        + #".product(name: "ExternalAccessoryHardware", package: "easim") to the dependencies of your target in "#
        + "Package.swift"
    case .simulatorsOnly(.usbip(let host, let port)):
      "\(Address.usbip(host: host, port: port)) is where a simulated accessory appears; a host finds it at usb: "
        + "once it is plugged in there"
    case .simulatorsOnly(let address):
      "\(address) is where a simulated accessory appears; the host at the other end of the cable finds it at usb:"
    case .hostsOnly(let address):
      "\(address) is where a host finds real accessories; to simulate one as a USB device, use usbip:127.0.0.1:3240 or "
        + "gadget:"
    case .nobodyThere(.serial(let path, let baud), let detail):
      "\(Address.serial(path: path, baud: baud)) cannot be opened: \(detail); is the adapter plugged in?"
    case .nobodyThere(let address, let detail):
      switch address.kind {
      case .unix, .tcp: "no accessory listens at \(address): \(detail)"
      case .local, .pty, .serial, .usb, .usbip, .gadget, .bt: "no accessory at \(address): \(detail)"
      }
    case .timedOut(let address, let limit): "\(address) did not answer within \(limit.inSeconds) s"
    case .remoteNotAllowed(let address):
      "\(address) is not a loopback address (127.0.0.1 or [::1]); connections to other machines must be allowed"
    case .notPermitted(let address, let detail, let fix):
      "\(address) cannot be opened: \(detail)" + (fix.map { "; \($0)" } ?? "")
    case .otherUser(let address, let detail): "\(address) is not trusted: \(detail)"
    case .unusable(let address, let detail): "\(address) cannot be used: \(detail)"
    case .inUse(let address, _): "\(address) is \(detail)"
    case .left(let address): "\(address) \(detail)"
    case .noLink(let address, _), .unfinished(let address, _, _, _), .failed(let address, _), .system(let address, _):
      "\(address): \(detail)"
    }
  }

  /// The reason without the address, as a fragment for a list or for a sentence that already contains the address.
  public var detail: String {
    switch self {
    case .nobodyThere(_, let detail), .unusable(_, let detail), .failed(_, let detail), .notPermitted(_, let detail, _),
      .otherUser(_, let detail):
      detail
    case .noLink(_, let detail):
      "it closed the cable before the iAP2 link was up (\(detail)): another host may be using it, or it is not an accessory"
    case .unfinished(_, let links, let last, let detail):
      "it set up a link \(links == 1 ? "once" : "\(links) times") but never became ready; the last link ended after "
        + "\(last) (\(detail))"
    case .inUse(_, let pid): "in use by \(pid.map { "pid \($0)" } ?? "another process")"
    case .timedOut(_, let limit): "no answer within \(limit.inSeconds) s"
    case .left: "was unplugged"
    case .system(_, let error): error.description
    case .notAStream, .noMedium, .simulatorsOnly, .hostsOnly, .remoteNotAllowed: description
    }
  }

  init(listening error: SystemError, at address: Address) {
    switch error.code {
    case EADDRINUSE: self = .inUse(address, pid: nil)
    case EACCES, EPERM: self = .notPermitted(address, error.description, fix: nil)
    case ENOENT: self = .unusable(address, "the directory does not exist; create it first")
    case EADDRNOTAVAIL: self = .unusable(address, "this machine has no such address")
    default: self = .system(address, error)
    }
  }

  init(connecting error: SystemError, to address: Address) {
    switch error.code {
    case ENOENT, ECONNREFUSED:
      let file: FileIdentity? =
        if case .unix(let path) = address { FilePath.real(path).flatMap { FileIdentity(path: $0) } } else { nil }
      self = .nobodyThere(address, file?.isSocket == false ? "this file is not a socket" : error.reason)
    case EACCES, EPERM: self = .notPermitted(address, error.description, fix: nil)
    default: self = .system(address, error)
    }
  }
}
