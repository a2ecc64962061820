import AccessoryFormats

/// A fault on a channel, as given by an option such as `--fault loss,chance=5%,in`.
///
/// ``FaultChannel`` applies faults to the channels of simulated and real accessories. ``effect`` contains the kind of
/// fault and its parameters. All properties except ``effect`` are common to all kinds of faults.
///
/// ```swift
/// let slow = try Fault("rate,bytes=7500,for=20s")
/// let channel = FaultChannel(around: socket, [slow], random: SeededRandom(seed: 7), on: loop)
/// ```
public struct Fault: Equatable, Sendable, CustomStringConvertible {
  /// The kinds of faults.
  public enum Effect: Equatable, Sendable {
    case latency(Latency)
    case rate(Rate)
    case split(Split)
    case glue(Glue)
    case stall(Stall)
    case halfDead(HalfDead)
    case cut(Cut)
    case slowReader(SlowReader)
    case collapse(Collapse)
    case stale(Stale)
    case loss(Loss)
    case duplicate(Duplicate)
    case reorder(Reorder)
    case corrupt(Corrupt)
    case noise(Noise)

    /// The directions that a fault of this kind can affect, starting with the default.
    public var directions: [Directions] { type(of: kind).directions }

    package var harm: Harm { type(of: kind).harm }
    /// How often random worlds contain a fault of this kind, compared with others that do the same harm.
    package var weight: Int { type(of: kind).weight }

    var kind: any FaultKind {
      switch self {
      case .latency(let fault): fault
      case .rate(let fault): fault
      case .split(let fault): fault
      case .glue(let fault): fault
      case .stall(let fault): fault
      case .halfDead(let fault): fault
      case .cut(let fault): fault
      case .slowReader(let fault): fault
      case .collapse(let fault): fault
      case .stale(let fault): fault
      case .loss(let fault): fault
      case .duplicate(let fault): fault
      case .reorder(let fault): fault
      case .corrupt(let fault): fault
      case .noise(let fault): fault
      }
    }
  }

  /// What a fault does to the bytes of a connection.
  package enum Harm {
    /// The fault delays or splits bytes, but all bytes arrive.
    case none
    /// The fault loses, duplicates, reorders or corrupts packets.
    case packets
    case silence
    case end
  }

  /// The format of all kinds of faults.
  public static let format = OneOf("fault", key: "name", example: "loss,chance=5%", isWrittenAsText: true) {
    Kind(Latency.self)
    Kind(Rate.self)
    Kind(Split.self)
    Kind(Glue.self)
    Kind(Stall.self)
    Kind(HalfDead.self)
    Kind(Cut.self)
    Kind(SlowReader.self)
    Kind(Collapse.self)
    Kind(Stale.self)
    Kind(Loss.self)
    Kind(Duplicate.self)
    Kind(Reorder.self)
    Kind(Corrupt.self)
    Kind(Noise.self)
  }

  /// The directions of a channel, as seen from the end where the fault acts.
  public enum Direction: String, Sendable, CaseIterable {
    case `in`
    case out
  }

  /// The directions that a fault affects.
  public enum Directions: String, Sendable, CaseIterable {
    case both
    case `in`
    case out
  }

  /// What the fault does.
  public var effect: Effect
  /// The directions that the fault affects.
  public var acts: Directions
  /// How long after the start of the channel the fault begins.
  public var after = Duration.zero
  /// How long the fault lasts. Zero means that the fault lasts as long as the channel.
  public var lasting = Duration.zero

  /// Creates a fault that lasts as long as the channel. If `directions` is nil, the fault acts in the default
  /// directions for its kind.
  public init(_ effect: Effect, _ directions: Directions? = nil) {
    self.effect = effect
    acts = directions ?? effect.directions.first ?? .both
  }

  /// Parses `NAME,parameter=value,…`. The name of a parameter may be omitted if the value is one of the parameter's
  /// named choices: `loss,in` means `loss,direction=in`.
  public init(_ text: String) throws(SourceProblems) { self = try Self.format.read(text) }

