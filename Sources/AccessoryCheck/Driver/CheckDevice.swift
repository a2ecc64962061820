import AccessoryCore
import AccessoryFormats
import IAP2

/// The Apple device's side of an attachment. A case controls what the device does.
///
/// By default, the device behaves like an Apple device: it answers detection, copies the accessory's values into its
/// SYN+ACK, acknowledges each packet, and retransmits packets that the accessory does not acknowledge. A case can use
/// ``Configuration`` to change the device's behavior, and can send any packets. Unlike `DevicePeer`, a `CheckDevice`
/// never gives up, no matter what the accessory does, and it records everything.
final class CheckDevice {
  struct Configuration {
    /// The limits in the device's SYN+ACK: how many packets can be outstanding, and how long a packet can be.
    var window: UInt8 = 127
    var packetLength: UInt16 = 65_535
    var initialSequence: UInt8 = 0x1D
    var answersDetection = true
    var answersSynchronization = true
    var acknowledges = true
    var repeats = true
    /// Modifies the SYN+ACK. The SYN+ACK initially contains the accessory's values.
    var alters: (inout LinkParameters) -> Void = { _ in }
    var detectionAnswer: [UInt8] = PacketWriter.detection
    /// Returns true for packets from the accessory that the device treats as lost.
    var loses: (WirePacket) -> Bool = { _ in false }
  }

  typealias Configuring = (inout Configuration) -> Void

  enum Phase { case waiting, answering, up }

  struct Received {
    let message: ControlMessage
    let packet: Int
    let time: Instant
  }

  private struct Unacknowledged {
    let sequence: UInt8
    var bytes: [UInt8]
    var sentAt: Instant
  }

  let line: CheckLine
  let pump: CheckPump
  var configuration = Configuration()
  private(set) var phase = Phase.waiting
  /// The parameters in the accessory's SYN, and the index of the SYN's packet.
  private(set) var offer: LinkParameters?
  private(set) var offerPacket: Int?
  private(set) var offerError: LinkParametersError?
  private(set) var answer = LinkParameters()
  private(set) var lastSent: UInt8 = 0
  private(set) var lastInOrder: UInt8 = 0
  private(set) var messages: [Received] = []
  /// Framing errors in control messages, each with the index of its packet.
  private(set) var framingProblems: [(text: String, packet: Int)] = []
  private(set) var data: [UInt16: [UInt8]] = [:]
  private(set) var dataPackets: [UInt16: [Int]] = [:]
  /// The indices of packets whose payload is for an undeclared link session, or is too short to contain an EA session
  /// ID.
  private(set) var strays: [Int] = []
  private var unacknowledged: [Unacknowledged] = []
  private var ahead: [UInt8: WirePacket] = [:]
  private var control: [UInt8] = []
  private var timer: LoopTimer?

  init(_ line: CheckLine, _ pump: CheckPump, _ configure: Configuring) {
    (self.line, self.pump) = (line, pump)
    configure(&configuration)
    lastSent = configuration.initialSequence
    timer = pump.loop.makeTimer { [unowned self] in repeatExpired() }
    line.onEvent = { [unowned self] in handle($0) }
  }

  deinit { timer?.cancel() }

  var isZeroAcknowledgement: Bool { answer.isZeroAcknowledgement }
  var controlSession: UInt8 { offer?.sessions.first { $0.kind == .control }?.id ?? 1 }
  var dataSession: UInt8? { offer?.sessions.first { $0.kind == .externalAccessory }?.id }
  var fileSession: UInt8? { offer?.sessions.first { $0.kind == .fileTransfer }?.id }
  var inFlight: Int { unacknowledged.count }
  var retransmissionTimeout: Duration { .milliseconds(Int64(answer.retransmissionTimeout)) }
  var acknowledgementTimeout: Duration { .milliseconds(Int64(answer.cumulativeAcknowledgementTimeout)) }
  var record: [WirePacket] { line.record }

  func wait(within limit: Duration, until condition: () -> Bool) throws -> Bool {
    _ = try pump.wait(within: limit) { condition() || !line.isOpen }
    return condition()
  }

  // MARK: Receiving

  private func handle(_ packet: WirePacket) {
    if configuration.loses(packet) { return line.remark(packet.index, "treated as lost on purpose") }
    switch packet.kind {
    case .detection:
      if configuration.answersDetection, phase != .up { line.send(configuration.detectionAnswer, as: .detection) }
    case .packet(let header): handle(packet, header)
    case .spoiled, .legacy, .garbage, .raw: break
    }
  }

