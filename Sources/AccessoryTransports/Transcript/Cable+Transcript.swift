import AccessoryCore

extension Cable {
  /// The same cable with a transcript at this end of it: packets on the main channel, transfers on native channels. It
  /// pauses while `gate` is closed. Of each payload the first `shownBytes` are written.
  public func transcribed(
    at end: Transcript.End, on loop: any EventLoop, gate: TranscriptGate? = nil,
    shownBytes: Int = Transcript.usualBytes, write: @escaping (String) -> Void
  ) -> Cable {
    witnessed(at: end, on: loop, gate: gate) { _ in Transcript(shownBytes: shownBytes, write: write) }
  }

  /// The same cable with a witness at this end of it for each of its channels; `witness` makes it, given the protocol of
  /// a native channel. It pauses while `gate` is closed.
  public func witnessed(
    at end: Transcript.End, on loop: any EventLoop, gate: TranscriptGate? = nil,
    by witness: @escaping (_ protocolName: String?) -> any CableWitness
  ) -> Cable {
    wrapped(
      main: { TranscriptChannel(around: $0, at: end, witness(nil), gate: gate, on: loop) },
      side: { name, channel in
        TranscriptChannel(around: channel, at: end, witness(name), side: name, gate: gate, on: loop)
      })
  }
}
