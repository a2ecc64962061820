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
  }

  /// The format of all kinds of faults.
  public static let format = OneOf("fault", key: "name", example: "loss,chance=5%", isWrittenAsText: true) {
    Kind(Effect.latency)
    Kind(Effect.rate)
    Kind(Effect.split)
    Kind(Effect.glue)
    Kind(Effect.stall)
    Kind(Effect.halfDead)
    Kind(Effect.cut)
    Kind(Effect.slowReader)
    Kind(Effect.collapse)
    Kind(Effect.stale)
    Kind(Effect.loss)
    Kind(Effect.duplicate)
    Kind(Effect.reorder)
    Kind(Effect.corrupt)
    Kind(Effect.noise)
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

  /// How long the fault lasts, or nil if it lasts as long as the channel.
  public var length: Duration? { lasting == .zero ? nil : lasting }

  /// Whether the fault unplugs the cable.
  public var cuts: Bool { if case .cut = effect { true } else { false } }

  /// The form used on the command line, including all parameters that differ from their defaults.
  public var description: String { Self.format.text(self) }
}

extension Fault.Effect {
  /// The directions that a fault of this kind can affect, starting with the default.
  public var directions: [Fault.Directions] { type(of: kind).directions }

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

/// One kind of fault: its parameters, their format, and its state machine.
protocol FaultKind: Equatable, Sendable {
  static var directions: [Fault.Directions] { get }

  static var format: Record<Self> { get }

  func makeStage(_ unit: FaultUnit) -> any FaultStage
}

extension FaultKind {
  static var directions: [Fault.Directions] { [.both, .in, .out] }
}

extension Kind<Fault> {
  /// Creates one kind of fault. The parameters that all faults share come last.
  fileprivate init<Payload: FaultKind>(_ make: @escaping @Sendable (Payload) -> Fault.Effect) {
    let day = Duration.zero ... .seconds(86_400)
    let shared: [Field<Fault>] = [
      Field(
        "direction", \.acts, .choice(of: Payload.directions),
        "in: bytes that this end receives; out: bytes that this end sends"),
      Field("after", \.after, .duration(day), "time from the start of the connection until the fault begins"),
      Field("for", \.lasting, .duration(day), "how long the fault lasts; 0ms means forever"),
    ]
    self.init(Payload.format, shared: shared, { Fault(make($0)) }) { $0.effect.kind as? Payload }
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
