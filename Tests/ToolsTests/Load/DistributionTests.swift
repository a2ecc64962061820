import AccessoryFormats
import Testing

@testable import AccessoryLoad

@Suite struct DistributionTests {
  static func read(_ text: String) throws -> Distribution<Int> {
    let plan = try BurstPlanFile(Array("{ count: 1, size: \(text) }".utf8), file: "p")
    return plan.sizes
  }

  static func draws(_ text: String, _ count: Int = 20_000, seed: UInt64 = 7) throws -> [Int] {
    let sizes = try read(text)
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in sizes.draw(&random) }
  }

  static func mean(_ values: [Int]) -> Double { Double(values.reduce(0, +)) / Double(values.count) }

  static let texts = [
    "500", "'uniform,from=10,to=19'", "'normal,mean=500,deviation=100'", "'lognormal,median=500,sigma=1'",
    "'exponential,mean=500'", "{ kind: 'list', values: [{ value: 20, weight: 9 }, { value: 1000 }] }",
  ]

  @Test(arguments: texts) func aDistributionIsReadAsItIsWrittenAndFollowsItsSeed(text: String) throws {
    let sizes = try Self.read(text)
    let tree = Format<Distribution<Int>>.sizes.write(sizes)
    #expect(try Self.read(String(JSON5Writer.write(tree, as: .jsonLine).dropLast())) == sizes)
    #expect(try Self.draws(text, 100) == Self.draws(text, 100))
    if text != "500" { #expect(try Self.draws(text, 100) != Self.draws(text, 100, seed: 8)) }
  }

  @Test func aUniformOneHasEachValueAboutAsOften() throws {
    let draws = try Self.draws("'uniform,from=10,to=19'")
    #expect(Set(draws) == Set(10...19))
    for value in 10...19 { #expect((1_800...2_200).contains(draws.count { $0 == value })) }
  }

  @Test func aNormalOneHasItsMeanAndDeviation() throws {
    let draws = try Self.draws("'normal,mean=500,deviation=100'")
    #expect(abs(Self.mean(draws) - 500) < 5)
    #expect((0.66...0.70).contains(Double(draws.count { (400...600).contains($0) }) / 20_000))
  }

  @Test func aLognormalOneHasItsMedianAndALongTail() throws {
    let draws = try Self.draws("'lognormal,median=500,sigma=1'").sorted()
    #expect((480...520).contains(draws[10_000]))
    #expect((0.018...0.028).contains(Double(draws.count { $0 > 3_695 }) / 20_000))
  }

  @Test func anExponentialOneHasItsMean() throws {
    #expect(try abs(Self.mean(Self.draws("'exponential,mean=500'")) - 500) < 15)
  }

  @Test func aListFollowsItsWeights() throws {
    let draws = try Self.draws(Self.texts[5])
    #expect((17_800...18_200).contains(draws.count { $0 == 20 }))
    #expect(Set(draws) == [20, 1_000])
  }

  @Test(arguments: [
    "'normal,mean=500,deviation=5000,least=10,most=600'", "'lognormal,median=500,sigma=9,least=10,most=600'",
    "'exponential,mean=50000,least=10,most=600'",
  ]) func valuesOutsideOfTheBoundsCountAsThem(text: String) throws {
    let draws = try Self.draws(text)
    #expect(draws.min() == 10)
    #expect(draws.max() == 600)
  }

  @Test func durationsAreDrawnToo() throws {
    let plan = try BurstPlanFile(Array("{ count: 1, think: 'uniform,from=1ms,to=3ms' }".utf8), file: "p")
    var random = SeededRandom(seed: 3)
    let draws = try (0..<1_000).map { _ in try #require(plan.plan.think).draw(&random) }
    #expect(draws.allSatisfy { (.milliseconds(1) ... .milliseconds(3)).contains($0) })
    #expect(Set(draws).count > 900)
  }

  @Test(arguments: [
    ("'uniform,from=20,to=10'", "is less than 'from'"), ("'unifrom,from=1,to=2'", "did you mean 'uniform'?"),
    ("'normal,mean=5'", "'deviation'"), ("'normal,mean=5,deviation=1,least=9,most=2'", "is less than 'least'"),
    ("0", "1 to 67108864"), ("{ kind: 'list', values: [] }", "1 to 100"),
    ("'uniform,from=1,too=2'", "did you mean 'to'?"),
  ]) func mistakesAreNamed(text: String, complaint: String) {
    do {
      _ = try Self.read(text)
      Issue.record("read")
    } catch { #expect("\(error)".contains(complaint), "\(error)") }
  }
}