  /// The fault's name, for example `loss`.
  public var name: String {
    // Having the format try each kind in turn would be too slow for worlds that count faults by name.
    func name<Kind: FaultKind>(_ kind: Kind) -> String { Kind.format.name }
    return name(effect.kind)
  }

  /// The directions that the fault affects.
  public var directions: [Direction] {
    switch acts {
    case .both: Direction.allCases
    case .in: [.in]
    case .out: [.out]
    }
  }

  /// Chooses random parameters with which the fault has an effect in a world that lasts a few seconds.
  package mutating func vary(striking packets: StruckPackets, _ random: inout PlanRandom) {
    var kind = effect.kind
    kind.vary(&self, striking: packets, &random)
    effect = kind.effect
  }

  /// How long the fault lasts, or nil if it lasts as long as the channel.
  public var length: Duration? { lasting == .zero ? nil : lasting }

  /// Whether the fault unplugs the cable.
  public var cuts: Bool { if case .cut = effect { true } else { false } }

  /// The form used on the command line, including all parameters that differ from their defaults.
  public var description: String { Self.format.text(self) }
}

/// One kind of fault: its parameters, their format, and its state machine.
protocol FaultKind: Equatable, Sendable {
  static var directions: [Fault.Directions] { get }
  static var harm: Fault.Harm { get }
  static var weight: Int { get }

  static var format: Record<Self> { get }

  var effect: Fault.Effect { get }

  func makeStage(_ unit: FaultUnit) -> any FaultStage

  /// Chooses random parameters with which the fault has an effect in a world that lasts a few seconds. If the fault
  /// selects packets, it affects `packets`. The time at which it acts is part of `fault`.
  mutating func vary(_ fault: inout Fault, striking packets: StruckPackets, _ random: inout PlanRandom)
}

extension FaultKind {
  static var directions: [Fault.Directions] { [.both, .in, .out] }
  static var harm: Fault.Harm { .none }
  static var weight: Int { 1 }
}

extension Kind<Fault> {
  /// Creates one kind of fault. The parameters that all faults share come last.
  fileprivate init<Payload: FaultKind>(_: Payload.Type) {
    let day = Duration.zero ... .seconds(86_400)
    let shared: [Field<Fault>] = [
      Field(
        "direction", \.acts, .choice(of: Payload.directions),
        "in: bytes that this end receives; out: bytes that this end sends"),
      Field("after", \.after, .duration(day), "time from the start of the connection until the fault begins"),
      Field("for", \.lasting, .duration(day), "how long the fault lasts; 0ms means forever"),
    ]
    self.init(Payload.format, shared: shared, { Fault($0.effect) }) { $0.effect.kind as? Payload }
  }
}

extension [Fault] {
  /// The lowest rate among these faults in bytes per second, or nil if no fault limits the rate.
  /// `LinkSettings.lineRate` is set to this rate so that peers do not send faster than the line can carry.
  public var lineRate: Int? {
    compactMap { if case .rate(let rate) = $0.effect { rate.bytes } else { nil } }.min()
  }
}

/// The combined effects of all faults of the same kind.
public struct FaultTally: Equatable, Sendable {
  /// The kind's name.
  public let fault: String
  /// How many times these faults took effect, and how many bytes they affected.
  public var count: FaultCount

  /// Adds the effects of the faults on a channel to a list with one entry for each kind.
  public static func add(_ channel: FaultChannel, to tallies: inout [FaultTally]) {
    for entry in channel.counts {
      let name = entry.fault.name
      if let index = tallies.firstIndex(where: { $0.fault == name }) {
        tallies[index].count += entry.count
      } else {
        tallies.append(FaultTally(fault: name, count: entry.count))
      }
    }
  }
}

/// What counts as a packet for packet faults.
public enum FaultUnit: Sendable {
  /// A link packet, regardless of how the stream is divided into chunks.
  case linkPackets
  /// A transfer on a native channel. Native channels have no link packets.
  case transfers
}

