import AccessoryFormats

extension Address {
  /// Reads an address.
  ///
  /// ```swift
  /// try Address(parsing: "serial:/dev/ttyUSB0,115200")
  /// ```
  ///
  /// - Throws: an ``AddressError`` that contains the wrong part and the nearest correct form.
  public init(parsing text: String) throws(AddressError) {
    self = try AddressParser(text: text).parse()
  }
}

/// The grammar of addresses. Parts are slices of the original text, so that errors can report positions.
struct AddressParser {
  let text: String

  /// The kinds of addresses, in the order in which errors list and suggest them.
  private static let kinds = Address.Kind.allCases.map(\.rawValue)

  func parse() throws(AddressError) -> Address {
    if let zero = text.firstIndex(of: "\0") {
      throw error(text[zero...zero], "it contains a zero byte", nil)
    }
    guard let colon = text.firstIndex(of: ":") else { throw wrongKind(text[...], rest: "") }
    let kind = text[..<colon]
    let rest = text[text.index(after: colon)...]
    switch Address.Kind(rawValue: String(kind)) {
    case .local: return try local(rest)
    case .unix: return try unix(rest)
    case .tcp:
      let (host, port) = try hostAndPort(rest, form: "tcp")
      return .tcp(host: host, port: port)
    case .pty: return .pty(path: try path(rest, kind: "pty"))
    case .serial: return try serial(rest)
    case .usb: return .usb(try usb(rest))
    case .usbip:
      let (host, port) = try hostAndPort(rest, form: "usbip")
      return .usbip(host: host, port: port)
    case .gadget:
      guard !rest.contains("/") else {
        throw error(rest, "'\(rest)' is a path", "gadget:" + (rest.split(separator: "/").last ?? ""))
      }
      return .gadget(controller: rest.isEmpty ? nil : String(rest))
    case .bt: return .bluetooth(try bluetooth(rest))
    case nil: throw wrongKind(kind, rest: rest)
    }
  }

  /// Creates an error about a part of the text. `part` must be a slice of the text, because a slice knows its position.
  func error(_ part: Substring, _ problem: String, _ suggestion: String?) -> AddressError {
    AddressError(
      text: text, part: String(part), offset: text.utf8.distance(from: text.startIndex, to: part.startIndex),
      problem: problem, suggestion: suggestion)
  }
}

// MARK: - Kinds

extension AddressParser {
  private func wrongKind(_ kind: Substring, rest: Substring) -> AddressError {
    if text.isEmpty { return error(kind, "the kind is missing", "local:") }
    if let guess = guessFromPath() ?? guess(as: "usb") ?? guess(as: "bt") {
      return error(text[...], "the kind is missing", guess)
    }
    if let near = Suggestion.nearest(to: String(kind), in: Self.kinds) {
      return error(kind, "unknown kind '\(kind)'", rest.isEmpty ? shortestForm(near) : "\(near):\(rest)")
    }
    if let guess = guess(as: "tcp") { return error(text[...], "the kind is missing", guess) }
    return error(kind, "unknown kind '\(kind)' (the kinds are \(Self.kinds.joined(separator: ", ")))", nil)
  }

  /// If the kind is an address by itself, such as `usb:` (any USB accessory), returns the kind alone. Otherwise,
  /// returns the kind's form with placeholders.
  private func shortestForm(_ kind: String) -> String? {
    (try? AddressParser(text: "\(kind):").parse())?.description ?? Address.Kind(rawValue: kind)?.form
  }

  private func guessFromPath() -> String? {
    if text.hasPrefix("/dev/tty") || text.hasPrefix("/dev/serial/") { return "serial:\(text)" }
    if text.hasPrefix("/dev/pts/") { return "pty:\(text)" }
    let isPath = ["/", "./", "../", "~/"].contains { text.hasPrefix($0) }
    return isPath || (!text.contains(":") && text.hasSuffix(".sock")) ? "unix:\(text)" : nil
  }

  /// Parses the text as if it followed `kind:`. Returns the address if it is valid and unambiguous (`localhost:7000`,
  /// `1-2.4`, `hci0`), and nil otherwise.
  private func guess(as kind: String) -> String? {
    guard let address = try? AddressParser(text: "\(kind):\(text)").parse() else { return nil }
    if case .usb(.serial) = address { return nil }
    return address.description
  }

  private func local(_ rest: Substring) throws(AddressError) -> Address {
    if let hash = rest.lastIndex(of: "#") {
      let serial = rest[rest.index(after: hash)...]
      let directory = try path(rest[..<hash], kind: "local", form: "local:DIR#\(serial.isEmpty ? "SERIAL" : serial)")
      return .local(directory: directory, serial: serial.isEmpty ? nil : LocalSerial.unescaped(serial))
    }
    if rest.contains("/") { throw error(rest, "'\(rest)' is a directory, but no '#' follows it", "local:\(rest)#") }
    return .local(directory: nil, serial: rest.isEmpty ? nil : LocalSerial.unescaped(rest))
  }

