/// Describes packets, one per line, in the format of transcripts, `easim decode` and test failures.
///
/// ```
/// SYN seq=0 ack=0 window=5 length=1024 timeout=5000 hold=255 repeats=30 acks=3 sessions=1:control,2:accessory
/// DATA seq=65 ack=1 session=1 1D00 StartIdentification
/// DATA seq=12 ack=70 session=2 accessory-session=1 10000 bytes 00 01 02 03 04 05 06 07 …
/// ACK seq=65 ack=2
/// ```
///
/// SYN packets tell the narrator what each session carries; without a SYN, payloads appear in hex.
public struct PacketNarrator: Equatable, Sendable {
  private var kinds: [UInt8: LinkSession.Kind] = [:]
  private let shownBytes: Int

  /// Creates a narrator that has seen no packets.
  public init(shownBytes: Int = 8) {
    self.shownBytes = shownBytes
  }

  /// Returns the kind of data that a session carries, or nil if no SYN has listed the session.
  public func kind(of session: UInt8) -> LinkSession.Kind? { kinds[session] }

  /// Returns the line that describes a packet; `packet` is the complete packet, including its header.
  public mutating func line(for header: PacketHeader, packet: RawSpan) -> String {
    let payload = packet.extracting(PacketHeader.size..<PacketHeader.size + header.payloadCount)
    let numbers = "seq=\(header.sequence) ack=\(header.acknowledgement)"
    if header.control.contains(.syn) {
      let isOffer = !header.control.contains(.ack)
      return "\(name(header)) \(numbers) \(synchronization(payload, isOffer: isOffer))"
    }
    if header.control.contains(.eak) {
      return "\(name(header)) \(numbers) list=\(bytes(payload).map(String.init).joined(separator: ","))"
    }
    if header.payloadCount == 0 { return "\(name(header)) \(numbers)" }
    return "\(name(header)) \(numbers) session=\(header.session) \(content(payload, of: header.session))"
  }

  /// Returns the line for a packet whose payload checksum is wrong.
  public func spoiledLine(for header: PacketHeader) -> String {
    "SPOILED seq=\(header.sequence) ack=\(header.acknowledgement) session=\(header.session) "
      + "\(header.payloadCount) bytes with a wrong checksum"
  }

  /// Returns the line for a truncated packet, of which only `count` bytes are present.
  public func unfinishedLine(for header: PacketHeader, count: Int) -> String {
    "UNFINISHED seq=\(header.sequence) ack=\(header.acknowledgement) session=\(header.session) "
      + "\(count) of \(header.length) bytes"
  }

  /// Returns the control messages in a packet, or an empty array if the packet does not belong to the control session.
  public func messages(in header: PacketHeader, packet: RawSpan) -> [ControlMessage] {
    guard header.payloadCount > 0, header.control.isDisjoint(with: [.syn, .eak]) else { return [] }
    let payload = bytes(packet.extracting(PacketHeader.size..<PacketHeader.size + header.payloadCount))
    switch kinds[header.session] {
    case .control?: break
    case nil where payload.starts(with: [0x40, 0x40]): break
    default: return []
    }
    var stream = ControlStream()
    stream.append(payload.span.bytes)
    var messages: [ControlMessage] = []
    while let item = stream.next() {
      if case .message(let message) = item { messages.append(message) }
    }
    return messages
  }

  /// Returns the line for an iAP1 frame.
  public func legacyLine(_ frame: RawSpan) -> String {
    "IAP1 \(Hex.spaced(bytes(frame)))"
  }

  private func name(_ header: PacketHeader) -> String {
    if header.control == .ack { return header.payloadCount > 0 ? "DATA" : "ACK" }
    return header.control.description
  }

  private func bytes(_ span: RawSpan) -> [UInt8] {
    span.withUnsafeBytes { [UInt8]($0) }
  }

  private mutating func synchronization(_ payload: RawSpan, isOffer: Bool) -> String {
    do {
      let parameters = try LinkParameters(reading: payload)
      for session in parameters.sessions { kinds[session.id] = session.kind }
      let table = parameters.sessions.map { session in
        "\(session.id):\(session.kind.shortName)\(session.version == 1 ? "" : "/\(session.version)")"
      }
      return "window=\(parameters.maximumOutstandingPackets) length=\(parameters.maximumPacketLength) "
        + "timeout=\(parameters.retransmissionTimeout) hold=\(parameters.cumulativeAcknowledgementTimeout) "
        + "repeats=\(parameters.maximumRetransmissions) acks=\(parameters.maximumCumulativeAcknowledgements) "
        + "sessions=\(table.joined(separator: ","))"
        + parameters.valuesOutOfRange(isOffer: isOffer).map { "; \($0.finding)" }.joined()
    } catch {
      return error.description
    }
  }

  private func content(_ payload: RawSpan, of session: UInt8) -> String {
    let payload = bytes(payload)
    switch kinds[session] {
    case .control?: return control(payload)
    case .externalAccessory? where payload.count >= 2:
      let id = UInt16(payload[0]) << 8 | UInt16(payload[1])
      return "accessory-session=\(id) \(shown(payload.dropFirst(2)))"
    case .fileTransfer?: return "file-transfer \(shown(payload[...]))"
    default: return payload.starts(with: [0x40, 0x40]) ? control(payload) : shown(payload[...])
    }
  }

  private func shown(_ bytes: ArraySlice<UInt8>) -> String {
    let more = bytes.count > shownBytes ? " …" : ""
    return "\(bytes.count) \(bytes.count == 1 ? "byte" : "bytes") \(Hex.spaced(bytes.prefix(shownBytes)))\(more)"
  }

  private func control(_ payload: [UInt8]) -> String {
    var stream = ControlStream()
    stream.append(payload.span.bytes)
    var parts: [String] = []
    while let item = stream.next() {
      switch item {
      case .message(let message): parts.append(MessageText.line(message, shownBytes: shownBytes))
      case .garbage(let bytes): parts.append("no message: \(shown(bytes[...]))")
      }
    }
    return parts.isEmpty ? "part of a message: \(shown(payload[...]))" : parts.joined(separator: " + ")
  }
}
