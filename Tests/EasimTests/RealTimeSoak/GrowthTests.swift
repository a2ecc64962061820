import Glibc
import Testing

@testable import RealTimeSoak

@Suite struct GrowthTests {
  private func growth(
    _ count: Int = 90, memory: (Int) -> Int = { _ in 9_000 }, descriptors: (Int) -> Int = { _ in 9 }
  )
    -> Growth
  {
    var growth = Growth()
    for second in 0..<count {
      growth.add(Holding(memory: memory(second), descriptors: descriptors(second)))
    }
    return growth
  }

  @Test func whatPassesIsNoGrowth() {
    #expect(growth().complaint == nil)
    #expect(growth(memory: { 5_000 + min($0, 29) * 1_000 }).complaint == nil, "it warms up")
    #expect(growth(memory: { $0 == 80 ? 90_000 : 9_000 }).complaint == nil, "a peak")
  }

  @Test func aLittleEverySecondIsGrowth() {
    #expect(growth(memory: { 9_000 + $0 * 40 }).complaint == "memory grows: 10800 KiB, then 12000")
  }

  @Test func descriptorsThatStayOpenAreGrowth() {
    #expect(growth(descriptors: { 9 + $0 / 20 }).complaint == nil)
    #expect(growth(descriptors: { 9 + $0 / 8 }).complaint == "descriptors grow: 16, then 20")
    #expect(growth(descriptors: { 9 + $0 % 6 }).complaint == nil)
  }

  @Test func aFewSamplesProveNothing() {
    #expect(growth(29, memory: { $0 * 10_000 }).complaint == nil)
    #expect(growth(0).complaint == nil)
  }

  @Test func aProcessIsLookedAtWhereItIs() throws {
    let here = try #require(Holding(of: getpid()))
    #expect(here.memory > 1_000)
    #expect(here.descriptors > 3)
    #expect(Holding(of: 0x7FFF_FFF0) == nil)
  }
}
