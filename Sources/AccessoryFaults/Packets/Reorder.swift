import AccessoryCore
import AccessoryFormats
import IAP2

extension Fault {
  /// Packets that are overtaken by those sent after them.
  public struct Reorder: FaultKind {
    /// Which packets are affected.
    public var packets = StruckPackets()
    /// How many packets overtake each.
    public var by = 1
    /// How long it waits for them at the latest.
    public var wait = Duration.milliseconds(50)

    /// The defaults.
    public init() {}

    static let format = Record("reorder", "delivers packets after later ones", Reorder()) {
      StruckPackets.format.fields(at: \.packets)
      Field("by", \.by, .integer(1...127), "number of later packets that overtake it")
      Field(
        "wait", \.wait, .duration(.microseconds(1) ... .seconds(60)), "deliver after TIME even if fewer packets came"
      )
    }.example("reorder,chance=10%,by=3")

    func makeStage(_ unit: FaultUnit) -> any FaultStage {
      PacketStage(ReorderStrike(by: by, wait: wait), packets, unit)
    }
  }
}

struct ReorderStrike: PacketFault {
  private struct Held {
    var packet: [UInt8]
    /// How many packets are still to overtake it.
    var left: Int
    var due: Instant
  }

  /// More than this are not held at once.
  static let capacity = 64 * 1024

  let by: Int
  let wait: Duration
  private var packets: [Held] = []
  private(set) var held = 0

  init(by: Int, wait: Duration) {
    self.by = by
    self.wait = wait
  }

  var watchesAll: Bool { !packets.isEmpty }

  var deadline: Instant? { packets.map(\.due).min() }

  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
    if isStruck, held + packet.byteCount <= Self.capacity {
      packets.append(Held(packet: packet.withUnsafeBytes { [UInt8]($0) }, left: by, due: step.now + wait))
      held += packet.byteCount
      return
    }
    step.pass(packet)
    for index in packets.indices { packets[index].left -= 1 }
    // A packet that was passed on because its time was over was not overtaken, and does not count.
    for late in packets where late.left == 0 { step.hit(bytes: late.packet.count) }
    release(&step) { $0.left == 0 }
  }

  mutating func release(all: Bool, _ step: inout FaultStep) {
    let now = step.now
    release(&step) { all || $0.due <= now }
  }

  private mutating func release(_ step: inout FaultStep, _ isDue: (Held) -> Bool) {
    for late in packets where isDue(late) {
      step.pass(late.packet.span.bytes)
      held -= late.packet.count
    }
    packets.removeAll(where: isDue)
  }
}
