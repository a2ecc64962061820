import IAP2

/// The message fuzzer's target: a message number and parameters that are passed to every reader.
public enum FuzzedMessage {
  /// Reads `bytes` as a control message in every possible way.
  public static func play(_ bytes: [UInt8]) {
    guard bytes.count >= 2 else { return }
    let message = ControlMessage(
      MessageID(rawValue: UInt16(bytes[0]) << 8 | UInt16(bytes[1])), body: Array(bytes.dropFirst(2).prefix(65_529)))
    _ = MessageText.line(message)
    let reading = IdentificationReading(message)
    let verdict = IdentificationJudge.strict.judge(reading)
    if verdict.isAccepted {
      // If a message is accepted, it must list the same protocols after it has been encoded and read again.
      let again = IdentificationReading(reading.identification.message)
      precondition(again.identification.protocols == reading.identification.protocols)
    }
    _ = try? AppLaunchRequest(message)
    _ = try? LinkParameters(reading: bytes.span.bytes)
  }
}
