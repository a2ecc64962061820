import AccessoryCore
import AccessoryFormats

// These faults hold bytes back and pass them on later, in order.

/// A stage that holds chunks until they are due.
///
/// A full stage accepts more bytes only after it has passed on half of the held bytes, so a waiting sender gets a
/// useful amount of room at once.
protocol HoldingStage: FaultStage {
  var queue: ChunkQueue { get set }
  var capacity: Int { get }
}

extension HoldingStage {
  var held: Int { queue.count }
  var room: Int { queue.count * 2 <= capacity ? capacity - queue.count : 0 }
  var deadline: Instant? { queue.nextDue }

  mutating func handleTimeout(_ step: inout FaultStep) { queue.pass(to: &step, until: step.now) }
}

extension Field {
  static func capacity(_ path: Property<Root, Int>) -> Field {
    Field("capacity", path, .integer(1...16_777_216), "how many bytes can be queued before the sender must wait")
  }
}

extension Fault {
  /// Delays every byte without changing the order of the bytes.
  public struct Latency: FaultKind {
    /// The delay for every byte.
    public var delay: Duration
    /// The maximum random time that is added to the delay.
    public var jitter: Duration
    /// How many bytes may be held before the sender has to wait.
    public var capacity = 65_536

    /// Creates a delay.
    public init(delay: Duration = .milliseconds(50), jitter: Duration = .zero) {
      (self.delay, self.jitter) = (delay, jitter)
    }

    static let format = Record("latency", "delays bytes without reordering them", Latency()) {
      Field("delay", \.delay, .duration(.zero ... .seconds(3600)), "delay of each byte", isRequired: true)
      Field("jitter", \.jitter, .duration(.zero ... .seconds(3600)), "maximum additional random delay")
      Field.capacity(\.capacity)
    }.example("latency,delay=20ms,jitter=10ms")

    var effect: Effect { .latency(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      delay = random.milliseconds(0...60)
      jitter = random.milliseconds(0...60)
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage { Stage(fault: self) }

    private struct Stage: HoldingStage {
      let fault: Latency
      var capacity: Int { fault.capacity }
      var queue = ChunkQueue()

      mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
        var due = step.now + fault.delay
        if fault.jitter > .zero {
          due = due + .nanoseconds(Int64.random(in: 0...fault.jitter.wholeNanoseconds, using: &step.random))
        }
        if let last = queue.lastDue { due = max(due, last) }
        if due <= step.now, queue.isEmpty { return .whole }
        queue.append(bytes, due: due)
        step.hit(bytes: bytes.byteCount)
        return .changed
      }
    }
  }

  /// A limit on the rate in bytes per second. External Accessory over Bluetooth achieves about 7,500 bytes per second,
  /// far less than the radio can carry.
  public struct Rate: FaultKind {
    /// The rate in bytes per second.
    public var bytes: Int
    /// How many bytes may be held before the sender has to wait.
    public var capacity: Int

    /// Creates a rate limit.
    public init(bytes: Int = 7_500, capacity: Int = 4_096) { (self.bytes, self.capacity) = (bytes, capacity) }

    static let format = Record("rate", "limits the throughput", Rate()) {
      Field("bytes", \.bytes, .integer(1...1_000_000_000), "bytes per second")
      Field.capacity(\.capacity)
    }.example("rate,bytes=7500")

    var effect: Effect { .rate(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      bytes = random.number(4_000...400_000)
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage { Stage(fault: self) }

    /// A chunk is passed on in pieces. Each piece takes about ten milliseconds and is passed on when its last byte is
    /// due. Due times are computed from the rate, so timers that fire late do not slow down the line.
    private struct Stage: HoldingStage {
      let fault: Rate
      var capacity: Int { fault.capacity }
      var queue = ChunkQueue()
      var isFree = Instant.origin

      mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
        let piece = max(1, fault.bytes / 100)
        var offset = 0
        isFree = max(isFree, step.now)
        while offset < bytes.byteCount {
          let count = min(piece, bytes.byteCount - offset)
          isFree = isFree + .nanoseconds(count * 1_000_000_000 / fault.bytes)
          queue.append(bytes.extracting(offset..<offset + count), due: isFree)
          offset += count
        }
        step.hit(bytes: bytes.byteCount)
        return .changed
      }
    }
  }

