import AccessoryCables
import AccessoryCore
import AccessoryFaults
import IAP2

/// The packets on a world's cables, as `packet.list` returns them.
///
/// Recording every packet costs time and memory, so recording starts only when a client requests it with
/// `packet.record`. Each cable's first packets are always kept. The first packets show how the accessory connected, and
/// they include the SYN, which defines the link sessions.
///
/// Invariant: the log keeps the newest packets, up to ``Limits/packets`` packets and ``Limits/bytes`` bytes, or far
/// fewer while recording is off.
package final class PacketLog {
  package struct Limits: Equatable, Sendable {
    package var packets = 100_000
    package var bytes = 32 << 20
    /// How many packets are kept for each cable even while recording is off.
    package var firstPackets = 96
    /// How many packets are kept in a world that has never been recorded. The limit is low, because there may be a
    /// thousand such worlds.
    package var quietPackets = 2_000
    package var quietBytes = 1 << 20

    package init() {}
  }

  private let limits: Limits
  private var packets = Queue<LoggedPacket>()
  private var byteCount = 0
  private var cableCount = 0
  package private(set) var lastNumber = 0
  package var isRecording = false { didSet { hasRecorded = hasRecorded || isRecording } }
  private var hasRecorded = false
  /// Called after each packet.
  package var changed: () -> Void = {}

  package init(_ limits: Limits = Limits()) { self.limits = limits }

  /// The number of the oldest packet in the log, or of the next packet if the log is empty.
  package var firstNumber: Int { lastNumber - packets.count + 1 }

  /// The key under which this log observes channels. Captures use positive keys.
  private static let key = 0
  /// The number of cables per accessory or address that the log remembers, so that it can match native channels with
  /// their cables.
  private static let cables = 64

  package func watch(_ taps: CableTaps, of owner: String) {
    var numbers: [Int: Int] = [:]
    taps.add(Self.key) { [unowned self] cable, protocolName in
      if numbers[cable] == nil {
        cableCount += 1
        numbers[cable] = cableCount
        numbers[cable - Self.cables] = nil
      }
      return PacketWitness(
        self, cable: numbers[cable] ?? cableCount, protocolName, of: owner, atLeast: limits.firstPackets)
    }
  }

  /// Creates a witness for one channel of a cable. The caller gives each cable in the log a different number.
  package func witness(of owner: String, cable: Int, protocolName: String?) -> any CableWitness {
    PacketWitness(self, cable: cable, protocolName, of: owner, atLeast: limits.firstPackets)
  }

  /// Returns the packets that come after packet `number`, oldest first.
  package func packets(after number: Int, atMost count: Int) -> [LoggedPacket] {
    let start = min(max(0, number - (firstNumber - 1)), packets.count)
    return (start..<start + min(count, packets.count - start)).map { packets[$0] }
  }

  package func packet(_ number: Int) -> LoggedPacket? {
    let index = number - firstNumber
    return index >= 0 && index < packets.count ? packets[index] : nil
  }

  func add(_ packet: LoggedPacket) {
    var packet = packet
    lastNumber += 1
    packet.number = lastNumber
    packets.append(packet)
    byteCount += packet.bytes.count
    let most = hasRecorded ? limits.packets : limits.quietPackets
    let mostBytes = hasRecorded ? limits.bytes : limits.quietBytes
    while packets.count > most || byteCount > mostBytes, let oldest = packets.popFirst() {
      byteCount -= oldest.bytes.count
    }
    changed()
  }
}
