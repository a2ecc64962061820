import AccessoryCore
import AccessoryFormats

/// The result of a hostile run, which sends invalid values, floods and garbage that no Apple device would send.
public struct HostileReport: Sendable, Equatable {
  /// An attack that the accessory did not survive.
  public struct Failure: Sendable, Equatable {
    /// The attack's seed; `--seed` and `--hostile-cases 1` repeat the attack.
    public var seed: UInt64
    /// A sentence that describes the failure.
    public var text: String
    /// The steps of the attack, reduced to the fewest found that still cause the failure.
    public var steps: [String]
    /// The bytes sent during the shortest attack, not counting those of the normal attachment before it.
    public var bytes: [UInt8]
  }

  /// The number of attacks that were made.
  public var attacks = 0
  /// The attacks that the accessory did not survive.
  public var failures: [Failure] = []

  /// Creates an empty report.
  public init() {}

  /// A one-line summary.
  public var summary: String {
    "\(attacks) hostile attacks, \(failures.count) not survived"
  }
}
