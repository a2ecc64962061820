import Glibc
import TestSupport
import Testing

/// Runs seeded worlds with hostile peers over Unix sockets, TCP and USB/IP.
///
/// `EASIM_DESCRIPTOR_WORLDS=2000 swift test --filter DescriptorWorldTests` runs more worlds.
@Suite(.waits, .serialized) struct DescriptorWorldTests {
  static let everyday: UInt64 = 24
  static let seeds =
    0..<(getenv("EASIM_DESCRIPTOR_WORLDS").flatMap { UInt64(String(cString: $0)) } ?? everyday)

  @Test func everyRuleHoldsOnRealDescriptorsAmongHostilePeers() throws {
    var facts = DescriptorWorld.Facts()
    for seed in Self.seeds {
      let world = try DescriptorWorld(seed: seed)
      for violation in try world.play() { Issue.record("seed \(seed), \(world.medium): \(violation)") }
      facts.media.formUnion(world.facts.media)
      facts.hostile.formUnion(world.facts.hostile)
      facts.sessions += world.facts.sessions
      facts.bytes += world.facts.bytes
    }
    print("\(Self.seeds.count) worlds on descriptors: \(facts.sessions) sessions, \(facts.bytes) bytes")
    guard Self.seeds.count >= Self.everyday else { return }
    #expect(facts.media.count == DescriptorWorld.Medium.allCases.count)
    #expect(facts.hostile.count == HostilePeer.Kind.allCases.count)
    #expect(facts.bytes > 10_000)
  }
}
