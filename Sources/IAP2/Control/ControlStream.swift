/// Cuts the control session's byte stream into messages by their own length.
///
/// iPhones put one message into one packet, but nothing forbids several or a split one, so packet borders mean nothing
/// here. A message holds at most 65,535 bytes by its length field, and so does the buffer.
struct ControlStream {
  private var buffer: [UInt8] = []
  private var head = 0

  /// What comes next in the stream.
  enum Item: Equatable {
    case message(ControlMessage)
    /// Bytes that do not begin a message: everything up to the next that may, or all there is.
    case garbage([UInt8])
  }

  mutating func append(_ payload: RawSpan) {
    if head == buffer.count {
      forget()
    } else if head > 0 {
      buffer.removeFirst(head)
      head = 0
    }
    payload.withUnsafeBytes { buffer.append(contentsOf: $0) }
  }

  mutating func next() -> Item? {
    let left = buffer.count - head
    guard left > 0 else { return nil }
    guard canBeginMessage(head) else { return .garbage(takeGarbage()) }
    guard left >= ControlMessage.headerSize else { return nil }
    let length = Int(word(head + 2))
    guard left >= length else { return nil }
    let message = ControlMessage(
      MessageID(rawValue: word(head + 4)), body: Array(buffer[head + ControlMessage.headerSize..<head + length]))
    head += length
    return .message(message)
  }

  /// Whether a message may begin here: 40 40 and a possible length, as far as they have arrived.
  private func canBeginMessage(_ at: Int) -> Bool {
    guard buffer[at] == 0x40, at + 1 == buffer.count || buffer[at + 1] == 0x40 else { return false }
    return at + 4 > buffer.count || word(at + 2) >= UInt16(ControlMessage.headerSize)
  }

  mutating func forget() {
    buffer.removeAll(keepingCapacity: true)
    head = 0
  }

  private func word(_ at: Int) -> UInt16 {
    UInt16(buffer[at]) << 8 | UInt16(buffer[at + 1])
  }

  private mutating func takeGarbage() -> [UInt8] {
    let start = head
    head += 1
    while head < buffer.count, !canBeginMessage(head) { head += 1 }
    return Array(buffer[start..<head])
  }
}
