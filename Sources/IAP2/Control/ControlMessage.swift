/// One message of the control session: a number and parameters.
///
/// ```
///  40 40   length (whole message)   id   parameters…
/// ```
public struct ControlMessage: Hashable, Sendable {
  /// The message's number.
  public var id: MessageID
  /// The parameters as on the wire, see ``ParameterReader``.
  public var body: [UInt8]

  /// Bytes of a message before its parameters.
  public static let headerSize = 6

  /// A message with its parameters already written.
  public init(_ id: MessageID, body: [UInt8] = []) {
    self.id = id
    self.body = body
  }

  /// A message whose parameters are written by `write`.
  ///
  /// ```swift
  /// let message = ControlMessage(.startExternalAccessorySession) { $0.u8(0, 1); $0.u16(1, 7) }
  /// ```
  public init(_ id: MessageID, _ write: (inout ParameterWriter) -> Void) {
    var writer = ParameterWriter()
    write(&writer)
    self.init(id, body: writer.bytes)
  }

  /// The message as on the wire. A body over 65,529 bytes cannot be sent and traps.
  public var encoded: [UInt8] {
    let length = body.count + Self.headerSize
    precondition(length <= Int(UInt16.max), "a control message holds at most 65,529 bytes of parameters")
    let (size, number) = (UInt16(length), id.rawValue)
    return [
      0x40, 0x40, UInt8(size >> 8), UInt8(truncatingIfNeeded: size), UInt8(number >> 8),
      UInt8(truncatingIfNeeded: number),
    ] + body
  }
}
