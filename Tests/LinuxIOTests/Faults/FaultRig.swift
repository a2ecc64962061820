import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import IAP2
import LinuxIO
import TestSupport
import Testing

/// A cable in virtual time whose left end has faults: `out` is what the left end sends.
final class FaultRig {
  let loop = VirtualLoop()
  let cable: LoopbackCable
  let left: FaultChannel
  let right: LoopbackChannel
  let atLeft = ChannelRecorder()
  let atRight = ChannelRecorder()
  /// When each reception of the right end came, in seconds.
  private(set) var arrivals: [Double] = []

  convenience init(
    _ faults: String..., seed: UInt64 = 7, capacity: Int = 256 * 1024, unit: FaultUnit = .linkPackets,
    isTransfers: Bool = false
  ) throws {
    try self.init(faults, seed: seed, capacity: capacity, unit: unit, isTransfers: isTransfers)
  }

  init(
    _ faults: [String], seed: UInt64 = 7, capacity: Int = 256 * 1024, unit: FaultUnit = .linkPackets,
    isTransfers: Bool = false
  ) throws {
    cable = LoopbackChannel.makePair(on: loop, capacity: capacity, keepsTransfersApart: isTransfers)
    let reports = Reports()
    left = FaultChannel(
      around: cable.left, try faults.map { try Fault($0) }, random: SeededRandom(seed: seed), unit: unit, on: loop
    ) { reports.texts.append($0.description) }
    right = cable.right
    self.reports = reports
  }

  private let reports: Reports

  private final class Reports {
    var texts: [String] = []
  }

  /// What the faults reported.
  var reported: [String] { reports.texts }

  func start() {
    atRight.onReceived = { [unowned self] in arrivals.append(loop.now.seconds) }
    right.start(atRight)
    left.start(atLeft)
  }

  func count(_ direction: Fault.Direction = .out, _ index: Int = 0) -> FaultCount {
    let all = left.counts.filter { $0.direction == direction }
    return index < all.count ? all[index].count : FaultCount()
  }

  /// A data packet as the accessory session carries it.
  static func packet(_ sequence: UInt8, payload: [UInt8] = [0, 1, 0x41, 0x42]) -> [UInt8] {
    PacketWriter.packet(
      PacketHeader(control: .ack, sequence: sequence, acknowledgement: 9, session: 2, payloadCount: payload.count),
      payload: payload)
  }

  /// A bare acknowledgement.
  static func acknowledgement(_ number: UInt8) -> [UInt8] {
    PacketWriter.packet(PacketHeader(control: .ack, sequence: 1, acknowledgement: number))
  }

  /// The sequence numbers of the whole packets in `bytes`, and how many were spoiled or skipped.
  static func read(_ bytes: [UInt8]) -> (sequences: [UInt8], spoiled: Int, skipped: Int) {
    var scanner = PacketScanner()
    var result: (sequences: [UInt8], spoiled: Int, skipped: Int) = ([], 0, 0)
    var offset = 0
    while let piece = scanner.next(in: bytes.span.bytes, at: &offset) {
      switch piece {
      case .packet(let header, _): result.sequences.append(header.sequence)
      case .spoiled: result.spoiled += 1
      case .skipped(let skipped): result.skipped += skipped.count
      case .detection, .legacy: break
      }
    }
    result.skipped += scanner.finish()?.count ?? 0
    return result
  }
}
