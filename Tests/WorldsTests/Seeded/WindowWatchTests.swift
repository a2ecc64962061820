import AccessoryCore
import AccessoryFaults
import IAP2
import Testing

@testable import AccessorySoak

/// Checks that the watch on the cable reports each mistake that it detects, and nothing else.
@Suite struct WindowWatchTests {
  /// Watches one side of an established link. This side's SYN had number 10. The peer's SYN had number 50, and the peer
  /// accepts two packets of 40 bytes.
  private func linkThatIsUp(at end: Cable.End = .accessory) -> WindowWatch {
    var watch = WindowWatch(end: end)
    let own = LinkParameters().encoded
    let other = LinkParameters(maximumOutstandingPackets: 2, maximumPacketLength: 40).encoded
    switch end {
    case .accessory:
      #expect(watch.sent(syn(10), payload: own.span.bytes) == nil)
      watch.received(syn(50, acknowledging: 10), payload: other.span.bytes)
    case .device:
      watch.received(syn(50), payload: other.span.bytes)
      #expect(watch.sent(syn(10, acknowledging: 50), payload: own.span.bytes) == nil)
    }
    return watch
  }

  private func syn(_ sequence: UInt8, acknowledging: UInt8? = nil) -> PacketHeader {
    PacketHeader(
      control: acknowledging == nil ? .syn : [.syn, .ack], sequence: sequence, acknowledgement: acknowledging ?? 0,
      payloadCount: LinkParameters().encoded.count)
  }

  private func send(_ sequence: UInt8, ack: UInt8 = 50, bytes: Int = 20, _ watch: inout WindowWatch) -> String? {
    let payload = [UInt8](repeating: 1, count: bytes)
    let header = PacketHeader(
      control: .ack, sequence: sequence, acknowledgement: ack, session: 2, payloadCount: bytes)
    return watch.sent(header, payload: payload.span.bytes)?.text
  }

  private func receive(_ sequence: UInt8, ack: UInt8 = 10, bytes: Int = 20, _ watch: inout WindowWatch) {
    let payload = [UInt8](repeating: 1, count: bytes)
    watch.received(
      PacketHeader(control: .ack, sequence: sequence, acknowledgement: ack, session: 2, payloadCount: bytes),
      payload: payload.span.bytes)
  }

  @Test(arguments: [Cable.End.accessory, .device]) func aWindowThatIsKeptIsNoComplaint(end: Cable.End) {
    var watch = linkThatIsUp(at: end)
    for sequence in UInt8(11)...200 {
      #expect(send(sequence, &watch) == nil)
      if sequence.isMultiple(of: 2) { receive(51, ack: sequence, bytes: 0, &watch) }
    }
  }

  @Test func onePacketTooManyIsNoticed() {
    var watch = linkThatIsUp()
    #expect(send(11, &watch) == nil)
    #expect(send(12, &watch) == nil)
    #expect(send(13, &watch) == "has packets 11 to 13 unacknowledged; the other end accepts 2")
  }

  @Test func aPacketSentAgainTakesNoRoom() {
    var watch = linkThatIsUp()
    for sequence: UInt8 in [11, 12, 11, 12] { #expect(send(sequence, &watch) == nil) }
  }

  @Test func anAcknowledgementOfWhatWasNeverSentOpensNoWindow() {
    var watch = linkThatIsUp()
    for sequence: UInt8 in [11, 12] { #expect(send(sequence, &watch) == nil) }
    receive(51, ack: 13, &watch)
    #expect(send(13, ack: 51, &watch) != nil)
  }

  @Test func aPacketThatIsTooLongIsNoticed() {
    var watch = linkThatIsUp()
    #expect(send(11, bytes: 30, &watch) == nil)
    #expect(send(12, bytes: 31, &watch) == "sent a packet of 41 bytes; the other end accepts 40")
  }

  @Test func aNumberLeftOutIsNoticedOnce() {
    var watch = linkThatIsUp()
    #expect(send(12, &watch) == "sent packet 12 after packet 10")
    receive(51, ack: 12, bytes: 0, &watch)
    #expect(send(13, &watch) == nil)
  }

  @Test func anAcknowledgementOfWhatDidNotArriveIsNoticed() {
    var watch = linkThatIsUp()
    receive(51, &watch)
    #expect(send(11, ack: 51, &watch) == nil)
    receive(53, &watch)
    #expect(send(12, ack: 53, &watch) == "acknowledged packet 53, but only 51 had arrived in order")
  }

  @Test func whatCameAheadOfAGapMayBeAcknowledgedOnceTheGapIsFilled() {
    var watch = linkThatIsUp()
    for sequence: UInt8 in [52, 53, 53, 51, 51] { receive(sequence, &watch) }
    #expect(send(11, ack: 53, &watch) == nil)
    #expect(send(12, ack: 54, &watch) != nil)
  }

  @Test func dataBeforeTheLinkIsUpIsNoticed() {
    var watch = WindowWatch(end: .accessory)
    #expect(send(11, &watch) == "sent a packet (ACK) before the link was synchronized")
    watch = WindowWatch(end: .device)
    #expect(
      watch.sent(syn(10, acknowledging: 50), payload: LinkParameters().encoded.span.bytes)?.text
        == "answered a SYN with number 50, which never arrived")
  }
}
