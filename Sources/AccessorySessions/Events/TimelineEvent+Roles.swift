import IAP2

/// What both roles say in the same words.
extension TimelineEvent.Kind {
  /// A session is over, with all that passed in it.
  public static func closed(_ session: Session, reason: String) -> Self {
    .sessionClose(
      id: Int(session.id), protocolName: session.protocolName, reason: reason, read: session.bytesRead,
      written: session.bytesWritten)
  }

  /// The warning of bytes that mean nothing where they came; nil for every other event.
  public init?(warningOf event: PeerEvent) {
    switch event {
    case .skipped(let skipped): self = .warning(skipped.description)
    case .malformed(let text): self = .warning(text)
    case .strayData(let session, let bytes):
      self = .warning("\(bytes) bytes came for session \(session), which is not open: dropped")
    default: return nil
    }
  }
}
