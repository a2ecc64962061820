import AccessoryCheck
import AccessoryCore
import Foundation
import IAP2
import Testing

@Suite struct HostileTests {
  /// The number of attacks, which can be increased, for example with `EASIM_ATTACKS=10000`.
  static let attacks = ProcessInfo.processInfo.environment["EASIM_ATTACKS"].flatMap { Int($0) } ?? 300

  /// Each profile is attacked with its own range of seeds. The profiles are those of a plain accessory, one with files
  /// and answers, one with a link without acknowledgements, and one with power messages.
  @Test(arguments: [(UInt64(1), "echo"), (20_000, "dock"), (40_000, "car"), (60_000, "charger")])
  func ourAccessorySurvives(_ seed: UInt64, _ profile: String) throws {
    let rig = try CheckRig(profile)
    rig.settings.stepLimit = .seconds(60)
    let checker = Checker(rig, CheckPump(rig.loop), rig.settings)
    let report = try checker.attack(seed: seed, attacks: Self.attacks / 4, most: 1)
    #expect(report.failures == [])
    #expect(report.attacks == Self.attacks / 4)
  }

  @Test func anAccessoryThatDoesNotSurviveIsFoundWithAShortAttack() throws {
    // An accessory that hangs forever when it receives an EA01 whose parameters it cannot read.
    final class Hung: @unchecked Sendable { var isHung = false }
    let hung = Hung()
    let mutant = Mutant(
      sends: { packet, _ in hung.isHung ? [] : [packet.bytes] },
      receives: { packet, _ in
        if packet.message == 0xEA01, packet.payload.count != 12 { hung.isHung = true }
        return [packet.bytes]
      })
    let rig = try CheckRig("echo", sends: mutant)
    rig.settings.stepLimit = .seconds(5)
    let checker = Checker(rig, CheckPump(rig.loop), rig.settings)
    let report = try checker.attack(seed: 1, attacks: 2_000, most: 3)
    // The accessory never comes back, so the attack cannot be shortened and no other attack follows.
    #expect(report.failures.count == 1)
    #expect(report.failures.first?.text.contains("did not become ready") ?? false)
  }

  @Test func anAttackIsMadeShorter() throws {
    // An accessory that does not become ready on the first attachment after a malformed EA01 but works again on the
    // second.
    final class Sick: @unchecked Sendable { var left = 0 }
    let sick = Sick()
    let mutant = Mutant(
      sends: { packet, _ in
        guard sick.left > 0 else { return [packet.bytes] }
        if packet.number == 2 { sick.left -= 1 }
        return []
      },
      receives: { packet, _ in
        if packet.message == 0xEA01, packet.payload.count != 12 { sick.left = 1 }
        return [packet.bytes]
      })
    let rig = try CheckRig("echo", sends: mutant)
    rig.settings.stepLimit = .milliseconds(2_500)
    let checker = Checker(rig, CheckPump(rig.loop), rig.settings)
    let report = try checker.attack(seed: 1, attacks: 2_000, most: 1)
    let failure = try #require(report.failures.first)
    // The attack consists of the malformed EA01 and at most two more steps.
    #expect(failure.steps.count <= 3, "\(failure.steps)")
    #expect(failure.steps.contains { $0.contains("EA01") })
  }

  @Test func theSameSeedMakesTheSameAttack() throws {
    func run() throws -> HostileReport {
      let rig = try CheckRig("echo")
      return try Checker(rig, CheckPump(rig.loop), rig.settings).attack(seed: 99, attacks: 5, most: 1)
    }
    #expect(try run() == run())
  }
}
