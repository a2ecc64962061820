import AccessoryCore

extension RecordingReader {
  /// A session begins with the first transfer on its channel.
  mutating func takeTransfer(
    _ entry: CaptureEntry, at now: Instant, _ packet: Int
  ) throws(RecordingError) {
    guard let channel = entry.channel else { return }
    if channels[channel.interface] == nil {
      guard let attachment = attachment(of: channel.cable) else {
        return note("the transfers of \(channel.protocolName) belong to no cable and are omitted")
      }
      try countSession()
      var session = Recording.Session(
        number: sessionCount, protocolName: channel.protocolName, opened: now, packet: packet)
      session.isNative = true
      channels[channel.interface] = NativeSession(
        attachment: attachment, session: recording.attachments[attachment].sessions.count)
      recording.attachments[attachment].sessions.append(session)
    }
    guard let place = channels[channel.interface] else { return }
    try count(bytes: entry.bytes.count)
    recording.attachments[place.attachment].end = now
    recording.attachments[place.attachment].sessions[place.session].steps.append(
      Recording.Step(
        from: entry.from.hasPrefix("A") ? .accessory : .device, time: now, packet: packet, bytes: entry.bytes))
  }

  /// "D closed SIDE …" is written by the end that closes, "A sees SIDE … that …" by one that sees it.
  mutating func takeNote(_ text: String, of channel: CaptureEntry.NativeChannel, at now: Instant) {
    guard let place = channels[channel.interface],
      recording.attachments[place.attachment].sessions[place.session].ending == .open
    else { return }
    let writer: Recording.End = text.hasPrefix("A ") ? .accessory : .device
    if text.contains(" closed SIDE ") {
      recording.attachments[place.attachment].sessions[place.session].ending = .closed(by: writer, at: now)
    } else if text.hasSuffix("\(ChannelEnd.closedByPeer)") {
      let other: Recording.End = writer == .accessory ? .device : .accessory
      recording.attachments[place.attachment].sessions[place.session].ending = .closed(by: other, at: now)
    }
  }

  /// The newest attachment of a cable, by its name.
  private func attachment(of name: String) -> Int? {
    let numbers = names.filter {
      $0.value.hasSuffix(": \(name.printable)") || $0.value.contains(": \(name.printable), ")
    }.keys
    return numbers.max().flatMap { cables[$0]?.attachment }
  }
}
