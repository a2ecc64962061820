/// The file positions of a payload that was reassembled from fragments.
struct FragmentPlaces {
  private let fragments: [Range<Int>]

  init(_ fragments: [Range<Int>]) { self.fragments = fragments }

  /// Returns the file positions of part of the payload.
  subscript(part: Range<Int>) -> [Range<Int>] {
    var start = 0
    return fragments.compactMap { fragment in
      defer { start += fragment.count }
      let found = part.clamped(to: start..<start + fragment.count)
      guard !found.isEmpty else { return nil }
      return fragment.lowerBound + found.lowerBound - start..<fragment.lowerBound + found.upperBound - start
    }
  }

  func emitHeader(_ part: Range<Int>, _ emit: (StreamEvent) -> Void) {
    for place in self[part] { emit(.header(place)) }
  }
}

/// The position of a device's address in an HCI command or event. The device's name may follow the address.
struct BluetoothIdentity {
  let address: Int
  var hasName = false

  /// The opcodes of commands that deal with connections, link keys, PINs, pairing or names.
  static let command: [Int: Self] = Dictionary(
    uniqueKeysWithValues: [
      0x0405, 0x0408, 0x0409, 0x040A, 0x040B, 0x040C, 0x040D, 0x040E, 0x040F, 0x0419, 0x041A, 0x042B, 0x042C, 0x042D,
      0x0433, 0x0434,
    ].map { ($0, Self(address: 0)) })
  /// The codes of events that deal with found devices, connections, connection requests, names, role changes, keys,
  /// PINs or pairing.
  static let event: [UInt8: Self] = [
    0x02: Self(address: 1), 0x03: Self(address: 3), 0x04: Self(address: 0), 0x07: Self(address: 1, hasName: true),
    0x12: Self(address: 1), 0x16: Self(address: 0), 0x17: Self(address: 0), 0x18: Self(address: 0),
    0x22: Self(address: 1), 0x2F: Self(address: 1), 0x31: Self(address: 0), 0x32: Self(address: 0),
    0x33: Self(address: 0), 0x36: Self(address: 1), 0x3D: Self(address: 0),
  ]
  /// By event code, how many bytes after the header do not identify a device, for events that report connections,
  /// command results or counts.
  static let harmless: [UInt8: Int] = [
    0x03: 3, 0x05: 4, 0x07: 1, 0x08: 4, 0x0E: 4, 0x0F: 4, 0x13: 255, 0x1B: 3, 0x36: 1, 0x3E: 1,
  ]

  func find(in parameters: ArraySlice<UInt8>, _ emit: (StreamEvent) -> Void) {
    let rest = parameters.dropFirst(address)
    guard rest.count >= 6 else { return }
    emit(.address(rest.prefix(6).indices))
    if hasName { emit(.name(rest.dropFirst(6).indices)) }
  }
}
