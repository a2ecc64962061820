import AccessoryCore

/// A kind of fault: its name, what it does, its parameters, and how its machine is created.
public struct FaultDefinition: Equatable, Sendable {
  /// The name in `--fault`.
  public let name: String
  /// What it does, in a sentence for help.
  public let summary: String
  /// Its parameters; those that every fault has are last.
  public let parameters: [OptionParameter]

  let makeStage: @Sendable (OptionArguments, FaultUnit) -> any FaultStage

  /// `directions` are the words of the parameter of that name, the default first.
  init(
    _ name: String, _ summary: String, directions: [String] = ["both", "in", "out"], _ own: [OptionParameter],
    _ makeStage: @escaping @Sendable (OptionArguments, FaultUnit) -> any FaultStage
  ) {
    self.name = name
    self.summary = summary
    self.makeStage = makeStage
    parameters =
      own + [
        .choice("direction", directions, "what this end receives, what it sends, or both"),
        .duration("after", .zero ... .seconds(86_400), .zero, "how long after the channel's start it begins"),
        .duration("for", .zero ... .seconds(86_400), .zero, "how long it lasts; 0ms for as long as the channel"),
      ]
  }

  /// Every fault there is: first those that act on bytes, then those that act on packets.
  public static let all = [
    latency, rate, split, glue, stall, halfDead, cut, slowReader, collapse, stale, loss, duplicate, reorder, corrupt,
  ]

  /// The definition of that name.
  public static func named(_ name: String) -> FaultDefinition? {
    all.first { $0.name == name }
  }

  /// Compares names: each name has one definition.
  public static func == (left: FaultDefinition, right: FaultDefinition) -> Bool { left.name == right.name }
}

extension FaultDefinition {
  /// The effects of all faults of one kind.
  public struct Count: Equatable, Sendable {
    /// The kind.
    public let fault: FaultDefinition
    /// Their effects.
    public var count: FaultCount

    /// Adds what the faults of a channel did to a list with one entry per kind.
    public static func add(_ channel: FaultChannel, to counts: inout [Count]) {
      for entry in channel.counts {
        if let index = counts.firstIndex(where: { $0.fault == entry.fault.definition }) {
          counts[index].count += entry.count
        } else {
          counts.append(Count(fault: entry.fault.definition, count: entry.count))
        }
      }
    }
  }
}

/// What counts as a packet for faults that act on packets.
public enum FaultUnit: Sendable {
  /// A packet of the link, wherever it begins and ends in the stream.
  case linkPackets
  /// A transfer, on the channels of native transport, which carry no link.
  case transfers
}
