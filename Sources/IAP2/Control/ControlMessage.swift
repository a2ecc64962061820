/// A control message: a message number followed by parameters.
///
/// ```
///  40 40   length (whole message)   id   parameters…
/// ```
public struct ControlMessage: Hashable, Sendable {
  /// The message's number.
  public var id: MessageID
  /// The parameters as encoded on the wire; see ``ParameterReader``.
  public var body: [UInt8]

  /// The size of the header that precedes a message's parameters.
  public static let headerSize = 6

  /// Creates a message from encoded parameters.
  public init(_ id: MessageID, body: [UInt8] = []) {
    self.id = id
    self.body = body
  }

  /// Creates a message whose parameters are written by `write`.
  ///
  /// ```swift
  /// let message = ControlMessage(.startExternalAccessorySession) { $0.u8(0, 1); $0.u16(1, 7) }
  /// ```
  public init(_ id: MessageID, _ write: (inout ParameterWriter) -> Void) {
    var writer = ParameterWriter()
    write(&writer)
    self.init(id, body: writer.bytes)
  }

  /// The six header bytes as one big-endian number.
  var header: UInt64 {
    let length = body.count + Self.headerSize
    precondition(length <= Int(UInt16.max), "a control message can contain at most 65,529 bytes of parameters")
    return 0x4040 << 32 | UInt64(length) << 16 | UInt64(id.rawValue)
  }

  /// The encoded message; traps if the body is longer than 65,529 bytes.
  public var encoded: [UInt8] {
    let header = header
    return (0..<Self.headerSize).reversed().map { UInt8(truncatingIfNeeded: header >> (8 * UInt64($0))) } + body
  }
}

/// Splits the control session's byte stream into messages by their length fields.
///
/// This type ignores packet boundaries: Apple devices put one message into each packet, but iAP2 also allows several
/// messages per packet and messages that span packets. A message's length field limits its size, and thus the buffer's
/// size, to 65,535 bytes.
struct ControlStream {
  private var buffer = ByteQueue()
  /// A message that was the only content of its packet. Bypassing the buffer saves a copy; on most links, the buffer is
  /// never allocated.
  private var whole: ControlMessage?

  enum Item: Equatable {
    case message(ControlMessage)
    /// Bytes that cannot start a message, up to the next possible header.
    case garbage([UInt8])
  }

  var isEmpty: Bool { whole == nil && buffer.isEmpty }

  mutating func append(_ payload: RawSpan) {
    if whole == nil, buffer.isEmpty, let message = Self.onlyMessage(in: payload) {
      whole = message
      return
    }
    if let message = whole.take() { buffer.append(contentsOf: message.encoded) }
    buffer.append(payload)
  }

  /// Returns the message in a packet that contains exactly one message, or nil for any other packet.
  private static func onlyMessage(in payload: RawSpan) -> ControlMessage? {
    let count = payload.byteCount
    func word(_ at: Int) -> UInt16 { payload.unsafeLoadUnaligned(fromByteOffset: at, as: UInt16.self).bigEndian }
    guard count >= ControlMessage.headerSize, word(0) == 0x4040, Int(word(2)) == count else { return nil }
    return ControlMessage(
      MessageID(rawValue: word(4)),
      body: payload.extracting(ControlMessage.headerSize..<count).withUnsafeBytes { [UInt8]($0) })
  }

  /// Returns the next complete message, the garbage before it, or nil if neither is available yet.
  mutating func next() -> Item? {
    if let message = whole.take() { return .message(message) }
    if buffer.isEmpty { return nil }
    guard canBeginMessage(at: 0) else { return .garbage(takeGarbage()) }
    guard buffer.count >= ControlMessage.headerSize else { return nil }
    let length = Int(word(at: 2))
    guard buffer.count >= length else { return nil }
    let id = MessageID(rawValue: word(at: 4))
    let message = ControlMessage(id, body: buffer.copy(ControlMessage.headerSize..<length))
    buffer.removeFirst(length)
    return .message(message)
  }

  private func canBeginMessage(at start: Int) -> Bool {
    guard buffer[start] == 0x40, start + 1 == buffer.count || buffer[start + 1] == 0x40 else { return false }
    return start + 4 > buffer.count || word(at: start + 2) >= UInt16(ControlMessage.headerSize)
  }

  mutating func forget() {
    buffer.removeAll()
    whole = nil
  }

  mutating func releaseMemory() {
    if buffer.isEmpty { buffer = ByteQueue() }
  }

  private func word(at start: Int) -> UInt16 {
    UInt16(buffer[start]) << 8 | UInt16(buffer[start + 1])
  }

  private mutating func takeGarbage() -> [UInt8] {
    var count = 1
    while count < buffer.count, !canBeginMessage(at: count) { count += 1 }
    let garbage = buffer.copy(0..<count)
    buffer.removeFirst(count)
    return garbage
  }
}
