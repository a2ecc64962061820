import AccessoryCore
import AccessoryFormats
import IAP2

// These faults move the boundaries of chunks, end the stream, or add bytes at the beginning.

extension Fault {
  /// Splits chunks at random positions to break readers that assume that each read returns one message.
  public struct Split: FaultKind {
    /// The maximum size of a piece in bytes.
    public var size = 7
    /// The time between two pieces.
    public var gap = Duration.zero
    /// How many bytes the fault may hold before the sender has to wait.
    public var capacity = 65_536

    /// Creates the fault with its default parameters.
    public init() {}

    static let format = Record("split", "cuts chunks into pieces of random size", Split()) {
      Field("size", \.size, .integer(1...65_536), "maximum size of a piece, in bytes")
      Field("gap", \.gap, .duration(.zero ... .seconds(60)), "time between pieces")
      Field.capacity(\.capacity)
    }.example("split,size=20")

    var effect: Effect { .split(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      // Tiny pieces are rare because they take a hundred times as long, and because the scanner's own tests cover them.
      size = random.percent(3) ? random.number(1...15) : random.spread(16...3_000)
      if size > 50, random.percent(30) { gap = random.milliseconds(0...3) }
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage { Stage(fault: self) }

    private struct Stage: HoldingStage {
      let fault: Split
      var capacity: Int { fault.capacity }
      var queue = ChunkQueue()
      var next = Instant.origin

      mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
        if bytes.byteCount == 1, fault.gap == .zero { return .whole }
        var offset = 0
        while offset < bytes.byteCount {
          let count = min(Int.random(in: 1...fault.size, using: &step.random), bytes.byteCount - offset)
          let piece = bytes.extracting(offset..<offset + count)
          next = max(next, step.now)
          if next <= step.now, queue.isEmpty { step.pass(piece) } else { queue.append(piece, due: next) }
          next = next + fault.gap
          offset += count
        }
        step.hit(bytes: bytes.byteCount)
        return .changed
      }
    }
  }

  /// Joins chunks, so that data that was sent separately arrives in one chunk.
  public struct Glue: FaultKind {
    /// The number of bytes to collect before they are delivered.
    public var size = 4_096
    /// The maximum time to wait for more bytes.
    public var wait = Duration.milliseconds(20)

    /// Creates the fault with its default parameters.
    public init() {}

    static let format = Record("glue", "merges chunks into larger ones", Glue()) {
      Field("size", \.size, .integer(1...65_536), "number of bytes to collect before passing them on")
      Field(
        "wait", \.wait, .duration(.microseconds(1) ... .seconds(60)),
        "how long to wait for enough bytes before passing on what has arrived")
    }.example("glue,size=8192")

    var effect: Effect { .glue(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      size = random.spread(2...8_000)
      wait = random.milliseconds(1...40)
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage { Stage(fault: self) }

    private struct Stage: FaultStage {
      let fault: Glue
      var gathered: [UInt8] = []
      var chunks = 0
      var deadline: Instant?
      var held: Int { gathered.count }

      mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
        if gathered.isEmpty {
          if bytes.byteCount >= fault.size { return .whole }
          deadline = step.now + fault.wait
        }
        bytes.withUnsafeBytes { gathered.append(contentsOf: $0) }
        chunks += 1
        if gathered.count >= fault.size { passAll(&step) }
        return .changed
      }

      mutating func handleTimeout(_ step: inout FaultStep) { passAll(&step) }
      mutating func end(_ step: inout FaultStep) { passAll(&step) }
      mutating func finish(_ step: inout FaultStep) { passAll(&step) }

      private mutating func passAll(_ step: inout FaultStep) {
        if chunks > 1 { step.hit(bytes: gathered.count) }
        step.pass(gathered.span.bytes)
        gathered.removeAll(keepingCapacity: true)
        chunks = 0
        deadline = nil
      }
    }
  }

  /// Unplugs the cable, either immediately or after a number of bytes or packets have passed in one direction since the
  /// fault began.
  public struct Cut: FaultKind {
    /// The number of bytes in one direction after which the cable is cut, or 0 for no limit.
    public var bytes: Int
    /// The number of packets in one direction after which the cable is cut, or 0 for no limit.
    public var packets: Int

    /// Creates a fault that cuts the cable after a number of bytes or packets, or immediately if neither is given.
    public init(bytes: Int = 0, packets: Int = 0) { (self.bytes, self.packets) = (bytes, packets) }

    static let harm = Harm.end

    static let format = Record(
      "cut", "ends the connection after a given time, number of bytes or number of packets", Cut()
    ) {
      Field(
        "bytes", \.bytes, .integer(0...1_000_000_000),
        "cut the connection after N bytes in one direction; 0 means no limit")
      Field(
        "packets", \.packets, .integer(0...1_000_000_000),
        "cut the connection after N packets in one direction; 0 means no limit")
    }.example("cut,packets=20,out")

