/// A control message that one end sent or received.
public struct PassedMessage: Hashable, Sendable {
  /// The message's direction.
  public enum Direction: String, Hashable, Sendable {
    case sent
    case received
  }

  /// The message's direction.
  public var direction: Direction
  /// The message.
  public var message: ControlMessage

  /// Creates a record of a message.
  public init(_ direction: Direction, _ message: ControlMessage) {
    self.direction = direction
    self.message = message
  }
}

extension PeerCore {
  /// Sends a control message, split into several packets if the other end accepts only short packets. If the message is
  /// too long for its length field, reports the problem and returns false.
  @discardableResult
  public mutating func send(_ message: ControlMessage) -> Bool {
    guard let session = controlSession else { return false }
    let count = message.body.count + ControlMessage.headerSize
    guard count <= Int(UInt16.max) else {
      events.append(.malformed("\(message.id) needs \(count) bytes, but a message can have at most 65535: not sent"))
      return false
    }
    link.send(message, session: session)
    if reportsMessages { events.append(.passed(PassedMessage(.sent, message))) }
    return true
  }

  /// The maximum number of bytes of messages and files that may be queued. At this limit, this end stops answering.
  /// Without the limit, a peer that sends requests without acknowledging the answers could exhaust the memory.
  public static let answerLimit = 4 << 20

  /// Sends a control message that no later step depends on. Returns false without sending if too many bytes are waiting
  /// for the other end.
  public mutating func sendIfRoom(_ message: ControlMessage) -> Bool {
    guard link.unacknowledgedMessages <= Self.answerLimit else { return false }
    send(message)
    return true
  }

  /// Sends a file transfer packet. Returns false if the link has no file transfer session, the packet is too long, or
  /// too many bytes are waiting for the other end.
  public mutating func send(filePacket packet: [UInt8]) -> Bool {
    guard let fileSession, packet.count <= link.maximumPayload, link.unacknowledgedMessages <= Self.answerLimit else {
      return false
    }
    link.send(packet.span.bytes, session: fileSession)
    return true
  }

  /// The maximum size of a file transfer packet in bytes, or nil if the link has no file transfer session.
  public var filePacketLimit: Int? { fileSession == nil ? nil : link.maximumPayload }

  /// Returns the next complete message, and reports bytes that cannot start a message.
  mutating func nextMessage() -> ControlMessage? {
    while let item = control.next() {
      switch item {
      case .message(let message):
        if reportsMessages || !heardMessages.isEmpty && heardMessages.contains(message.id) {
          events.append(.passed(PassedMessage(.received, message)))
        }
        return message
      case .garbage(let bytes):
        events.append(
          .malformed(
            "the control session carries \(bytes.count) bytes that are not the beginning of a message: \(Hex.spaced(bytes.prefix(32)))"
          ))
      }
    }
    return nil
  }

  /// Returns what `read` extracts from a message's parameters; if the message cannot be read, reports it as malformed
  /// and returns nil.
  mutating func decode<Value>(
    _ message: ControlMessage, _ read: ([Parameter]) throws(ParameterError) -> Value
  ) -> Value? {
    do throws(ParameterError) {
      return try read(try ParameterReader.read(message.body))
    } catch {
      events.append(.malformed("\(message.id): \(error)"))
      return nil
    }
  }
}
