// Control messages on their way in and out.

/// A control message as one end saw it.
public struct PassedMessage: Hashable, Sendable {
  /// Which way it went.
  public enum Direction: String, Hashable, Sendable {
    /// This end sent it.
    case sent
    /// The other end sent it.
    case received
  }

  /// Which way it went.
  public var direction: Direction
  /// The message.
  public var message: ControlMessage

  /// A message that passed.
  public init(_ direction: Direction, _ message: ControlMessage) {
    self.direction = direction
    self.message = message
  }
}

extension PeerCore {
  /// Sends a control message, over several packets where the other end takes only short ones. One that is longer than
  /// the length field of messages can say is reported and not sent. Whether it went.
  @discardableResult
  public mutating func send(_ message: ControlMessage) -> Bool {
    guard let session = controlSession else { return false }
    let count = message.body.count + ControlMessage.headerSize
    guard count <= Int(UInt16.max) else {
      events.append(.malformed("\(message.id) needs \(count) bytes and a message has at most 65535: not sent"))
      return false
    }
    link.send(message, session: session)
    if tellsMessages { events.append(.passed(PassedMessage(.sent, message))) }
    return true
  }

  /// The next message that is whole; what does not begin a message is reported.
  mutating func nextMessage() -> ControlMessage? {
    while let item = control.next() {
      switch item {
      case .message(let message):
        if tellsMessages { events.append(.passed(PassedMessage(.received, message))) }
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
}
