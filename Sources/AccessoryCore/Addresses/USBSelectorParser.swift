/// What may follow `usb:`: nothing, `VID:PID`, `serial=S` or `BUS-PORT`.
struct USBSelectorParser {
  let parser: AddressParser

  func parse(_ rest: Substring) throws(AddressError) -> Address.USBSelector {
    if rest.isEmpty { return .any }
    if let equals = rest.firstIndex(of: "=") {
      return try serial(key: rest[..<equals], value: rest[rest.index(after: equals)...])
    }
    if let colon = rest.firstIndex(of: ":") {
      let (left, right) = (rest[..<colon], rest[rest.index(after: colon)...])
      let vendor = try number(left, called: "vendor number") { "usb:\($0):\(right)" }
      let product = try number(right, called: "product number") { "usb:\(left):\($0)" }
      return .product(vendor: vendor, product: product)
    }
    if let dash = rest.firstIndex(of: "-"), AddressParser.number(rest[..<dash]) != nil, dash != rest.startIndex {
      return try port(bus: rest[..<dash], path: rest[rest.index(after: dash)...])
    }
    if Self.hexadecimal(rest) != nil {
      throw parser.error(rest[rest.endIndex...], "the product number is missing after '\(rest)'", "usb:\(rest):PID")
    }
    throw parser.error(
      rest, "'\(rest)' is not VID:PID, serial=S or BUS-PORT", "usb:serial=\(rest)")
  }

  private func serial(key: Substring, value: Substring) throws(AddressError) -> Address.USBSelector {
    guard key == "serial" else { throw parser.error(key, "unknown key '\(key)'", "usb:serial=\(value)") }
    guard !value.isEmpty else { throw parser.error(value, "the serial number is missing", "usb:serial=S") }
    return .serial(String(value))
  }

  private func number(
    _ part: Substring, called name: String, fixed: (String) -> String
  ) throws(AddressError) -> UInt16 {
    if let number = Self.hexadecimal(part) { return number }
    let problem = part.isEmpty ? "the \(name) is missing" : "the \(name) '\(part)' is not four hexadecimal digits"
    // `0x5ac` and `5ac` are clear enough to be put right.
    let bare = part.hasPrefix("0x") || part.hasPrefix("0X") ? part.dropFirst(2) : part
    let padded = bare.zeroPadded(to: 4)
    let isClear = !bare.isEmpty && Self.hexadecimal(padded[...]) != nil
    throw parser.error(part, problem, isClear ? fixed(padded) : "usb:VID:PID")
  }

  private func port(bus: Substring, path: Substring) throws(AddressError) -> Address.USBSelector {
    guard let busNumber = AddressParser.number(bus), 1...255 ~= busNumber else {
      throw parser.error(bus, "the bus '\(bus)' is not a number from 1 to 255", "usb:BUS-PORT")
    }
    var ports: [Int] = []
    for part in path.split(separator: ".", omittingEmptySubsequences: false) {
      guard let port = AddressParser.number(part), 1...255 ~= port else {
        let problem = part.isEmpty ? "a port is missing" : "the port '\(part)' is not a number from 1 to 255"
        throw parser.error(part, problem, "usb:\(bus)-1.2")
      }
      ports.append(port)
    }
    // USB allows seven tiers: the root, five hubs, the device.
    guard ports.count <= 6 else { throw parser.error(path, "the port path has more than six steps", "usb:\(bus)-1.2") }
    return .port(bus: busNumber, path: ports)
  }

  private static func hexadecimal(_ part: Substring) -> UInt16? {
    guard part.utf8.count == 4, part.utf8.first != UInt8(ascii: "+") else { return nil }
    return UInt16(part, radix: 16)
  }
}
