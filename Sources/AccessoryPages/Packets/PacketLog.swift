import AccessoryCables
import AccessoryCore
import AccessoryFaults
import IAP2

/// The packets on the cables of a world, as `packet.list` shows them.
///
/// Recording every packet costs time and memory, so it happens only after a client has asked for it (`packet.record`).
/// The first packets of each cable are always kept: they show how an accessory connected, and without its SYN a link's
/// sessions could not be told apart.
///
/// Invariant: at most ``Limits/packets`` packets with a total of at most ``Limits/bytes`` bytes are kept, the newest
/// ones, and far fewer while nothing is recorded.
package final class PacketLog {
  /// How much is kept.
  package struct Limits: Equatable, Sendable {
    package var packets = 100_000
    package var bytes = 32 << 20
    /// For each cable, even while nothing is recorded.
    package var firstPackets = 96
    /// For a world in which nothing was ever recorded: there may be a thousand of these.
    package var quietPackets = 2_000
    package var quietBytes = 1 << 20

    package init() {}
  }

  private let limits: Limits
  private var packets = Queue<LoggedPacket>()
  private var byteCount = 0
  private var cableCount = 0
  package private(set) var lastNumber = 0
  /// Whether all packets are recorded.
  package var isRecording = false { didSet { hasRecorded = hasRecorded || isRecording } }
  private var hasRecorded = false
  /// Called after each packet.
  package var changed: () -> Void = {}

  package init(_ limits: Limits = Limits()) { self.limits = limits }

  /// The number of the oldest packet that is kept; one more than the last if there is none.
  package var firstNumber: Int { lastNumber - packets.count + 1 }

  /// Captures use the keys from 1 up.
  private static let key = 0
  /// For how many cables of an owner the native channels can be found by the cable's number.
  private static let cables = 64

  /// Observes the cables of an accessory or of an address.
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

  /// A witness of one channel of a cable that the caller numbers; cables of one log have different numbers.
  package func witness(of owner: String, cable: Int, protocolName: String?) -> any CableWitness {
    PacketWitness(self, cable: cable, protocolName, of: owner, atLeast: limits.firstPackets)
  }

  /// The packets after a number, oldest first.
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
