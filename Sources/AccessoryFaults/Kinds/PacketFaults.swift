import AccessoryCore
import AccessoryFormats
import IAP2

// These faults act on individual packets.

extension Fault {
  /// Loses some packets.
  public struct Loss: FaultKind, PacketFault {
    /// Which packets are affected.
    public var packets = StruckPackets()

    /// Creates the fault with its default parameters.
    public init() {}

    static let weight = 3

    static let format = Record("loss", "loses packets", Loss()) { StruckPackets.format.fields(at: \.packets) }.example(
      "loss,chance=2%,burst=3")

    var effect: Effect { .loss(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      self.packets = packets
      self.packets.burst = random.spread(1...12)
    }

    func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
      step.hit(bytes: packet.byteCount)
    }
  }

  /// Delivers some packets more than once.
  public struct Duplicate: FaultKind, PacketFault {
    /// Which packets are affected.
    public var packets = StruckPackets()
    /// How many additional times each affected packet arrives.
    public var copies = 1

    /// Creates the fault with its default parameters.
    public init() {}

    static let weight = 2

    static let format = Record("duplicate", "delivers packets more than once", Duplicate()) {
      StruckPackets.format.fields(at: \.packets)
      Field("copies", \.copies, .integer(1...16), "number of additional copies")
    }.example("duplicate,chance=5%")

    var effect: Effect { .duplicate(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      self.packets = packets
      copies = random.spread(1...4)
    }

    func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
      for _ in 0...copies { step.pass(packet) }
      step.hit(bytes: packet.byteCount * copies)
    }
  }

  /// Inserts random bytes before packets, as on a serial line with a bad contact. Receivers must still find the packet
  /// that follows the random bytes.
  public struct Noise: FaultKind, PacketFault {
    /// Which packets are affected.
    public var packets = StruckPackets()
    /// How many random bytes precede each packet.
    public var bytes = 8

    /// Creates the fault with its default parameters.
    public init() {}

    static let format = Record("noise", "inserts random bytes before packets", Noise()) {
      StruckPackets.format.fields(at: \.packets)
      Field("bytes", \.bytes, .integer(1...65_536), "number of bytes inserted before each packet")
    }.example("noise,chance=5%,bytes=20")

    var effect: Effect { .noise(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      self.packets = packets
      bytes = random.spread(1...300)
    }

    func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
      step.pass(step.random.bytes(bytes).span.bytes)
      step.pass(packet)
      step.hit(bytes: bytes)
    }
  }

  /// Flips one bit of a packet. The checksum reveals the flipped bit unless `sum=right` corrects the checksum, in which
  /// case the link cannot detect the change.
  public struct Corrupt: FaultKind, PacketFault {
    /// The part of a packet where a bit is flipped.
    public enum Part: String, CaseIterable, Sendable {
      case payload
      case header
      case either
    }

    /// Which packets are affected.
    public var packets = StruckPackets()
    /// The part of the packet where a bit is flipped.
    public var part = Part.payload
    /// Whether to correct the checksum after the bit flip.
    public var mendsSum = false

    /// Creates the fault with its default parameters.
    public init() {}

    static let weight = 2

    static let format = Record("corrupt", "flips one bit of a packet", Corrupt()) {
      StruckPackets.format.fields(at: \.packets)
      Field("part", \.part, .choice, "the part of the packet in which a bit is flipped")
      Field(
        "sum", \.mendsSum, .words([("wrong", false), ("right", true)]),
        "whether the checksum is corrected or left wrong")
    }.example("corrupt,chance=2%,header")

