import AccessoryCore
import AccessoryFormats
import IAP2

/// What a packet fault does with the packets that it affects.
protocol PacketFault {
  /// Bytes of packets that are held and will still be passed on.
  var held: Int { get }

  /// Whether it must see every packet, affected or not.
  var watchesAll: Bool { get }

  /// When it wants to be called without a packet.
  var deadline: Instant? { get }

  /// Handles a packet; `isStruck` is whether the fault affects it. The bytes that are passed on replace the packet.
  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep)

  /// Passes on the held packets whose time has come, or all of them.
  mutating func release(all: Bool, _ step: inout FaultStep)
}

extension PacketFault {
  var held: Int { 0 }
  var watchesAll: Bool { false }
  var deadline: Instant? { nil }
  mutating func release(all: Bool, _ step: inout FaultStep) {}
}

/// The base of the packet faults: finds the packets, selects some at random, and passes those to the fault.
struct PacketStage<Strike: PacketFault>: FaultStage {
  private var cutter: PacketCutter
  private var dice: PacketDice<Strike>

  init(_ strike: Strike, _ packets: StruckPackets, _ unit: FaultUnit) {
    cutter = PacketCutter(unit: unit)
    dice = PacketDice(strike: strike, packets)
  }

  var held: Int { cutter.held + dice.strike.held }
  var deadline: Instant? { dice.strike.deadline }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    if dice.neverFall, held == 0 { return .whole }
    return cutter.cut(bytes, &dice, &step)
  }

  mutating func handleTimeout(_ step: inout FaultStep) { dice.strike.release(all: false, &step) }

  mutating func finish(_ step: inout FaultStep) {
    cutter.finish(&step)
    dice.strike.release(all: true, &step)
  }
}

/// Selects the packets that are affected: those of a kind, at random, and how many in a row.
struct PacketDice<Strike: PacketFault>: PacketVisitor {
  var strike: Strike
  private let packets: StruckPackets
  /// How many more are affected without a new random number.
  private var left = 0
  private var isStruck = false

  init(strike: Strike, _ packets: StruckPackets) {
    self.strike = strike
    self.packets = packets
  }

  var neverFall: Bool { packets.chance.millionths == 0 }

  mutating func wants(_ header: PacketHeader?, _ step: inout FaultStep) -> Bool {
    isStruck = packets.kind.includes(header) && fall(&step.random)
    return isStruck || strike.watchesAll
  }

  private mutating func fall(_ random: inout SeededRandom) -> Bool {
    if left == 0, packets.chance.happens(using: &random) { left = packets.burst }
    guard left > 0 else { return false }
    left -= 1
    return true
  }

  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, _ step: inout FaultStep) {
    strike.act(packet, header, isStruck: isStruck, &step)
  }
}

/// Which packets a fault affects: those of a kind, at random, and how many in a row.
public struct StruckPackets: Equatable, Sendable {
  /// The share of packets that are affected.
  public var chance = Chance.percent(1)
  /// The kind of packets that can be affected.
  public var kind = PacketKind.any
  /// How many packets in a row are affected.
  public var burst = 1

  /// The defaults.
  public init() {}

  static let format = Record("packets", "which packets are affected", StruckPackets()) {
    Field("chance", \.chance, .chance, "share of packets affected")
    Field("kind", \.kind, .choice, "which packets can be affected")
    Field("burst", \.burst, .integer(1...1_000), "number of consecutive packets affected")
  }
}

/// The kinds of packets that a packet fault can affect.
public enum PacketKind: String, CaseIterable, Sendable {
  /// Every packet, detection and other frames of iAP1 included.
  case any
  /// Packets that carry bytes of a session.
  case data
  /// Bare acknowledgements.
  case ack
  /// Packets that set up the link.
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