  private func handle(_ packet: WirePacket, _ header: PacketHeader) {
    if header.control.contains(.syn) { return receiveOffer(packet, header) }
    if phase == .answering, header.control.contains(.ack), header.acknowledgement == lastSent { phase = .up }
    guard phase == .up else { return }
    if header.control.contains(.ack) { acknowledged(upTo: header.acknowledgement) }
    guard packet.isData else { return }
    if isZeroAcknowledgement { return deliver(packet, header) }
    let distance = header.sequence &- lastInOrder &- 1
    if distance == 0 {
      lastInOrder = header.sequence
      deliver(packet, header)
      while let next = ahead.removeValue(forKey: lastInOrder &+ 1), let header = next.header {
        lastInOrder = header.sequence
        deliver(next, header)
      }
    } else if distance < 127 {
      ahead[header.sequence] = packet
      return
    }
    if configuration.acknowledges { acknowledge() }
  }

  private func receiveOffer(_ packet: WirePacket, _ header: PacketHeader) {
    let payload = Array(packet.payload)
    do throws(LinkParametersError) {
      offer = try LinkParameters(reading: payload.span.bytes)
      (offerPacket, offerError) = (packet.index, nil)
    } catch {
      if offerPacket == nil { (offerPacket, offerError) = (packet.index, error) }
      return
    }
    if phase == .up, header.sequence == synchronizedSequence { return }
    guard configuration.answersSynchronization else { return }
    adoptOffer()
    sendAnswer()
  }

  private func adoptOffer() {
    if let offer, let index = offerPacket, let header = record[index].header,
      phase != .answering || synchronizedSequence != header.sequence
    {
      synchronizedSequence = header.sequence
      forgetLink()
      lastInOrder = header.sequence
      answer = offer
      answer.version = 1
      answer.maximumOutstandingPackets = configuration.window
      answer.maximumPacketLength = configuration.packetLength
      configuration.alters(&answer)
      phase = .answering
    }
  }

  private var answerHeader: PacketHeader {
    PacketHeader(
      control: [.syn, .ack], sequence: lastSent, acknowledgement: lastInOrder, payloadCount: answer.encoded.count)
  }

  func answerSlowly() throws {
    adoptOffer()
    let bytes = PacketWriter.packet(answerHeader, payload: answer.encoded)
    try sendSlowly(bytes, .packet(answerHeader), cuts: Array(1..<bytes.count))
  }

  private var synchronizedSequence: UInt8?

  /// Sends the SYN+ACK. Sending the SYN+ACK a second time simulates the loss of the accessory's acknowledgement.
  func sendAnswer(remark: String = "") { line.send(answerHeader, payload: answer.encoded, remark: remark) }

  private var isSendingSlowly = false

  func sendSlowly(_ bytes: [UInt8], _ kind: WirePacket.Kind, cuts: [Int]) throws {
    line.write(bytes, as: kind)
    isSendingSlowly = true
    defer {
      isSendingSlowly = false
      for index in unacknowledged.indices { unacknowledged[index].sentAt = pump.loop.now }
      armTimer()
    }
    var from = 0
    for cut in cuts + [bytes.count] where cut > from {
      line.push(Array(bytes[from..<cut]))
      from = cut
      try pump.pause(.milliseconds(1))
    }
  }

  private func forgetLink() {
    (unacknowledged, ahead, control) = ([], [:], [])
    timer?.cancel()
  }

  private func acknowledged(upTo number: UInt8) {
    guard let index = unacknowledged.lastIndex(where: { $0.sequence == number }) else { return }
    unacknowledged.removeFirst(index + 1)
    armTimer()
  }

  private func deliver(_ packet: WirePacket, _ header: PacketHeader) {
    let payload = packet.payload
    if header.session == controlSession {
      control += payload
      cutMessages(packet)
    } else if let dataSession, header.session == dataSession, payload.count >= 2 {
      let first = payload.startIndex
      let id = UInt16(payload[first]) << 8 | UInt16(payload[first + 1])
      data[id, default: []] += payload.dropFirst(2)
      dataPackets[id, default: []].append(packet.index)
    } else {
      strays.append(packet.index)
    }
  }

  private func cutMessages(_ packet: WirePacket) {
    while control.count >= ControlMessage.headerSize {
      let length = Int(control[2]) << 8 | Int(control[3])
      guard control[0] == 0x40, control[1] == 0x40, length >= ControlMessage.headerSize else {
        framingProblems.append(("it does not begin with 40 40 and its length", packet.index))
        control = []
        return
      }
      guard control.count >= length else { return }
      let id = MessageID(rawValue: UInt16(control[4]) << 8 | UInt16(control[5]))
      let message = ControlMessage(id, body: Array(control[ControlMessage.headerSize..<length]))
      control.removeFirst(length)
      if control.count > 0 { framingProblems.append(("a second message follows in the same packet", packet.index)) }
      messages.append(Received(message: message, packet: packet.index, time: packet.time))
    }
  }

  // MARK: Sending

  func acknowledge() {
    guard phase == .up, !isZeroAcknowledgement else { return }
    line.send(PacketHeader(control: .ack, sequence: lastSent, acknowledgement: lastInOrder))
  }

  enum Delivery: Equatable {
    case whole
    /// The packet is lost. The device retransmits the packet after a timeout or when ``repeatAll()`` is called.
    case lost
    case twice
    case corruptPayload
    case corruptHeader
    /// The packet is split at these offsets and written piece by piece.
    case cut([Int])
    /// The packet is held back until ``releaseGlued(order:)`` is called.
    case held
  }

