import AccessoryCore
import AccessorySessions
import AccessoryWorlds
import IAP2

/// Observes one end of a world's cable for the watches.
final class WireWatch: CableWitness {
  private let place: CableEnd
  private let loop: any EventLoop
  private let record: SoakRecord
  private weak var owner: (any ChannelHandler)?

  private var window: WindowWatch
  private var phase = PhaseWatch()
  private var sending = PacketScanner()
  private var receiving: PacketScanner

  private init(at place: CableEnd, maximumLength: UInt16, _ record: SoakRecord, on loop: any EventLoop) {
    // As a peer does it, so that both find the same packets.
    receiving = PacketScanner(maximumLength: max(maximumLength, 128))
    (self.place, self.record, self.loop) = (place, record, loop)
    window = WindowWatch(end: place.end)
  }

  /// A channel that is observed. `maximumLength` is the longest packet that this end accepts; a longer one is not a packet
  /// for it.
  static func watch(
    _ channel: any Channel, at place: CableEnd, maximumLength: UInt16, _ record: SoakRecord, on loop: any EventLoop
  ) -> any Channel {
    record.leaks.watch(channel, "channel of cable", place.cable)
    let watch = WireWatch(at: place, maximumLength: maximumLength, record, on: loop)
    return WitnessedChannel(channel, at: place.end, by: watch, on: loop)
  }

  func began(_ owner: any ChannelHandler) {
    self.owner = owner
    record.leaks.watch(owner, "connection of cable", place.cable)
  }

  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant) {
    let isSent = end == place.end
    record.hash.add(
      UInt64(bitPattern: time.nanoseconds) << 2 | (isSent ? 0 : 2) | (place.end == .device ? 1 : 0))
    record.hash.add(bytes)
    if isSent { sending.forEach(in: bytes, sent) } else { receiving.forEach(in: bytes, received) }
  }

  func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant) {
    if case .lost? = reason, place.end == .device { record.coverage[phase.phase.corner] += 1 }
    finish()
  }

  // MARK: Observing

  private func sent(_ piece: PacketScanner.Piece, _ packet: RawSpan) {
    switch piece {
    case .packet(let header, _):
      let payload = packet.extracting(PacketHeader.size..<PacketHeader.size + header.payloadCount)
      phase.saw(header, payload: payload)
      if let wrong = window.sent(header, payload: payload) { complain(wrong.rule, wrong.text) }
      if header.control.contains(.rst) { record.coverage[.resetByDevice] += 1 }
    case .detection: phase.sawDetection()
    case .legacy: break
    case .spoiled(let header, _): complain(.packets, "sent packet \(header.sequence) with a wrong checksum")
    case .skipped(let skipped): complain(.packets, "sent \(skipped)")
    }
  }

  private func received(_ piece: PacketScanner.Piece, _ packet: RawSpan) {
    switch piece {
    case .packet(let header, _):
      let payload = packet.extracting(PacketHeader.size..<PacketHeader.size + header.payloadCount)
      phase.saw(header, payload: payload)
      window.received(header, payload: payload)
    case .detection: phase.sawDetection()
    case .spoiled, .legacy, .skipped: break
    }
  }

  private func complain(_ rule: SoakRule, _ what: String) {
    record.violation(rule, "cable \(place.cable): the \(place.end) \(what)", at: loop.now)
  }

  /// For coverage only: the counters of the link.
  private func finish() {
    record.coverage[.zeroAcknowledgementLink] += window.linksWithoutAcknowledgements
    if let connection = owner as? Connection<DeviceRole> {
      record.coverage.add(connection.inspect { $0.core.counters })
    } else if let connection = owner as? Connection<AccessoryRole> {
      record.coverage.add(connection.inspect { $0.core.counters })
    }
  }
}