  /// Single writes of more than about 2 KB become many times slower, but smaller writes stay fast (field failure W10).
  public struct Collapse: FaultKind {
    /// The size in bytes of the largest write that is still fast.
    public var above = 2_048
    /// The rate of larger writes in bytes per second.
    public var rate = 2_000
    /// How many bytes may be held before the sender has to wait.
    public var capacity = 65_536

    /// Creates the fault with its default parameters.
    public init() {}

    static let directions = [Directions.out, .in, .both]

    static let format = Record("collapse", "slows down writes larger than a limit", Collapse()) {
      Field("above", \.above, .integer(1...65_536), "writes larger than this many bytes are slow")
      Field("rate", \.rate, .integer(1...1_000_000_000), "how fast larger writes are sent, in bytes per second")
      Field.capacity(\.capacity)
    }.example("collapse,above=512,rate=1000")

    var effect: Effect { .collapse(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      above = random.spread(20...4_096)
      rate = random.number(5_000...100_000)
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage { Stage(fault: self) }

    private struct Stage: HoldingStage {
      let fault: Collapse
      var capacity: Int { fault.capacity }
      var queue = ChunkQueue()

      mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
        let start = max(step.now, queue.lastDue ?? step.now)
        if bytes.byteCount > fault.above {
          queue.append(bytes, due: start + .nanoseconds(bytes.byteCount * 1_000_000_000 / fault.rate))
          step.hit(bytes: bytes.byteCount)
          return .changed
        }
        if queue.isEmpty { return .whole }
        queue.append(bytes, due: start)
        return .changed
      }
    }
  }

  /// Passes on nothing for a while but loses nothing, like a busy device or a radio that is briefly out of range.
  public struct Stall: FaultKind {
    /// How many bytes may be held before the sender has to wait.
    public var capacity = 65_536

    /// Creates the fault with its default parameters.
    public init() {}

    static let format = Record(
      "stall", "holds back everything while the fault lasts, and passes it on afterwards", Stall()
    ) {
      Field.capacity(\.capacity)
    }.example("stall,after=1s,for=3s")

    var effect: Effect { .stall(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      fault.lasting = random.milliseconds(1...2_500)
      fault.after = random.milliseconds(0...3_000)
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage { Stage(capacity: capacity) }

    private struct Stage: FaultStage {
      let capacity: Int
      var queue = ChunkQueue()
      var held: Int { queue.count }
      var room: Int { capacity - queue.count }

      mutating func begin(_ step: inout FaultStep) {
        step.hit(bytes: 0)
        step.report("nothing passes from now on")
      }

      mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
        queue.append(bytes)
        return .changed
      }

      mutating func end(_ step: inout FaultStep) {
        step.report("bytes pass again; \(queue.count) were queued")
        queue.pass(to: &step)
      }
    }
  }

  /// Reads small amounts at intervals, so all buffers before the reader fill up.
  public struct SlowReader: FaultKind {
    /// How many bytes are read at a time.
    public var bytes = 512
    /// The pause between two reads.
    public var every = Duration.milliseconds(20)

    /// Creates the fault with its default parameters.
    public init() {}

    static let directions = [Directions.in, .out, .both]

    static let format = Record("slow-reader", "reads a few bytes at a time, with pauses", SlowReader()) {
      Field("bytes", \.bytes, .integer(1...1_048_576), "bytes per read")
      Field("every", \.every, .duration(.microseconds(1) ... .seconds(3600)), "pause between reads")
    }.example("slow-reader,bytes=100,every=50ms")

    var effect: Effect { .slowReader(self) }

    mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom) {
      bytes = random.number(200...4_096)
      every = random.milliseconds(1...20)
    }

    func makeStage(_ unit: FaultUnit) -> any FaultStage { Stage(fault: self) }

    private struct Stage: FaultStage {
      let fault: SlowReader
      var queue = ChunkQueue()
      var nextRead = Instant.origin
      var held: Int { queue.count }
      var room: Int { fault.bytes - queue.count }
      var deadline: Instant? { queue.isEmpty ? nil : nextRead }

      mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
        queue.append(bytes)
        nextRead = max(nextRead, step.now)
        step.hit(bytes: bytes.byteCount)
        return .changed
      }

      mutating func handleTimeout(_ step: inout FaultStep) {
        queue.pass(to: &step)
        nextRead = step.now + fault.every
      }
    }
  }
}
