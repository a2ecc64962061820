import AccessorySoak
import AccessoryWorlds
import Glibc
import Testing

/// Runs thousands of random worlds once. All tests here check the results of these worlds.
///
/// `EASIM_SEEDS=100000 swift test --filter SeedsTests` runs more worlds. With sanitizers, a world takes many times as
/// long. Fewer worlds are therefore run, and no test expects every case to be reached.
@Suite struct SeedsTests {
  static let everyday: UInt64 = 2_000
  static let seeds = 0..<(getenv("EASIM_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? everyday)

  private static let playing = Task {
    let crew = SoakCrew(
      SoakRecipe(), from: seeds.lowerBound, count: UInt64(seeds.count), jobs: sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    await crew.play()
    return crew.report
  }

  @Test(.timeLimit(.minutes(60))) func everyRuleHoldsInEveryWorld() async {
    let report = await Self.playing.value
    #expect(report.worlds == Self.seeds.count)
    for failure in report.failures.prefix(10) { Issue.record("\(report.line(of: failure))") }
  }

  @Test(.timeLimit(.minutes(60)), .enabled(if: seeds.count >= everyday)) func everyCornerIsReached() async {
    let report = await Self.playing.value
    print("\(report.worlds) seeded worlds reached:\n\(report.coverage)")
    #expect(report.coverage.missing == [])
  }

  @Test func aWorldPlayedAgainIsTheSameToTheByteAndAnotherSeedIsAnotherWorld() {
    let hashes = stride(from: 0, to: Self.everyday, by: 50).map { Soak.run(SoakPlan(seed: $0)).hash }
    #expect(hashes == stride(from: 0, to: Self.everyday, by: 50).map { Soak.run(SoakPlan(seed: $0)).hash })
    #expect(Set(hashes).count == hashes.count)
  }
}
