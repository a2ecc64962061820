import AccessoryCore

extension Cable {
  /// The same cable with a transcript at this end of it: packets on the main channel, transfers on native channels. It
  /// pauses while `gate` is closed.
  public func transcribed(
    at end: Transcript.End, on loop: any EventLoop, gate: TranscriptGate? = nil, write: @escaping (String) -> Void
  ) -> Cable {
    wrapped(
      main: { TranscriptChannel(around: $0, at: end, Transcript(write: write), gate: gate, on: loop) },
      side: { name, channel in
        TranscriptChannel(around: channel, at: end, Transcript(write: write), side: name, gate: gate, on: loop)
      })
  }
}
