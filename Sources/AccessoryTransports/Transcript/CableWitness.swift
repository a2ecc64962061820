import AccessoryCore

/// Is told everything that passes on one channel of a cable: a transcript, a capture.
public protocol CableWitness: AnyObject {
  /// Bytes passed, sent by `end`.
  func record(_ bytes: RawSpan, from end: Transcript.End, at time: Instant)

  /// A transfer passed on the native channel of a protocol, sent by `end`.
  func recordTransfer(_ bytes: RawSpan, of protocolName: String, from end: Transcript.End, at time: Instant)

  /// Something else happened.
  func note(_ text: String, at time: Instant)
}

extension Transcript: CableWitness {}
