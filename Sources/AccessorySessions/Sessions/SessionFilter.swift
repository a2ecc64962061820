import IAP2

/// What stands between a session and its user at this end, for accessories that treat bytes oddly. It sees every byte in
/// both directions, and may drop, delay and cut up what passes.
///
/// ```
///   user ── write ──▶ filter.write ──▶ session.send ──▶ carrier
///   user ◀── read ─── session.pass ◀── filter.receive ◀── carrier
/// ```
package protocol SessionFilter: AnyObject {
  /// Whether it takes what arrives at once, even while the user has not read what it got before.
  var isEager: Bool { get }
  /// The user writes. Returns how many bytes are taken; when that is not all, ``Session/tellWritable()`` must follow.
  func write(_ bytes: RawSpan, on session: Session) -> Int
  /// Bytes arrived. What the user is to read goes to ``Session/pass(_:)``.
  func receive(_ bytes: [UInt8], on session: Session)
  /// There is room to send again.
  func hasRoom(on session: Session)
  /// This end is about to close the session: what is kept can still be sent.
  func willClose(_ session: Session)
  /// The session is over, and why. Nothing more is called.
  func session(_ session: Session, over end: SessionEnd)
}
