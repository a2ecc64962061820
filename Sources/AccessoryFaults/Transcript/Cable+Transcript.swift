import AccessoryCore

extension Cable {
  /// The same cable with a transcript at this end of it: packets on the main channel, transfers on native channels. It
  /// pauses while `gate` is closed. Of each payload the first `shownBytes` are written.
  public func transcribed(
    at end: End, on loop: any EventLoop, gate: CableGate? = nil, shownBytes: Int = Transcript.usualBytes,
    write: @escaping (String) -> Void
  ) -> Cable {
    witnessed(at: end, on: loop, gate: gate) { Transcript(of: $0, shownBytes: shownBytes, write: write) }
  }
}
