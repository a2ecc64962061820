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
/// Invariant: the log keeps the newest packets, up to a number of packets and of bytes, or far fewer while recording is
/// off.
package final class PacketLog {
  /// How many packets are kept by default.
  package static let usualPackets = 100_000
  /// How many packets are kept for each cable even while recording is off.
  static let firstPackets = 96
  /// How much is kept in a world that has never been recorded. The limits are low, because there may be a thousand such
  /// worlds.
  private static let (quietPackets, quietBytes) = (2_000, 1 << 20)

  private let mostPackets: Int
  private let mostBytes: Int
  private var packets = Queue<LoggedPacket>()
  private var byteCount = 0
  private var cableCount = 0
  package private(set) var lastNumber = 0
  package var isRecording = false { didSet { hasRecorded = hasRecorded || isRecording } }
  private var hasRecorded = false
  /// Called after each packet.
  package var changed: () -> Void = {}

  package init(packets: Int = PacketLog.usualPackets, bytes: Int = 32 << 20) {
    (mostPackets, mostBytes) = (packets, bytes)
  }

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
      return witness(of: owner, cable: numbers[cable] ?? cableCount, protocolName: protocolName)
    }
  }

  /// Creates a witness for one channel of a cable. The caller gives each cable in the log a different number.
  package func witness(of owner: String, cable: Int, protocolName: String?) -> any CableWitness {
    PacketWitness(self, cable: cable, protocolName, of: owner)
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
    let (most, bytes) = hasRecorded ? (mostPackets, mostBytes) : (Self.quietPackets, Self.quietBytes)
    while packets.count > most || byteCount > bytes, let oldest = packets.popFirst() {
      byteCount -= oldest.bytes.count
    }
    changed()
  }
}