/// A named chain of faults that imitates a kind of link, such as `--fault bluetooth`. A preset changes only the timing,
/// and works at any address. For real Bluetooth, use the address `bt:`.
///
/// ```swift
/// let chain = try LinkPreset.faults("bluetooth-scanning")   // also accepts any fault: "loss,chance=5%"
/// ```
///
/// The rates come from field reports. Values that no report gives are estimates. The comments on the presets say which
/// values are estimates.
public struct LinkPreset: Equatable, Sendable {
  /// The preset's name in `--fault`.
  public let name: String
  /// A description for help.
  public let summary: String
  /// The faults, in the order that bytes pass through them.
  public let faults: [Fault]

  /// All link presets.
  public static let all = [bluetooth, bluetoothScanning, bluetoothHandsFree, bigWrites, usbHighSpeed]

  /// Bluetooth Classic. The rate of 7,500 bytes per second is the External Accessory throughput given in field reports.
  /// The delay of 10 to 25 ms, a few radio slots, is an estimate.
  public static let bluetooth = LinkPreset(
    name: "bluetooth", summary: "Bluetooth classic: 7,500 bytes/s in each direction, 10 to 25 ms delay",
    faults: [rate(7_500), latency(.milliseconds(10), jitter: .milliseconds(15))])

  /// Bluetooth while the app scans for Bluetooth LE: 60 to 70 % of the throughput for the first 20 seconds.
  public static let bluetoothScanning = LinkPreset(
    name: "bluetooth-scanning", summary: "`bluetooth` while the app scans for BLE: 65 % of the rate for the first 20 s",
    faults: [
      rate(4_875, for: .seconds(20)), rate(7_500, after: .seconds(20)),
      latency(.milliseconds(10), jitter: .milliseconds(15)),
    ])

  /// Bluetooth while hands-free audio shares the radio. In a field report, between 6 and 15 of the 15 frames sent each
  /// second arrived. The rate used here corresponds to 6 frames, the worst case. The delay is an estimate, and is
  /// longer than without audio because audio occupies radio slots.
  public static let bluetoothHandsFree = LinkPreset(
    name: "bluetooth-hfp",
    summary: "`bluetooth` while hands-free audio shares the radio: 40 % of the rate, 10 to 80 ms delay",
    faults: [rate(3_000), latency(.milliseconds(10), jitter: .milliseconds(70))])

  /// Writes of more than about 2 KB become very slow. No report gives a rate for such writes, so 2,000 bytes per second
  /// is an estimate.
  public static let bigWrites = LinkPreset(
    name: "big-writes", summary: "writes above 2,048 bytes slow down to 2,000 bytes/s",
    faults: [Fault(.collapse(Fault.Collapse()))])

  /// Bulk transfers on USB 2.0 high speed: at most 13 packets of 512 bytes per 125 µs, and a delay of 125 µs.
  public static let usbHighSpeed = LinkPreset(
    name: "usb-high-speed", summary: "USB 2.0 bulk: 53,248,000 bytes/s in each direction, 125 µs delay",
    faults: [
      rate(53_248_000, capacity: 65_536), latency(.microseconds(125), jitter: .zero),
    ])

  private static func rate(
    _ bytes: Int, capacity: Int = Fault.Rate().capacity, after: Duration = .zero, for length: Duration = .zero
  ) -> Fault {
    var fault = Fault(.rate(Fault.Rate(bytes: bytes, capacity: capacity)))
    (fault.after, fault.lasting) = (after, length)
    return fault
  }

  private static func latency(_ delay: Duration, jitter: Duration) -> Fault {
    Fault(.latency(Fault.Latency(delay: delay, jitter: jitter)))
  }

  /// Parses the name of a preset or the description of a single fault. For a preset, returns the preset's faults.
  public static func faults(_ text: String) throws(SourceProblems) -> [Fault] {
    if let preset = all.first(where: { $0.name == OptionText.trimmed(text) }) { return preset.faults }
    return [try Fault.format.read(text, others: all.map(\.name))]
  }
}
