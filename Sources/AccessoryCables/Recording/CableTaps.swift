import AccessoryCore
import AccessoryFaults

/// The observers, such as captures and transcripts, of all cables that belong to one owner. Observers can be added and
/// removed while the cables are in use.
///
/// A new observer sees all future cables. On cables already in use, the observer sees only bytes sent after it was
/// added.
///
/// ```swift
/// let taps = CableTaps()
/// device.plugIn(taps.tap(cable, at: .device, on: loop), at: "a cable")
/// taps.add(1) { cable, protocolName in Transcript(of: protocolName) { print($0) } }
/// taps.remove(1)
/// ```
public final class CableTaps {
  /// Creates the observer for one channel. `cable` is the number of the cable, counted from 1. `protocolName` is the
  /// protocol of a native channel, or nil for the main channel.
  public typealias Maker = (_ cable: Int, _ protocolName: String?) -> any CableWitness

  private var makers: [(key: Int, make: Maker)] = []
  private var channels: [Weak<TappedChannel>] = []
  private var cableCount = 0

  /// Creates a set without observers.
  public init() {}

  /// Adds an observer for every current and future channel. To remove the observer, pass the same key to
  /// ``remove(_:)``.
  public func add(_ key: Int, _ make: @escaping Maker) {
    makers.append((key, make))
    for entry in channels { entry.object?.add(key, make) }
  }

  /// Removes the observers with this key.
  public func remove(_ key: Int) {
    makers.removeAll { $0.key == key }
    for entry in channels { entry.object?.remove(key) }
  }

  /// Notifies the observers that a fault at this end affected a packet on the newest cable's main channel.
  public func struck(_ strike: FaultStrike, at end: Cable.End) {
    let channel = channels.last { $0.object?.isMain == true }?.object
    channel?.struck(
      strike.packet.span.bytes, by: strike.fault.description, from: strike.sender(at: end), at: strike.time)
  }

  /// Returns the cable with the observers attached to this end.
  public func tap(_ cable: Cable, at end: Cable.End, on loop: any EventLoop) -> Cable {
    cableCount += 1
    let number = cableCount
    return cable.witnessed(at: end, on: loop) { protocolName in
      let channel = TappedChannel(number, protocolName)
      for (key, make) in self.makers { channel.add(key, make) }
      self.channels.removeAll { $0.object == nil }
      self.channels.append(Weak(channel))
      return channel
    }
  }
}

private final class TappedChannel: CableWitness {
  private let cable: Int
  private let protocolName: String?
  private var witnesses: [(key: Int, witness: any CableWitness)] = []
  var isMain: Bool { protocolName == nil }

  init(_ cable: Int, _ protocolName: String?) {
    (self.cable, self.protocolName) = (cable, protocolName)
  }

  func add(_ key: Int, _ make: CableTaps.Maker) { witnesses.append((key, make(cable, protocolName))) }
  func remove(_ key: Int) { witnesses.removeAll { $0.key == key } }

  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant) {
    for (_, witness) in witnesses { witness.passed(bytes, from: end, at: time) }
  }

  func struck(_ packet: RawSpan, by fault: String, from end: Cable.End, at time: Instant) {
    for (_, witness) in witnesses { witness.struck(packet, by: fault, from: end, at: time) }
  }

  func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant) {
    for (_, witness) in witnesses { witness.ended(at: end, reason, at: time) }
  }
}
