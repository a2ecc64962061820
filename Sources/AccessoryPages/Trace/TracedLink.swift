import AccessoryCore
import AccessorySessions
import IAP2

/// Derives events, such as identification and sessions, from the control messages on cables about which nothing else is
/// known, such as those in a capture.
struct TracedLinks {
  private struct Link {
    var begun: Instant
    var last: Instant
    var subject: TimelineEvent.Subject?
    var isPublished = false
    var protocols: [UInt8: String] = [:]
    var open: [UInt16: (protocolName: String, read: Int, written: Int)] = [:]
  }

  private var links: [Int: Link] = [:]
  private(set) var events: [TimelineEvent] = []

  /// Returns the events derived from all packets of a log, in order of time.
  static func events(of log: PacketLog) -> [TimelineEvent] {
    var all = TracedLinks()
    for packet in log.packets(after: 0, atMost: .max) { all.take(packet) }
    for number in all.links.keys.sorted() { all.end(number, "the recording is over") }
    let order = all.events.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
    return order.map(\.element)
  }

  private mutating func take(_ packet: LoggedPacket) {
    let number = packet.cable
    // A SYN that follows identification counts as a new attachment.
    let isOffer = packet.header.map { $0.control.contains(.syn) && !$0.control.contains(.ack) } ?? false
    if isOffer, links[number]?.subject != nil { end(number, "the link begins again") }
    var link = links[number] ?? Link(begun: packet.time, last: packet.time)
    link.last = packet.time
    links[number] = link
    for message in messages(in: packet) { take(message, number, packet) }
    if let session = packet.externalSession.map(UInt16.init(truncatingIfNeeded:)), let header = packet.header {
      let count = header.payloadCount - 2
      if packet.from == .accessory {
        links[number]?.open[session]?.read += count
      } else {
        links[number]?.open[session]?.written += count
      }
    }
  }

  private func messages(in packet: LoggedPacket) -> [ControlMessage] {
    guard !packet.messages.isEmpty, !packet.isRepeated, let header = packet.header else { return [] }
    return PacketNarrator().messages(in: header, packet: packet.bytes.span.bytes)
  }

  private mutating func take(_ message: ControlMessage, _ number: Int, _ packet: LoggedPacket) {
    switch message.id {
    case .identificationInformation:
      let found = IdentificationReading(message).identification
      let subject = TimelineEvent.Subject(
        name: found.name, serial: found.serialNumber.isEmpty ? "cable \(number)" : found.serialNumber,
        protocols: found.protocols.map(\.name), connectionID: number)
      links[number]?.subject = subject
      for one in found.protocols { links[number]?.protocols[one.id] = one.name }
      add(.attach("cable \(number)"), .accessory, number, at: links[number]?.begun ?? packet.time)
    case .identificationAccepted:
      add(.identification("accepted"), .accessory, number, at: packet.time)
      links[number]?.isPublished = true
      add(.connect, .device, number, at: packet.time)
    case .authenticationSucceeded: add(.authentication(.accepted), .accessory, number, at: packet.time)
    case .startExternalAccessorySession:
      guard let values = Self.values(message), values.count > 1 else { return }
      let name = links[number]?.protocols[UInt8(truncatingIfNeeded: values[0])] ?? "protocol \(values[0])"
      links[number]?.open[values[1]] = (name, 0, 0)
      for side in [TimelineEvent.Side.device, .accessory] {
        add(.sessionOpen(id: Int(values[1]), protocolName: name), side, number, at: packet.time)
      }
    case .stopExternalAccessorySession:
      if let id = Self.values(message)?.first { close(id, "closed by the app", number, at: packet.time) }
    default: break
    }
  }

  private mutating func close(_ id: UInt16, _ reason: String, _ number: Int, at time: Instant) {
    guard let found = links[number]?.open.removeValue(forKey: id) else { return }
    for side in [TimelineEvent.Side.device, .accessory] {
      let (read, written) = side == .device ? (found.read, found.written) : (found.written, found.read)
      add(
        .sessionClose(id: Int(id), protocolName: found.protocolName, reason: reason, read: read, written: written),
        side, number, at: time)
    }
  }

  private mutating func end(_ number: Int, _ reason: String) {
    guard let link = links[number] else { return }
    for id in link.open.keys.sorted() { close(id, reason, number, at: link.last) }
    if link.isPublished { add(.disconnect, .device, number, at: link.last) }
    if link.subject != nil { add(.detach(reason), .accessory, number, at: link.last) }
    links[number] = nil
  }

  private mutating func add(_ kind: TimelineEvent.Kind, _ side: TimelineEvent.Side, _ number: Int, at time: Instant) {
    events.append(TimelineEvent(time: time, side: side, kind: kind, subject: links[number]?.subject))
  }

  /// Returns the values of all parameters with one or two bytes, in order of parameter number.
  private static func values(_ message: ControlMessage) -> [UInt16]? {
    guard let parameters = try? ParameterReader.read(message.body) else { return nil }
    return parameters.sorted { $0.id < $1.id }.filter { 1...2 ~= $0.value.count }.map {
      $0.value.reduce(0) { $0 << 8 | UInt16($1) }
    }
  }
}