    var effect: Effect { .cut(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      self.packets = random.number(1...30)
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage {
      Stage(
        bytesLeft: bytes == 0 ? nil : bytes, packetsLeft: packets == 0 ? nil : packets,
        cutter: PacketCutter(unit: unit))
    }

    /// Passes on bytes up to the limit and then cuts the channel. Without a limit, the channel is cut as soon as the
    /// fault's window opens.
    private struct Stage: FaultStage {
      var bytesLeft: Int?
      var packetsLeft: Int?
      var cutter: PacketCutter

      mutating func begin(_ step: inout FaultStep) {
        if bytesLeft == nil, packetsLeft == nil { cut("the cable is pulled", &step) }
      }

      mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
        if packetsLeft != nil, let end = endOfLastPacket(bytes) {
          step.pass(bytes.extracting(0..<end))
          return cut("the cable is pulled after the last packet allowed", &step)
        }
        guard let left = bytesLeft else { return .whole }
        guard bytes.byteCount >= left else {
          bytesLeft = left - bytes.byteCount
          return .whole
        }
        step.pass(bytes.extracting(0..<left))
        return cut("the cable is pulled after the last byte allowed", &step)
      }

      /// Returns the position in this chunk where the last allowed packet ends, or nil if more packets may pass.
      private mutating func endOfLastPacket(_ bytes: RawSpan) -> Int? {
        var last: Int?
        var left = packetsLeft ?? 0
        cutter.countPackets(in: bytes) { end in
          left -= 1
          if left == 0 { last = end }
        }
        packetsLeft = left
        return last
      }

      @discardableResult
      private func cut(_ why: String, _ step: inout FaultStep) -> FaultPassage {
        step.hit(bytes: 0)
        step.cutChannel(why)
        return .changed
      }
    }
  }

  /// Accepts bytes in one direction but does not deliver them, while the other direction still works. Only a timeout
  /// can detect this fault.
  public struct HalfDead: FaultKind {
    /// Creates the fault, which has no parameters.
    public init() {}

    static let directions = [Directions.out, .in]

    static let harm = Harm.silence

    static let format = Record("half-dead", "loses everything sent in one direction", HalfDead()) {}.example(
      "half-dead,in,after=2s")

    var effect: Effect { .halfDead(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      fault.after = random.milliseconds(0...3_000)
      fault.acts = random.pick([.in, .out])
      if random.percent(60) { fault.lasting = random.milliseconds(1...4_000) }
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage { Stage() }

    private struct Stage: FaultStage {
      mutating func begin(_ step: inout FaultStep) { step.report("everything is lost from now on") }

      mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
        step.hit(bytes: bytes.byteCount)
        return .changed
      }

      mutating func end(_ step: inout FaultStep) { step.report("bytes pass again") }
    }
  }

  /// The endpoint still holds bytes from an earlier session and sends them before the next handshake (field failure
  /// W17).
  public struct Stale: FaultKind {
    /// The kind of stale bytes to send.
    public enum Kind: String, CaseIterable, Sendable {
      case tail
      case packets
      case noise
    }

    /// The kind of stale bytes to send.
    public var kind = Kind.tail
    /// The number of stale bytes. Packets are not truncated, so the actual number may be larger or smaller.
    public var bytes = 64

    /// Creates the fault with its default parameters.
    public init() {}

    static let directions = [Directions.in, .out, .both]

    static let format = Record("stale", "delivers bytes from an earlier session first", Stale()) {
      Field(
        "kind", \.kind, .choice,
        "tail: the end of a packet; packets: whole packets of an earlier link; noise: random bytes")
      Field("bytes", \.bytes, .integer(1...65_536), "number of bytes; with `packets`, rounded up to whole packets")
    }.example("stale,noise,bytes=200")

    var effect: Effect { .stale(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      kind = random.pick([.tail, .packets, .noise])
      bytes = random.spread(1...600)
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage { Stage(fault: self) }

    private struct Stage: FaultStage {
      let fault: Stale

      mutating func begin(_ step: inout FaultStep) {
        let bytes = leftover(&step.random)
        step.pass(bytes.span.bytes)
        step.hit(bytes: bytes.count)
        step.report("\(bytes.count) bytes of an earlier session come first")
      }

      mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage { .whole }

      private func leftover(_ random: inout SeededRandom) -> [UInt8] {
        let count = fault.bytes
        switch fault.kind {
        case .noise: return random.bytes(count)
        case .tail: return packet(payload: count, &random).suffix(count)
        case .packets:
          var bytes: [UInt8] = []
          while bytes.count < count {
            bytes += packet(payload: min(1_000, max(3, count - bytes.count - PacketHeader.overhead)), &random)
          }
          return bytes
        }
      }

      /// Returns a data packet that might remain in a buffer: valid, but not part of the current link.
      private func packet(payload count: Int, _ random: inout SeededRandom) -> [UInt8] {
        let payload = [0, 1] + (2..<max(3, count)).map { UInt8(truncatingIfNeeded: $0) }
        let header = PacketHeader(
          control: .ack, sequence: UInt8.random(in: 0...255, using: &random),
          acknowledgement: UInt8.random(in: 0...255, using: &random), session: 2, payloadCount: payload.count)
        return PacketWriter.packet(header, payload: payload)
      }
    }
  }
}
