import AccessoryFormats

/// Reads frames of Bluetooth's host controller interface (HCI) and extracts the bytes carried by RFCOMM channels.
///
/// A capture may begin in the middle of a connection. If the capture does not contain the setup of an L2CAP channel,
/// the channel is assumed to carry RFCOMM as soon as a frame has RFCOMM's layout and a correct checksum.
///
/// Invariant: at most ``mostConnections`` connections are tracked, with at most one L2CAP payload per connection and
/// direction.
struct BluetoothFrames {
  private static let mostConnections = 64
  private static let mostChannels = 256

  private struct Half {
    var pending: [UInt8] = []
    /// The file positions of the pending bytes.
    var places: [Range<Int>] = []
    var isOpen = false
    var hasBegun = false
    /// Whether each L2CAP channel carries RFCOMM. The keys are the receiver's channel numbers.
    var isRFCOMM: [Int: Bool] = [:]
  }

  private struct Connection {
    var halves = [Half(), Half()]
    /// Pending channel requests, by identifier: whether the request is for RFCOMM, the requester's channel number, and
    /// the direction.
    var requests: [Int: (isRFCOMM: Bool, source: Int, isReceived: Bool)] = [:]
  }

  private var connections: [ConnectionKey: Connection] = [:]

  // MARK: Frames

  mutating func read(_ frame: CaptureFrame, _ type: CaptureLinkType, _ emit: (StreamEvent) -> Void) {
    guard let (kind, isReceived, bytes) = Self.packet(frame, type) else { return }
    emit(.header(frame.bytes.startIndex..<bytes.startIndex))
    switch kind {
    case .command:
      emit(.header(bytes.prefix(3).indices))
      guard bytes.count >= 3 else { break }
      BluetoothIdentity.command[bytes.u16(at: 0, .little)]?.find(in: bytes.dropFirst(3), emit)
    case .event: readEvent(bytes, frame.interface, emit)
    case .other: break
    case .data: readData(bytes, frame, isReceived: isReceived, emit)
    }
  }

  private enum Kind {
    case command
    case event
    case data
    case other
  }

  private static func packet(
    _ frame: CaptureFrame, _ type: CaptureLinkType
  ) -> (Kind, isReceived: Bool, ArraySlice<UInt8>)? {
    var bytes = frame.bytes
    var isReceived = frame.direction == .received
    switch type {
    case .bluetoothH4(let hasDirection):
      if hasDirection {
        guard bytes.count >= 4 else { return nil }
        isReceived = bytes.u32(at: 0, .big) & 1 == 1
        bytes = bytes.dropFirst(4)
      }
      guard let first = bytes.first else { return nil }
      bytes = bytes.dropFirst()
      switch first {
      case 2 where frame.direction == .unknown && !hasDirection:
        // The first fragment of a payload is marked with 10 by the controller and with 00 by the host.
        guard bytes.count >= 2 else { return nil }
        return (.data, bytes.u16(at: 0, .little) >> 12 & 3 == 2, bytes)
      case 1: return (.command, false, bytes)
      case 2: return (.data, isReceived, bytes)
      case 4: return (.event, true, bytes)
      default: return (.other, isReceived, bytes)
      }
    case .bluetoothH1:
      if frame.flags & 2 == 0 { return (.data, isReceived, bytes) }
      return (isReceived ? .event : .command, isReceived, bytes)
    case .bluetoothMonitor(let hasHeader):
      var opcode = frame.flags & 0xFFFF
      if hasHeader {
        guard bytes.count >= 4 else { return nil }
        opcode = bytes.u16(at: 2, .big)
        bytes = bytes.dropFirst(4)
      }
      return numbered(opcode - 2, bytes)
    case .packetLogger: return numbered(frame.flags, bytes)
    default: return nil
    }
  }

  private static func numbered(
    _ number: Int, _ bytes: ArraySlice<UInt8>
  ) -> (Kind, isReceived: Bool, ArraySlice<UInt8>) {
    switch number {
    case 0: (.command, false, bytes)
    case 1: (.event, true, bytes)
    case 2: (.data, false, bytes)
    case 3: (.data, true, bytes)
    default: (.other, false, bytes)
    }
  }

  /// Reads an event. Only a disconnection affects streams. Some events other than disconnections are read, but only to
  /// identify devices.
  private mutating func readEvent(_ bytes: ArraySlice<UInt8>, _ interface: Int, _ emit: (StreamEvent) -> Void) {
    guard let code = bytes.first else { return }
    emit(.header(bytes.prefix(2 + (BluetoothIdentity.harmless[code] ?? 0)).indices))
    BluetoothIdentity.event[code]?.find(in: bytes.dropFirst(2), emit)
    guard bytes.count >= 5, bytes[bytes.startIndex] == 5 else { return }
    let key = ConnectionKey(interface: interface, place: bytes.u16(at: 3, .little) & 0x0FFF)
    connections[key] = nil
    emit(.over(key, wholePlace: true))
  }

