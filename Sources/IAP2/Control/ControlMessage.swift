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

  /// What comes before the parameters, as one number of six bytes.
  var header: UInt64 {
    let length = body.count + Self.headerSize
    precondition(length <= Int(UInt16.max), "a control message holds at most 65,529 bytes of parameters")
    return 0x4040 << 32 | UInt64(length) << 16 | UInt64(id.rawValue)
  }

  /// The message as on the wire. A body over 65,529 bytes cannot be sent and traps.
  public var encoded: [UInt8] {
    let header = header
    return (0..<Self.headerSize).reversed().map { UInt8(truncatingIfNeeded: header >> (8 * UInt64($0))) } + body
  }
}
