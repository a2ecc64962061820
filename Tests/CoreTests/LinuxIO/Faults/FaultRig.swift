import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import IAP2
import LinuxIO
import TestSupport
import Testing

/// A cable in virtual time, with faults on its left side. Here, `out` therefore refers to what the left side sends.
final class FaultRig {
  let loop = VirtualLoop()
  let cable: LoopbackCable
  let left: FaultChannel
  let right: LoopbackChannel
  let atLeft = ChannelRecorder()
  let atRight = ChannelRecorder()
  private(set) var arrivals: [Double] = []

  init(
    _ faults: String..., chain: [Fault] = [], seed: UInt64 = 7, capacity: Int = 256 * 1024,
    unit: FaultUnit = .linkPackets, isTransfers: Bool = false, starts: Bool = true
  ) throws {
    cable = LoopbackChannel.makePair(on: loop, capacity: capacity, keepsTransfersApart: isTransfers)
    let reports = Reports()
    let chain = try faults.map { try Fault($0) } + chain
    left = FaultChannel(
      around: cable.left, chain, random: SeededRandom(seed: seed), unit: unit, on: loop
    ) { reports.texts.append($0.description) }
    right = cable.right
    self.reports = reports
    if starts { start() }
  }

  func sendOut(_ bytes: [UInt8]) throws {
    left.send(bytes)
    try loop.runUntilQuiet()
  }

  func sendIn(_ bytes: [UInt8]) throws {
    right.send(bytes)
    try loop.runUntilQuiet()
  }

  func sendOut(_ text: String) throws { try sendOut(Array(text.utf8)) }
  func sendIn(_ text: String) throws { try sendIn(Array(text.utf8)) }

  private let reports: Reports

  private final class Reports {
    var texts: [String] = []
  }

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

  static func packet(_ sequence: UInt8, payload: [UInt8] = [0, 1, 0x41, 0x42]) -> [UInt8] {
    PacketWriter.packet(
      PacketHeader(control: .ack, sequence: sequence, acknowledgement: 9, session: 2, payloadCount: payload.count),
      payload: payload)
  }

  static func acknowledgement(_ number: UInt8) -> [UInt8] {
    PacketWriter.packet(PacketHeader(control: .ack, sequence: 1, acknowledgement: number))
  }

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

func count(hits: Int, bytes: Int) -> FaultCount {
  var count = FaultCount()
  count.hits = hits
  count.bytes = bytes
  return count
}

final class Writer {
  private let channel: any Channel
  private var left: Int

  init(_ channel: any Channel, count: Int) {
    self.channel = channel
    left = count
  }

  func write() {
    while left > 0 {
      let taken = channel.send([UInt8](repeating: 0x55, count: min(left, 10_000)))
      left -= taken
      if taken == 0 { return }
    }
  }
}