  // MARK: Fragments

  private mutating func readData(
    _ bytes: ArraySlice<UInt8>, _ frame: CaptureFrame, isReceived: Bool, _ emit: (StreamEvent) -> Void
  ) {
    guard bytes.count >= 4 else { return }
    let key = ConnectionKey(interface: frame.interface, place: bytes.u16(at: 0, .little) & 0x0FFF)
    let isContinued = bytes.u16(at: 0, .little) >> 12 & 3 == 1
    let length = bytes.u16(at: 2, .little)
    let fragment = bytes.dropFirst(4).prefix(length)
    emit(.header(bytes.prefix(4).indices))
    if connections[key] == nil, connections.count >= Self.mostConnections {
      return emit(
        .problem(key, "more than \(Self.mostConnections) Bluetooth connections at once; this one is omitted"))
    }
    let side = isReceived ? 1 : 0
    var half = connections[key, default: Connection()].halves[side]
    defer { connections[key, default: Connection()].halves[side] = half }
    if frame.bytes.count < frame.originalCount || fragment.count < length {
      (half.pending, half.isOpen) = ([], false)
      return emit(.problem(key, "the recorder kept only \(fragment.count) of the \(length) bytes of a fragment"))
    }
    if isContinued {
      guard half.isOpen else {
        // Bytes before the first start fragment are not reported, because they belong to a payload that began before
        // the capture.
        if half.hasBegun { emit(.problem(key, "a fragment whose beginning is missing")) }
        return
      }
      half.pending += fragment
      half.places.append(fragment.indices)
    } else {
      if half.isOpen { emit(.problem(key, "the rest of a fragmented payload is missing")) }
      half.pending = Array(fragment)
      half.places = [fragment.indices]
      (half.isOpen, half.hasBegun) = (true, true)
      emit(.header(fragment.prefix(4).indices))
    }
    guard half.pending.count >= 4 else { return }
    let whole = half.pending.u16(at: 0, .little) + 4
    if half.pending.count < whole { return }
    let (payload, places) = (half.pending, half.places)
    (half.pending, half.isOpen) = ([], false)
    if payload.count > whole { emit(.problem(key, "fragments longer than their payload")) }
    let channel = payload.u16(at: 2, .little)
    // L2CAP signals and RFCOMM control frames contain channel numbers and sizes, but nothing that identifies a device.
    for place in places.part(0..<(channel == 1 ? whole : 4)) { emit(.header(place)) }
    // The state of this direction must be stored before the next call, which uses the stored state.
    connections[key, default: Connection()].halves[side] = half
    readPayload(payload[4..<whole], of: channel, key, isReceived: isReceived, places, emit)
    half = connections[key, default: Connection()].halves[side]
  }

  // MARK: Payloads

  private mutating func readPayload(
    _ bytes: ArraySlice<UInt8>, of channel: Int, _ key: ConnectionKey, isReceived: Bool, _ places: [Range<Int>],
    _ emit: (StreamEvent) -> Void
  ) {
    if channel == 1 { return readSignals(bytes, key, isReceived: isReceived) }
    guard channel >= 0x40 else { return }
    let side = isReceived ? 1 : 0
    let isRFCOMM = connections[key]?.halves[side].isRFCOMM[channel]
    if isRFCOMM == false { return }
    guard let frame = RFCOMMFrame(bytes) else {
      if isRFCOMM == true { emit(.problem(key, "\(bytes.count.counted("byte")) that are not an RFCOMM frame")) }
      return
    }
    guard frame.isIntact else {
      if isRFCOMM == true {
        emit(.problem(key, "an RFCOMM frame with a wrong checksum, \(frame.information.count.counted("byte"))"))
      }
      return
    }
    if isRFCOMM == nil { set(true, of: channel, key, side) }
    let link = key.with(channel: frame.link)
    let secret = frame.link == 0 ? bytes.endIndex..<bytes.endIndex : frame.information.indices
    for part in [bytes.startIndex..<secret.lowerBound, secret.upperBound..<bytes.endIndex] {
      for place in places.part(part) { emit(.header(place)) }
    }
    switch frame.kind {
    case .information where frame.link != 0:
      if !frame.information.isEmpty {
        let stream = StreamKey(connection: link, isReceived: isReceived)
        emit(.bytes(stream, frame.information, at: places.part(frame.information.indices)))
      }
    case .connect, .disconnect, .refuse: emit(.over(link, wholePlace: frame.link == 0))
    case .accept, .information: return
    }
  }

