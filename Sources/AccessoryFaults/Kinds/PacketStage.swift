import AccessoryCore
import AccessoryFormats
import IAP2

protocol PacketFault {
  var packets: StruckPackets { get }

  /// The number of bytes in the packets that the fault is holding and will still pass on.
  var held: Int { mutating get }

  /// Whether the fault must see every packet, including packets that it does not affect.
  var watchesAll: Bool { mutating get }

  /// When to call ``release(all:_:)`` even if no packet arrives.
  var deadline: Instant? { mutating get }

  /// Handles a packet and passes on its replacement, if any. `isStruck` is true if the packet was selected.
  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep)

  /// Passes on the held packets that are due, or all held packets if `all` is set.
  mutating func release(all: Bool, _ step: inout FaultStep)
}

extension PacketFault {
  var held: Int { 0 }
  var watchesAll: Bool { false }
  var deadline: Instant? { nil }
  mutating func release(all: Bool, _ step: inout FaultStep) {}
}

extension FaultKind where Self: PacketFault {
  static var harm: Fault.Harm { .packets }
  func makeStage(_ unit: FaultUnit) -> any FaultStage { PacketStage(self, unit) }
}

/// The stage for packet faults. The stage finds the packets in a stream, selects some of them at random, and passes the
/// selected packets to the fault.
///
/// The fault is stored as an existential, because generic code would look up type metadata for each packet.
struct PacketStage: FaultStage {
  private var cutter: PacketCutter
  private var selection: PacketSelection

  init(_ effect: any PacketFault, _ unit: FaultUnit) {
    cutter = PacketCutter(unit: unit)
    selection = PacketSelection(effect: effect)
  }

  var held: Int { mutating get { cutter.held + selection.effect.held } }
  var deadline: Instant? { mutating get { selection.effect.deadline } }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    if selection.isNever, held == 0 { return .whole }
    return cutter.cut(bytes, &selection, &step)
  }

  mutating func handleTimeout(_ step: inout FaultStep) { selection.effect.release(all: false, &step) }

  mutating func finish(_ step: inout FaultStep) {
    cutter.finish(&step)
    selection.effect.release(all: true, &step)
  }
}

/// Selects the affected packets by kind, at random, and in bursts.
struct PacketSelection {
  var effect: any PacketFault
  private let packets: StruckPackets
  /// How many more packets to affect before drawing another random number.
  private var left = 0
  private var isStruck = false

  init(effect: any PacketFault) {
    (self.effect, packets) = (effect, effect.packets)
  }

  var isNever: Bool { packets.chance.millionths == 0 }

  /// Returns true if a packet is selected. The header is nil for transfers and for frames that are not link packets.
  mutating func wants(_ header: PacketHeader?, _ step: inout FaultStep) -> Bool {
    isStruck = packets.kind.includes(header) && strikes(&step.random)
    return isStruck || effect.watchesAll
  }

  private mutating func strikes(_ random: inout SeededRandom) -> Bool {
    if left == 0, packets.chance.happens(using: &random) { left = packets.burst }
    guard left > 0 else { return false }
    left -= 1
    return true
  }

  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, _ step: inout FaultStep) {
    if isStruck { step.strike(packet) }
    effect.act(packet, header, isStruck: isStruck, &step)
  }
}

/// Which packets a fault affects: the kind of packet, the share of packets, and how many packets in a row.
public struct StruckPackets: Equatable, Sendable {
  /// The share of packets that are affected.
  public var chance = Chance.percent(1)
  /// The kind of packets that can be affected.
  public var kind = PacketKind.any
  /// How many packets in a row are affected.
  public var burst = 1

  /// Creates the default selection of packets.
  public init() {}

  static let format = Record("packets", "which packets are affected", StruckPackets()) {
    Field("chance", \.chance, .chance, "fraction of packets affected")
    Field("kind", \.kind, .choice, "which packets can be affected")
    Field("burst", \.burst, .integer(1...1_000), "number of consecutive packets affected")
  }
}

/// The kinds of packets that a packet fault can affect.
public enum PacketKind: String, CaseIterable, Sendable {
  /// Every packet, including detection sequences and other iAP1 frames.
  case any
  /// Packets with session data.
  case data
  /// Acknowledgements without data.
  case ack
  case syn

