import AccessoryCore
import AccessoryFormats

/// The result of a hostile run, which sends invalid values, floods and garbage that no Apple device would send.
package struct HostileReport: Sendable, Equatable {
  /// An attack that the accessory did not survive.
  package struct Failure: Sendable, Equatable {
    /// The attack's seed; `--seed` and `--hostile-cases 1` repeat the attack.
    package var seed: UInt64
    package var text: String
    /// The steps of the attack, reduced to the fewest found that still cause the failure.
    package var steps: [String]
    /// The bytes sent during the shortest attack, not counting those of the normal attachment before it.
    package var bytes: [UInt8]
  }

  package var attacks = 0
  /// The attacks that the accessory did not survive.
  package var failures: [Failure] = []

  package var summary: String {
    "\(attacks) hostile attacks, \(failures.count) not survived"
  }
}