  private var held: [(bytes: [UInt8], kind: WirePacket.Kind)] = []

  /// Sends a payload as the next packet, after waiting if the accessory's window is full.
  @discardableResult
  func send(
    _ payload: [UInt8], session: UInt8, _ delivery: Delivery = .whole, patience: Duration = .seconds(30)
  ) throws
    -> UInt8
  {
    let window = max(1, Int(offer?.maximumOutstandingPackets ?? 1))
    if !isZeroAcknowledgement, unacknowledged.count >= window {
      guard try wait(within: patience, until: { unacknowledged.count < window }) else {
        throw CheckSkip(
          "the accessory acknowledged none of \(inFlight) packets within \(DurationText.format(patience))")
      }
    }
    lastSent &+= 1
    let header = PacketHeader(
      control: .ack, sequence: lastSent, acknowledgement: isZeroAcknowledgement ? 0 : lastInOrder, session: session,
      payloadCount: payload.count)
    let bytes = PacketWriter.packet(header, payload: payload)
    if !isZeroAcknowledgement {
      unacknowledged.append(Unacknowledged(sequence: lastSent, bytes: bytes, sentAt: pump.loop.now))
      armTimer()
    }
    try pass(bytes, header, delivery)
    return lastSent
  }

  private func pass(_ bytes: [UInt8], _ header: PacketHeader, _ delivery: Delivery) throws {
    switch delivery {
    case .whole: line.send(bytes, as: .packet(header))
    case .lost: line.write(bytes, as: .packet(header), remark: "lost on purpose")
    case .twice:
      line.send(bytes, as: .packet(header))
      line.send(bytes, as: .packet(header), remark: "sent twice on purpose")
    case .corruptPayload:
      var bytes = bytes
      bytes[PacketHeader.size + header.payloadCount / 2] ^= 0x10
      line.send(bytes, as: .spoiled(header), remark: "one bit flipped on purpose")
    case .corruptHeader:
      var bytes = bytes
      bytes[5] ^= 0x01
      line.send(bytes, remark: "one bit of the header flipped on purpose")
    case .cut(let cuts): try sendSlowly(bytes, .packet(header), cuts: cuts)
    case .held: held.append((bytes, .packet(header)))
    }
  }

  /// Sends all held packets in a single write. Packets are sent in the given order, or by default in the order they
  /// were held back.
  func releaseGlued(order: [Int]? = nil) {
    let packets = held
    held = []
    line.sendGlued((order ?? Array(packets.indices)).map { packets[$0] })
  }

  @discardableResult
  func send(_ message: ControlMessage, _ delivery: Delivery = .whole) throws -> UInt8 {
    try send(message.encoded, session: controlSession, delivery)
  }

  @discardableResult
  func send(_ bytes: [UInt8], on id: UInt16, _ delivery: Delivery = .whole) throws -> UInt8 {
    guard let dataSession else { throw CheckSkip("the accessory's SYN has no External Accessory session") }
    return try send([UInt8(id >> 8), UInt8(truncatingIfNeeded: id)] + bytes, session: dataSession, delivery)
  }

  /// Resets the link, as an Apple device does when it gives up on the link.
  func reset() {
    line.send(PacketHeader(control: .rst, sequence: lastSent, acknowledgement: lastInOrder))
    forgetLink()
    lastSent &+= 0x40
    synchronizedSequence = nil
    phase = .waiting
  }

  func repeatAll() {
    for index in unacknowledged.indices { again(index) }
    armTimer()
  }

  private func repeatExpired() {
    guard configuration.repeats, !isSendingSlowly else {
      timer?.arm(at: pump.loop.now + .milliseconds(20))
      return
    }
    let limit = max(.milliseconds(20), retransmissionTimeout)
    for index in unacknowledged.indices where unacknowledged[index].sentAt + limit <= pump.loop.now { again(index) }
    armTimer()
  }

  private func again(_ index: Int) {
    unacknowledged[index].sentAt = pump.loop.now
    var bytes = unacknowledged[index].bytes
    bytes[8] = bytes[8] &+ bytes[6] &- lastInOrder
    bytes[6] = lastInOrder
    unacknowledged[index].bytes = bytes
    let old = unacknowledged[index].sequence
    let header = PacketHeader(
      control: .ack, sequence: old, acknowledgement: lastInOrder, session: bytes[7],
      payloadCount: bytes.count - PacketHeader.overhead)
    line.send(bytes, as: .packet(header), remark: Self.sentAgain)
  }

  /// Marks packets that the device retransmitted because the accessory had not acknowledged them.
  static let sentAgain = "sent again"

  private func armTimer() {
    guard line.isOpen, let oldest = unacknowledged.map(\.sentAt).min() else { return timer?.cancel() ?? () }
    timer?.arm(at: oldest + max(.milliseconds(20), retransmissionTimeout))
  }
}