  func includes(_ header: PacketHeader?) -> Bool {
    guard let header else { return self == .any }
    switch self {
    case .any: return true
    case .data: return header.payloadCount > 0 && header.session != 0
    case .ack: return header.payloadCount == 0 && header.control == .ack
    case .syn: return header.control.contains(.syn)
    }
  }
}

/// Finds the packets in a stream for packet faults. Bytes that may be the beginning of a packet are held back.
///
/// The scanner decides what counts as a packet. Bytes between packets are passed on unchanged, so a fault changes only
/// the packets that it affects.
struct PacketCutter {
  /// Wraps the scanner in an object, because a stage must be copyable and a scanner is not.
  private final class Box {
    // Exclusivity checking is off, because this runs for every packet. A scanner calls no other code.
    @exclusivity(unchecked) var scanner = PacketScanner()
  }

  private let unit: FaultUnit
  private let box = Box()
  /// Bytes that may be the beginning of a packet.
  private var undecided: [UInt8] = []

  init(unit: FaultUnit) {
    self.unit = unit
  }

  var held: Int { undecided.count }

  /// Calls `body` with each position in `bytes` where a packet ends. Do not also call ``cut`` on the same scanner.
  mutating func countPackets(in bytes: RawSpan, _ body: (Int) -> Void) {
    guard unit == .linkPackets else { return body(bytes.byteCount) }
    var offset = 0
    while let piece = box.scanner.next(in: bytes, at: &offset) {
      // A packet that began in an earlier chunk may end in this chunk.
      if Self.size(of: piece) != nil { body(offset) }
    }
  }

  /// Passes the selected packets to the fault. All other bytes are passed on unchanged.
  mutating func cut(
    _ bytes: RawSpan, _ selection: inout PacketSelection, _ step: inout FaultStep
  ) -> FaultPassage {
    guard unit == .linkPackets else {
      guard selection.wants(nil, &step) else { return .whole }
      selection.act(bytes, nil, &step)
      return .changed
    }
    if undecided.isEmpty { return search(bytes, fresh: bytes, &selection, &step) }
    var all: [UInt8] = []
    swap(&all, &undecided)
    bytes.withUnsafeBytes { all.append(contentsOf: $0) }
    return search(all.span.bytes, fresh: bytes, &selection, &step)
  }

  /// `fresh` is the part at the end of `all` that the scanner has not seen yet.
  private mutating func search(
    _ all: RawSpan, fresh: RawSpan, _ selection: inout PacketSelection, _ step: inout FaultStep
  ) -> FaultPassage {
    let seen = all.byteCount - fresh.byteCount
    var offset = 0
    var passed = 0
    while let piece = box.scanner.next(in: fresh, at: &offset) {
      guard let size = Self.size(of: piece) else { continue }
      let end = seen + offset - box.scanner.heldCount
      let header = Self.header(of: piece)
      guard selection.wants(header, &step) else { continue }
      step.pass(all.extracting(passed..<end - size))
      selection.act(all.extracting(end - size..<end), header, &step)
      passed = end
    }
    let decided = all.byteCount - box.scanner.heldCount
    if seen == 0, passed == 0, decided == all.byteCount { return .whole }
    step.pass(all.extracting(passed..<decided))
    all.extracting(decided..<all.byteCount).withUnsafeBytes { undecided.append(contentsOf: $0) }
    return .changed
  }

  mutating func finish(_ step: inout FaultStep) {
    step.pass(undecided.span.bytes)
    undecided.removeAll(keepingCapacity: true)
    box.scanner.forget()
  }

  private static func header(of piece: PacketScanner.Piece) -> PacketHeader? {
    switch piece {
    case .packet(let header, _), .spoiled(let header, _): header
    case .detection, .legacy, .skipped: nil
    }
  }

  private static func size(of piece: PacketScanner.Piece) -> Int? {
    switch piece {
    case .packet(let header, _), .spoiled(let header, _): Int(header.length)
    case .detection: PacketWriter.detection.count
    case .legacy(.input(let range)), .legacy(.carry(let range)): range.count
    case .skipped: nil
    }
  }
}
