import AccessoryCore
import AccessoryFaults
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySoak
import AccessoryWorlds
import LinuxIO
import Testing

@Suite struct CableFaultTests {
  func world(_ faults: [CableFault], seed: UInt64 = 7) throws -> (World, VirtualLoop) {
    let loop = VirtualLoop(seed: seed)
    var settings = World.Settings()
    settings.faults = faults
    settings.keepsTranscript = true
    return (World(settings, on: loop), loop)
  }

  @Test func aCutCableIsPulledAtBothEndsAndTold() throws {
    let (world, loop) = try world([CableFault(try Fault("cut,packets=5,out"))])
    let accessory = world.add(try ProfileLibrary().profile("echo"))
    try accessory.plugIn()
    try loop.runUntilQuiet()
    #expect(world.device.cableCount == 0)
    #expect(!accessory.isAttached)
    let faults = world.events.filter { if case .fault = $0.kind { true } else { false } }
    #expect(faults.map(\.side) == [.cable])
    #expect(
      faults.first?.kind
        == .fault("cut,packets=5,direction=out (out): the cable is pulled after the last packet allowed"))
    #expect(faults.first?.subject?.serial == "EW1-0001")
    // The fault also cuts each new cable.
    try accessory.plugIn()
    try loop.runUntilQuiet()
    #expect(!accessory.isAttached)
  }

  @Test func aLossyLateCableStillCarriesTheDemonstration() throws {
    for end in [Cable.End.accessory, .device] {
      let loop = VirtualLoop(seed: 3)
      var settings = World.Settings()
      settings.faults = try ["latency,delay=5ms,jitter=3ms", "loss,chance=5%", "split,size=30"].map {
        CableFault(try Fault($0), at: end)
      }
      let demonstration = try Demonstration(try ProfileLibrary().profile("lawk-view"), settings: settings, on: loop)
      demonstration.start()
      #expect(try loop.run(until: { demonstration.passed != nil }, limit: .seconds(3600)))
      #expect(demonstration.passed == true)
    }
  }

  @Test func aStallIsTold() throws {
    let (world, loop) = try world([CableFault(try Fault("stall,after=1s,for=1s,in"), at: .accessory)])
    try world.add(try ProfileLibrary().profile("echo")).plugIn()
    try loop.runUntilQuiet()
    let times = world.events.filter { if case .fault = $0.kind { true } else { false } }.map(\.time.seconds)
    #expect(times == [1, 2])
  }

  @Test func oneSeedHasOneTranscriptAndAnotherSeedAnother() throws {
    func transcript(_ seed: UInt64) throws -> [String] {
      let faults = try ["loss,chance=20%", "reorder,chance=10%"].map { CableFault(try Fault($0)) }
      let (world, loop) = try world(faults, seed: seed)
      try world.add(try ProfileLibrary().profile("echo")).plugIn()
      try loop.advance(by: .seconds(120))
      return world.transcript
    }
    #expect(try transcript(1) == transcript(1))
    #expect(try transcript(1) != transcript(2))
  }
}
