import AccessoryCore
import AccessoryFormats

extension Cable {
  /// The same cable with faults at this end. On native channels, which have no packets, each transfer counts as a
  /// packet; each channel counts its own bytes and time. A cable is always pulled as a whole: a fault that cuts a
  /// native channel also ends the main channel and all others.
  ///
  /// - Parameters:
  ///   - random: called once for each channel.
  ///   - made: called with each channel that was made.
  public func faulty(
    _ faults: [Fault], mayChange: Bool = false, random: @escaping () -> SeededRandom, on loop: any EventLoop,
    made: @escaping (FaultChannel) -> Void = { _ in }, report: @escaping (FaultEvent) -> Void = { _ in }
  ) -> Cable {
    guard !faults.isEmpty || mayChange else { return self }
    let mayCut = hasNativeChannels && (mayChange || faults.contains(where: \.cuts))
    let hand = Hand()
    return wrapped(
      main: { bare in
        var inner = bare
        if mayCut {
          let severable = SeverableChannel(around: bare, on: loop)
          hand.channel = severable
          inner = severable
        }
        let channel = FaultChannel(around: inner, faults, random: random(), on: loop, report: report)
        made(channel)
        return channel
      },
      side: { name, inner in
        let channel = FaultChannel(around: inner, faults, random: random(), unit: .transfers, on: loop) { event in
          report(event)
          if event.fault.cuts { hand.channel?.pull() }
        }
        made(channel)
        return channel
      })
  }

  /// What pulls the main channel.
  private final class Hand {
    weak var channel: SeverableChannel?
  }
}
