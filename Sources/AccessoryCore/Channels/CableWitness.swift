/// Observes one channel of a cable at one end, without changing it: for a transcript, a capture, or rules of the wire.
public protocol CableWitness: AnyObject {
  /// The owner of this end begins to receive.
  func began(_ owner: any ChannelHandler)

  /// Bytes passed, sent by `end`; on a native channel they are one transfer.
  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant)

  /// The owner of this end has handled bytes that it received.
  func handled()

  /// The channel is over; `reason` is nil when its owner at this end closed it.
  func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant)
}

extension CableWitness {
  /// Nothing.
  public func began(_ owner: any ChannelHandler) {}

  /// Nothing.
  public func handled() {}

  /// Nothing.
  public func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant) {}
}

extension Cable {
  /// The ends of a cable.
  public enum End: String, Sendable {
    /// The accessory.
    case accessory = "A"
    /// The device.
    case device = "D"

    /// The opposite one.
    public var other: End { self == .accessory ? .device : .accessory }

    /// What is written where this end sees the end of a channel; `protocolName` is that of a native channel.
    public func note(of reason: ChannelEnd?, _ protocolName: String?) -> String {
      let side = protocolName.map { " SIDE \($0)" } ?? ""
      return reason.map { "\(rawValue) sees\(side) that \($0)" } ?? "\(rawValue) closed\(side)"
    }
  }

  /// The same cable with a witness at this end of it for each of its channels; `witness` makes it, given the protocol of
  /// a native channel. It pauses while `gate` is closed.
  public func witnessed(
    at end: End, on loop: any EventLoop, gate: CableGate? = nil,
    by witness: @escaping (_ protocolName: String?) -> any CableWitness
  ) -> Cable {
    wrapped(
      main: { WitnessedChannel($0, at: end, by: witness(nil), gate: gate, on: loop) },
      side: { WitnessedChannel($1, at: end, by: witness($0), gate: gate, on: loop) })
  }
}