    var effect: Effect { .corrupt(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      self.packets = packets
      part = random.pick([.payload, .header, .either])
      if random.percent(15) {
        // This fault is meant to produce wrong sequence numbers with valid checksums. Few bit flips hit the sequence
        // number, so this fault is applied to more packets than other faults are.
        self.packets.chance = Chance(millionths: random.number(50_000...300_000))
        self.packets.kind = .data
        (mendsSum, part) = (true, .header)
      }
    }

    func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
      var bytes = packet.withUnsafeBytes { [UInt8]($0) }
      guard let place = place(in: bytes.count, header, &step.random) else { return step.pass(packet) }
      let flipped: UInt8 = 1 << UInt8.random(in: 0..<8, using: &step.random)
      let before = bytes[place]
      bytes[place] ^= flipped
      if mendsSum, let header {
        let sum = place < PacketHeader.size ? PacketHeader.size - 1 : Int(header.length) - 1
        bytes[sum] &+= before &- bytes[place]
      }
      step.pass(bytes.span.bytes)
      step.hit(bytes: 1)
    }

    /// Returns the position of the byte to change, or nil if there is none. If the checksum will be corrected, the
    /// checksum and the bytes that mark the start of a packet are excluded.
    private func place(in count: Int, _ header: PacketHeader?, _ random: inout SeededRandom) -> Int? {
      guard let header else { return count > 0 ? Int.random(in: 0..<count, using: &random) : nil }
      let inHeader = mendsSum ? 2..<PacketHeader.size - 1 : 0..<PacketHeader.size
      let inPayload = PacketHeader.size..<PacketHeader.size + header.payloadCount
      let range =
        switch part {
        case .header: inHeader
        case .payload: inPayload
        case .either: inPayload.isEmpty || Bool.random(using: &random) ? inHeader : inPayload
        }
      return range.isEmpty ? nil : Int.random(in: range, using: &random)
    }
  }

  /// Delays some packets so that later packets overtake them.
  public struct Reorder: FaultKind {
    /// Which packets are affected.
    public var packets = StruckPackets()
    /// How many packets overtake each affected packet.
    public var by = 1
    /// The maximum time to hold a packet while it waits to be overtaken.
    public var wait = Duration.milliseconds(50)

    /// Creates the fault with its default parameters.
    public init() {}

    static let harm = Harm.packets
    static let weight = 2

    static let format = Record("reorder", "delivers packets late, so that later packets overtake them", Reorder()) {
      StruckPackets.format.fields(at: \.packets)
      Field("by", \.by, .integer(1...127), "number of later packets that overtake the delayed packet")
      Field(
        "wait", \.wait, .duration(.microseconds(1) ... .seconds(60)),
        "maximum delay, after which the packet is delivered even if fewer packets have overtaken it"
      )
    }.example("reorder,chance=10%,by=3")

    var effect: Effect { .reorder(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      self.packets = packets
      by = random.spread(1...12)
      wait = random.milliseconds(1...100)
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage { PacketStage(Delayed(fault: self), unit) }

    private struct Delayed: PacketFault {
      struct Held {
        var packet: [UInt8]
        var left: Int
        var due: Instant
      }

      static let capacity = 64 * 1024

      let fault: Reorder
      var waiting: [Held] = []
      var held = 0

      var packets: StruckPackets { fault.packets }
      var watchesAll: Bool { !waiting.isEmpty }
      var deadline: Instant? { waiting.map(\.due).min() }

      mutating func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
        if isStruck, held + packet.byteCount <= Self.capacity {
          let bytes = packet.withUnsafeBytes { [UInt8]($0) }
          waiting.append(Held(packet: bytes, left: fault.by, due: step.now + fault.wait))
          held += packet.byteCount
          return
        }
        step.pass(packet)
        for index in waiting.indices { waiting[index].left -= 1 }
        // A packet that is released by the time limit was not overtaken, so it does not count as affected.
        for late in waiting where late.left == 0 { step.hit(bytes: late.packet.count) }
        release(&step) { $0.left == 0 }
      }

      mutating func release(all: Bool, _ step: inout FaultStep) {
        let now = step.now
        release(&step) { all || $0.due <= now }
      }

      private mutating func release(_ step: inout FaultStep, _ isDue: (Held) -> Bool) {
        for late in waiting where isDue(late) {
          step.pass(late.packet.span.bytes)
          held -= late.packet.count
        }
        waiting.removeAll(where: isDue)
      }
    }
  }
}
