import AccessoryFormats

/// The address of a real or simulated accessory. All commands and interfaces share one grammar; docs/commands.md lists
/// every form and its meaning for each role.
///
/// ```swift
/// let text = "tcp:[::1]:7000"
/// print(try Address(parsing: text))   // tcp:[::1]:7000
/// ```
///
/// In the serial number of a `local:` address, '#' is written as `%23`, '/' as `%2F`, and a '%' before either code as
/// `%25`.
///
/// Parsing a ``description`` with ``init(parsing:)`` yields the same address.
public enum Address: Hashable, Sendable {
  /// Accessories in a local directory. If no directory is given, the default directory is used. If no serial number is
  /// given, every accessory matches.
  case local(directory: String?, serial: String?)
  case unix(path: String)
  /// A TCP port; 0 means any free port.
  case tcp(host: String, port: UInt16)
  /// A pseudo terminal, which the simulator makes available as a link at `path`.
  case pty(path: String)
  /// A serial line. If no baud rate is given, the default rate applies.
  case serial(path: String, baud: Int?)
  case usb(USBSelector)
  /// A USB/IP server that makes a simulated accessory appear as a USB device on the machine that attaches it.
  case usbip(host: String, port: UInt16)
  /// A USB device controller on this machine, where a simulated accessory appears as a real USB device. If no name is
  /// given, the machine's only controller is used.
  case gadget(controller: String?)
  /// Bluetooth: paired accessories, or this machine in the role of an accessory.
  case bluetooth(BluetoothSelector)

  /// A selection of accessories on USB.
  public enum USBSelector: Hashable, Sendable {
    case any
    case product(vendor: UInt16, product: UInt16)
    case serial(String)
    /// The port that the accessory is plugged into; `1-2.4` means bus 1, port 2 of the root hub, and port 4 of the hub
    /// at that port.
    case port(bus: Int, path: [Int])
  }

  /// The maximum length of a unix socket's path in bytes; the kernel's field holds 108 bytes, including a terminating
  /// zero.
  public static let longestUnixPath = 107

  /// The prefix of an address, which determines the medium.
  public enum Kind: String, CaseIterable, Hashable, Sendable {
    case local
    case unix
    case tcp
    case pty
    case serial
    case usb
    case usbip
    case gadget
    case bt

    /// The form of an address of this kind, with placeholders in capitals, such as `tcp:HOST:PORT`.
    var form: String {
      switch self {
      case .local: "local:"
      case .unix: "unix:PATH"
      case .tcp: "tcp:HOST:PORT"
      case .pty: "pty:PATH"
      case .serial: "serial:PATH,BAUD"
      case .usb: "usb:VID:PID"
      case .usbip: "usbip:HOST:PORT"
      case .gadget: "gadget:UDC"
      case .bt: "bt:AA:BB:CC:DD:EE:FF"
      }
    }
  }

  /// The kind of this address.
  public var kind: Kind {
    switch self {
    case .local: .local
    case .unix: .unix
    case .tcp: .tcp
    case .pty: .pty
    case .serial: .serial
    case .usb: .usb
    case .usbip: .usbip
    case .gadget: .gadget
    case .bluetooth: .bt
    }
  }
}

extension Address: CustomStringConvertible {
  /// The address in its written form.
  public var description: String {
    switch self {
    case .local(let directory?, let serial): "local:\(directory)#\(LocalSerial.escaped(serial ?? ""))"
    case .local(nil, let serial): "local:\(LocalSerial.escaped(serial ?? ""))"
    case .unix(let path): "unix:\(path)"
    case .tcp(let host, let port): "tcp:\(Self.bracketed(host)):\(port)"
    case .pty(let path): "pty:\(path)"
    case .serial(let path, let baud): "serial:\(path)" + (baud.map { ",\($0)" } ?? "")
    case .usb(let selector): "usb:\(selector)"
    case .usbip(let host, let port): "usbip:\(Self.bracketed(host)):\(port)"
    case .gadget(let controller): "gadget:\(controller ?? "")"
    case .bluetooth(let selector): "bt:\(selector)"
    }
  }

  private static func bracketed(_ host: String) -> String {
    host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
  }
}

extension Address.USBSelector: CustomStringConvertible {
  /// The selector as written after `usb:`.
  public var description: String {
    switch self {
    case .any: ""
    case .product(let vendor, let product):
      "\(Hex.number(vendor, uppercase: false)):\(Hex.number(product, uppercase: false))"
    case .serial(let serial): "serial=\(serial)"
    case .port(let bus, let path): "\(bus)-" + path.map(String.init).joined(separator: ".")
    }
  }
}

/// An error in an address: what is wrong, where, and the nearest correct form.
///
/// ```
/// unknown kind 'unx' in the address 'unx:/tmp/a.sock' (byte 0): did you mean 'unix:/tmp/a.sock'?
/// ```
public struct AddressError: Error, Equatable, Sendable {
  /// The whole address as the user wrote it.
  public let text: String
  /// The wrong part of the address, or an empty string if something is missing.
  public let part: String
  /// The offset of the wrong part in UTF-8 bytes.
  public let offset: Int
  /// The problem as a sentence fragment that quotes the wrong part, such as "the port '99999' is above 65535".
  public let problem: String
  /// The nearest correct form, if there is one, with placeholders in capitals.
  public let suggestion: String?

  /// Creates an error about a part of `text`.
  public init(text: String, part: String, offset: Int, problem: String, suggestion: String?) {
    self.text = text
    self.part = part
    self.offset = offset
    self.problem = problem
    self.suggestion = suggestion
  }
}

extension AddressError: CustomStringConvertible {
  /// One line for users, with control characters escaped and very long addresses truncated, so that a wrong address can
  /// neither control nor flood a terminal.
  public var description: String {
    let line = "\(problem.spelledOut(atMost: 240)) in the address '\(text.spelledOut(atMost: 160))' (byte \(offset))"
    return suggestion.map { "\(line): did you mean '\($0.spelledOut(atMost: 160))'?" } ?? line
  }
}

extension StringProtocol {
  /// Escapes control characters in the text, and truncates it to a maximum length.
  func spelledOut(atMost limit: Int) -> String {
    let shown = String(String.UnicodeScalarView(unicodeScalars.prefix(limit))).spelledOut
    return unicodeScalars.dropFirst(limit).isEmpty ? shown : shown + "…"
  }
}