  private func unix(_ rest: Substring) throws(AddressError) -> Address {
    let path = try path(rest, kind: "unix")
    guard path.utf8.count <= Address.longestUnixPath else {
      let limit = Address.longestUnixPath
      throw error(
        rest, "the socket path has \(path.utf8.count) bytes; the limit is \(limit)",
        "unix:/tmp/NAME.sock")
    }
    return .unix(path: path)
  }

  private func serial(_ rest: Substring) throws(AddressError) -> Address {
    // A comma that is followed by a '/' belongs to a folder's name and does not introduce a baud rate.
    guard let comma = rest.lastIndex(of: ","), !rest[comma...].contains("/") else {
      return .serial(path: try path(rest, kind: "serial"), baud: nil)
    }
    let line = try path(rest[..<comma], kind: "serial", form: "serial:PATH,BAUD")
    let digits = rest[rest.index(after: comma)...]
    guard let baud = Self.number(digits), 1...10_000_000 ~= baud else {
      throw error(digits, "the baud rate '\(digits)' is not a number from 1 to 10000000", "serial:\(line),115200")
    }
    return .serial(path: line, baud: baud)
  }

  private func path(_ part: Substring, kind: String, form: String? = nil) throws(AddressError) -> String {
    guard !part.isEmpty else { throw error(part, "the path is missing", form ?? "\(kind):PATH") }
    // Shells expand '~' only at the start of a word, and here the kind comes first.
    if part.hasPrefix("~/") { throw error(part, "'~' is not expanded", "\(kind):$HOME\(part.dropFirst())") }
    return String(part)
  }
}

// MARK: - Hosts and numbers

extension AddressParser {
  private func hostAndPort(_ rest: Substring, form kind: String) throws(AddressError) -> (String, UInt16) {
    let form = "\(kind):HOST:PORT"
    if rest.hasPrefix("[") {
      guard let close = rest.firstIndex(of: "]") else {
        throw error(rest, "the ']' after the IPv6 address is missing", "\(kind):[::1]:PORT")
      }
      let host = rest[rest.index(after: rest.startIndex)..<close]
      let isIPv6 = host.contains(":") && host.utf8.allSatisfy { Self.isNameByte($0) || $0 == 0x3A || $0 == 0x25 }
      guard isIPv6 else { throw error(host, "'\(host)' is not an IPv6 address", "\(kind):[::1]:PORT") }
      let after = rest[rest.index(after: close)...]
      guard after.hasPrefix(":") else { throw error(after, "the port is missing", "\(kind):[\(host)]:PORT") }
      return (String(host), try port(after.dropFirst(), before: "\(kind):[\(host)]:"))
    }
    guard let colon = rest.lastIndex(of: ":") else {
      guard !rest.isEmpty else { throw error(rest, "the host is missing", form) }
      if Self.number(rest) != nil {
        throw error(rest, "the host is missing before '\(rest)'", "\(kind):127.0.0.1:\(rest)")
      }
      throw error(rest[rest.endIndex...], "the port is missing", "\(kind):\(rest):PORT")
    }
    let host = rest[..<colon]
    let digits = rest[rest.index(after: colon)...]
    guard !host.contains(":") else {
      throw error(host, "the IPv6 address '\(host)' has no brackets", "\(kind):[\(host)]:\(digits)")
    }
    guard !host.isEmpty else { throw error(host, "the host is missing", "\(kind):127.0.0.1:\(digits)") }
    guard host.utf8.allSatisfy(Self.isNameByte) else { throw error(host, "'\(host)' is not a host name", form) }
    return (String(host), try port(digits, before: "\(kind):\(host):"))
  }

  private func port(_ digits: Substring, before: String) throws(AddressError) -> UInt16 {
    guard !digits.isEmpty else { throw error(digits, "the port is missing", before + "PORT") }
    guard let number = Self.number(digits) else {
      throw error(digits, "the port '\(digits)' is not a number", before + "PORT")
    }
    guard let port = UInt16(exactly: number) else {
      throw error(digits, "the port '\(digits)' is above 65535", before + "PORT")
    }
    return port
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// Parses a number that consists only of decimal digits, without a sign or spaces.
  static func number(_ digits: Substring) -> Int? {
    digits.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? Int(digits) : nil
  }
}

/// Escapes serial numbers in `local:` addresses, where '#' ends the directory and '/' separates directories.
enum LocalSerial {
  private static let codes: [(code: String, character: Character)] = [
    ("%23", "#"), ("%2F", "/"), ("%2f", "/"), ("%25", "%"),
  ]

  static func escaped(_ serial: String) -> String {
    var text = ""
    for index in serial.indices {
      switch serial[index] {
      case "#": text += "%23"
      case "/": text += "%2F"
      case "%" where code(at: serial[index...]) != nil: text += "%25"
      case let other: text.append(other)
      }
    }
    return text
  }

  /// Returns the serial number that an address contains; a '%' that does not start a known code is literal.
  static func unescaped(_ text: Substring) -> String {
    var serial = ""
    var rest = text
    while let first = rest.first {
      let found = code(at: rest)
      serial.append(found?.character ?? first)
      rest = rest.dropFirst(found?.code.count ?? 1)
    }
    return serial
  }

  private static func code(at text: Substring) -> (code: String, character: Character)? {
    codes.first { text.hasPrefix($0.code) }
  }
}
