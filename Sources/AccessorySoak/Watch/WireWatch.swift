import AccessoryCore
import AccessorySessions
import AccessoryTransports
import AccessoryWorlds
import IAP2

/// A channel around one end of a world's cable that observes it for the watches and changes nothing.
final class WireWatch: Channel, ChannelHandler {
  private let inner: any Channel
  private let place: CableEnd
  private let loop: any EventLoop
  private let record: SoakRecord
  private var handler: (any ChannelHandler)?

  private var window: WindowWatch
  private var phase = PhaseWatch()
  private var sending = PacketScanner()
  private var receiving: PacketScanner

  /// `maximumLength` is the longest packet that this end accepts; a longer one is not a packet for it.
  init(
    around inner: any Channel, at place: CableEnd, maximumLength: UInt16, _ record: SoakRecord,
    on loop: any EventLoop
  ) {
    // As a peer does it, so that both find the same packets.
    receiving = PacketScanner(maximumLength: max(maximumLength, 128))
    self.inner = inner
    self.place = place
    self.record = record
    self.loop = loop
    window = WindowWatch(end: place.end)
    record.leaks.watch(inner, "channel of cable", place.cable)
  }

  var keepsTransfersApart: Bool { inner.keepsTransfersApart }
  var longestTransfer: Int? { inner.longestTransfer }

  func start(_ handler: any ChannelHandler) {
    self.handler = handler
    record.leaks.watch(handler, "connection of cable", place.cable)
    inner.start(self)
  }

  func send(_ bytes: RawSpan) -> Int {
    let taken = inner.send(bytes)
    if taken > 0 { sent(bytes.extracting(0..<taken)) }
    return taken
  }

  func pauseReading() { inner.pauseReading() }
  func resumeReading() { inner.resumeReading() }

  func close() {
    if handler != nil { finish() }
    handler = nil
    inner.close()
  }

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    note(bytes, 1)
    var offset = 0
    while let piece = receiving.next(in: bytes, at: &offset) {
      switch piece {
      case .packet(let header, .input(let range)): received(header, packet: bytes.extracting(range))
      case .packet(let header, .carry(let range)):
        let carry = receiving.lendCarry()
        carry.with(range) { received(header, packet: $0) }
        receiving.returnCarry(carry)
      case .detection: phase.sawDetection()
      case .spoiled, .legacy, .skipped: break
      }
    }
    handler?.channel(self, received: bytes)
  }

  func channelIsWritable(_ channel: any Channel) { handler?.channelIsWritable(self) }

  func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    if case .lost = end, place.end == .device { record.coverage[phase.phase.corner] += 1 }
    finish()
    let told = handler
    handler = nil
    told?.channel(self, endedWith: end)
  }

  // MARK: Observing

  private func note(_ bytes: RawSpan, _ direction: UInt64) {
    record.hash.add(UInt64(bitPattern: loop.now.nanoseconds) << 2 | direction << 1 | (place.end == .device ? 1 : 0))
    record.hash.add(bytes)
  }

  private func sent(_ bytes: RawSpan) {
    note(bytes, 0)
    var offset = 0
    while let piece = sending.next(in: bytes, at: &offset) {
      switch piece {
      case .packet(let header, .input(let range)): sent(header, packet: bytes.extracting(range))
      case .packet(let header, .carry(let range)):
        let carry = sending.lendCarry()
        carry.with(range) { sent(header, packet: $0) }
        sending.returnCarry(carry)
      case .detection: phase.sawDetection()
      case .legacy: break
      case .spoiled(let header, _): complain(.packets, "sent packet \(header.sequence) with a wrong checksum")
      case .skipped(let skipped): complain(.packets, "sent \(skipped)")
      }
    }
  }

  private func sent(_ header: PacketHeader, packet: RawSpan) {
    let payload = packet.extracting(PacketHeader.size..<PacketHeader.size + header.payloadCount)
    phase.saw(header, payload: payload)
    if let wrong = window.sent(header, payload: payload) { complain(wrong.rule, wrong.text) }
    if header.control.contains(.rst) { record.coverage[.resetByDevice] += 1 }
  }

  private func received(_ header: PacketHeader, packet: RawSpan) {
    let payload = packet.extracting(PacketHeader.size..<PacketHeader.size + header.payloadCount)
    phase.saw(header, payload: payload)
    window.received(header, payload: payload)
  }

  private func complain(_ rule: SoakRule, _ what: String) {
    record.violation(rule, "cable \(place.cable): the \(place.end) \(what)", at: loop.now)
  }

  /// For coverage only: the counters of the link.
  private func finish() {
    record.coverage[.zeroAcknowledgementLink] += window.linksWithoutAcknowledgements
    if let connection = handler as? Connection<DeviceRole> {
      record.coverage.add(connection.inspect { $0.core.counters })
    } else if let connection = handler as? Connection<AccessoryRole> {
      record.coverage.add(connection.inspect { $0.core.counters })
    }
  }
}