  /// Reads L2CAP signals to learn which channels carry RFCOMM.
  private mutating func readSignals(_ bytes: ArraySlice<UInt8>, _ key: ConnectionKey, isReceived: Bool) {
    var rest = bytes
    while rest.count >= 4 {
      let code = rest[rest.startIndex]
      let identifier = Int(rest[rest.startIndex + 1])
      let count = rest.u16(at: 2, .little)
      let data = rest.dropFirst(4).prefix(count)
      guard data.count == count else { return }
      rest = rest.dropFirst(4 + count)
      switch code {
      case 2 where count >= 4:
        connections[key]?.requests[identifier] = (
          data.u16(at: 0, .little) == 3, data.u16(at: 2, .little), isReceived
        )
      case 3 where count >= 8:
        guard let request = connections[key]?.requests[identifier], request.isReceived != isReceived,
          data.u16(at: 4, .little) == 0
        else { continue }
        connections[key]?.requests[identifier] = nil
        // Packets from the requester carry the responder's channel number, and packets from the responder carry the
        // requester's.
        set(request.isRFCOMM, of: data.u16(at: 0, .little), key, isReceived ? 0 : 1)
        set(request.isRFCOMM, of: data.u16(at: 2, .little), key, isReceived ? 1 : 0)
      default: continue
      }
    }
  }

  private mutating func set(_ isRFCOMM: Bool, of channel: Int, _ key: ConnectionKey, _ side: Int) {
    guard var half = connections[key]?.halves[side] else { return }
    if half.isRFCOMM.count >= Self.mostChannels { half.isRFCOMM = [:] }
    half.isRFCOMM[channel] = isRFCOMM
    connections[key]?.halves[side] = half
  }
}

/// An RFCOMM frame (RFCOMM is a subset of 3GPP 07.10).
///
/// ```
///  0  1    address: 1, command/response, six bits of channel (direction, number)
///  1  1    control: SABM 2F, UA 63, DM 0F, DISC 43, UIH EF; bit 4 is poll/final
///  2  1-2  length of the information, shifted by one
///     0-1  credits, in a UIH frame with poll/final
///     n    information
///     1    checksum of the first two bytes, or of the first three where it is not UIH
/// ```
struct RFCOMMFrame {
  enum Kind: UInt8 {
    case connect = 0x2F
    case accept = 0x63
    case refuse = 0x0F
    case disconnect = 0x43
    case information = 0xEF
  }

  var kind: Kind
  /// The data link, in six bits: the server channel and a direction bit.
  var link: Int
  var information: ArraySlice<UInt8>
  var isIntact: Bool

  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count >= 4 else { return nil }
    let first = bytes.startIndex
    let address = bytes[first]
    guard address & 1 == 1, let kind = Kind(rawValue: bytes[first + 1] & ~0x10) else { return nil }
    var header = 3
    var length = Int(bytes[first + 2] >> 1)
    if bytes[first + 2] & 1 == 0 {
      guard bytes.count >= 5 else { return nil }
      length |= Int(bytes[first + 3]) << 7
      header = 4
    }
    link = Int(address >> 2)
    // Channel 0 controls the other channels and has no credits.
    let hasCredits = kind == .information && bytes[first + 1] & 0x10 != 0 && link != 0
    if hasCredits { header += 1 }
    guard bytes.count == header + length + 1 else { return nil }
    self.kind = kind
    information = bytes[first + header..<first + header + length]
    let covered = bytes[first..<first + (kind == .information ? 2 : 3)]
    isIntact = Self.checksum(covered) == bytes[bytes.endIndex - 1]
  }

  /// Computes the checksum that 3GPP 07.10 defines, using the reflected polynomial x⁸+x²+x+1.
  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt8 {
    var value: UInt8 = 0xFF
    for byte in bytes {
      value ^= byte
      for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xE0 : value >> 1 }
    }
    return 0xFF - value
  }
}

extension [Range<Int>] {
  /// Returns the positions of part of a payload whose fragments are at these positions.
  func part(_ part: Range<Int>) -> [Range<Int>] {
    var start = 0
    return compactMap { fragment in
      defer { start += fragment.count }
      let found = part.clamped(to: start..<start + fragment.count)
      guard !found.isEmpty else { return nil }
      return fragment.lowerBound + found.lowerBound - start..<fragment.lowerBound + found.upperBound - start
    }
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
