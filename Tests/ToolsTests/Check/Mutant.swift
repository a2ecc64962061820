import AccessoryCore
import IAP2

struct Mutant: Sendable {
  struct Packet {
    var bytes: [UInt8]
    /// The packet's header, or nil if this is a detection sequence or bytes that are not a packet.
    var header: PacketHeader?
    var number: Int

    var payload: [UInt8] {
      guard let header, header.payloadCount > 0 else { return [] }
      return Array(bytes[9..<9 + header.payloadCount])
    }

    var isDetection: Bool { bytes == PacketWriter.detection }
    var isSYN: Bool { header?.control.contains(.syn) ?? false }
    var isData: Bool { !isSYN && (header?.payloadCount ?? 0) > 0 }
    var isBare: Bool { header != nil && header?.payloadCount == 0 }
    var message: UInt16? {
      let payload = payload
      guard payload.count >= 6, payload[0] == 0x40, payload[1] == 0x40 else { return nil }
      return UInt16(payload[4]) << 8 | UInt16(payload[5])
    }

    var unknownMessage: [UInt8] {
      var payload = payload
      (payload[4], payload[5]) = (0x77, 0x77)
      return with(payload: payload)
    }

    func with(payload: [UInt8]) -> [UInt8] {
      guard let header else { return bytes }
      let other = PacketHeader(
        control: header.control, sequence: header.sequence, acknowledgement: header.acknowledgement,
        session: header.session, payloadCount: payload.count)
      return PacketWriter.packet(other, payload: payload)
    }

    func with(header change: (inout [UInt8]) -> Void) -> [UInt8] {
      var bytes = bytes
      change(&bytes)
      bytes[8] = 0
      bytes[8] = 0 &- bytes[..<9].reduce(0, &+)
      return bytes
    }
  }

  var sends: @Sendable (Packet, State) -> [[UInt8]] = { packet, _ in [packet.bytes] }
  var receives: @Sendable (Packet, State) -> [[UInt8]] = { packet, _ in [packet.bytes] }

  /// Replaces one chunk of the bytes that arrive at the accessory. A chunk need not begin or end with a packet.
  var receivesBytes: (@Sendable ([UInt8], State) -> [[UInt8]])?

  final class State {
    var count = 0
    var kept: [UInt8] = []
    var seen: Set<UInt8> = []
  }
}

final class MutantChannel: Channel, ChannelHandler {
  private let inner: any Channel
  private let mutant: Mutant
  private let (outState, inState) = (Mutant.State(), Mutant.State())
  private var outScanner = PacketScanner()
  private var inScanner = PacketScanner()
  private var counts = (out: 0, in: 0)
  private var handler: (any ChannelHandler)?

  init(_ inner: any Channel, _ mutant: Mutant) { (self.inner, self.mutant) = (inner, mutant) }

  var keepsTransfersApart: Bool { inner.keepsTransfersApart }

  func start(_ handler: any ChannelHandler) {
    self.handler = handler
    inner.start(self)
  }

  func send(_ bytes: RawSpan) -> Int {
    let all = bytes.withUnsafeBytes { [UInt8]($0) }
    for bytes in Self.pieces(all, &outScanner) {
      let packet = Self.packet(bytes, counts.out)
      counts.out += 1
      for piece in mutant.sends(packet, outState) { _ = inner.send(piece.span.bytes) }
    }
    return bytes.byteCount
  }

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    let all = bytes.withUnsafeBytes { [UInt8]($0) }
    if let receivesBytes = mutant.receivesBytes {
      for piece in receivesBytes(all, inState) { handler?.channel(self, received: piece.span.bytes) }
      return
    }
    for bytes in Self.pieces(all, &inScanner) {
      let packet = Self.packet(bytes, counts.in)
      counts.in += 1
      for piece in mutant.receives(packet, inState) { handler?.channel(self, received: piece.span.bytes) }
    }
  }

  func pauseReading() { inner.pauseReading() }
  func resumeReading() { inner.resumeReading() }
  func close() { inner.close() }
  func channelIsWritable(_ channel: any Channel) { handler?.channelIsWritable(self) }
  func channel(_ channel: any Channel, endedWith end: ChannelEnd) { handler?.channel(self, endedWith: end) }

  private static func packet(_ bytes: [UInt8], _ number: Int) -> Mutant.Packet {
    var scanner = PacketScanner()
    var offset = 0
    if case .packet(let header, _)? = scanner.next(in: bytes.span.bytes, at: &offset) {
      return Mutant.Packet(bytes: bytes, header: header, number: number)
    }
    return Mutant.Packet(bytes: bytes, header: nil, number: number)
  }

  private static func pieces(_ bytes: [UInt8], _ scanner: inout PacketScanner) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var offset = 0
    while let piece = scanner.next(in: bytes.span.bytes, at: &offset) {
      switch piece {
      case .packet(_, .input(let range)), .spoiled(_, .input(let range)), .legacy(.input(let range)):
        pieces.append(Array(bytes[range]))
      case .packet(_, .carry(let range)), .spoiled(_, .carry(let range)), .legacy(.carry(let range)):
        let lent = scanner.lendCarry()
        pieces.append(lent.with(range) { span in span.withUnsafeBytes { Array($0) } })
        scanner.returnCarry(lent)
      case .detection: pieces.append(PacketWriter.detection)
      case .skipped(let skipped): pieces.append(skipped.sample)
      }
    }
    return pieces
  }
}
