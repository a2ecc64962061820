import AccessoryFormats
import AccessoryProfiles
import Testing

@testable import AccessorySimulator

/// Tests the state machine that makes an accessory flicker on the wire: when it plugs the accessory in and unplugs it,
/// and which protocols the accessory then offers.
@Suite struct WireFlickerMachineTests {
  @Test func withoutAFlickerItIsPluggedInWholeAndStays() {
    var plug = Plug()
    plug.plugIn(at: 0)
    plug.deviceIsDone(at: 5)
    plug.runTimers()
    plug.unplug(at: 1_000)
    #expect(plug.history == ["0 whole", "1000 out"])
  }

  @Test func theEmptyPhaseIsCountedFromWhenTheDeviceIsDone() throws {
    var plug = try Plug("flicker,empty=250ms,gap=300ms")
    plug.plugIn(at: 0)
    plug.runTimers(until: 60_000)
    #expect(plug.history == ["0 empty"], "nobody has looked yet")
    plug.deviceIsDone(at: 60_000)
    plug.runTimers()
    #expect(plug.history == ["0 empty", "60250 out", "60550 whole"])
  }

  @Test func aDeviceThatIsDoneTwiceDoesNotProlongIt() throws {
    var plug = try Plug("flicker,empty=250ms,gap=300ms")
    plug.plugIn(at: 0)
    plug.deviceIsDone(at: 10)
    plug.deviceIsDone(at: 200)
    plug.runTimers()
    #expect(plug.history == ["0 empty", "260 out", "560 whole"])
  }

  @Test func eachCycleIsSeenByTheDevice() throws {
    var plug = try Plug("flicker,empty=10ms,gap=20ms,cycles=2")
    plug.plugIn(at: 0)
    plug.deviceIsDone(at: 1)
    plug.runTimers(until: 100)
    plug.deviceIsDone(at: 100)
    plug.runTimers()
    #expect(plug.history == ["0 empty", "11 out", "31 empty", "110 out", "130 whole"])
  }

  @Test func aFlickerByHandIsOnlyOne() {
    var plug = Plug()
    plug.plugIn(at: 0)
    plug.flickerNow(at: 100)
    plug.runTimers()
    plug.deviceIsDone(at: 130)
    plug.runTimers()
    plug.deviceLeft()
    #expect(plug.history == ["0 whole", "100 out", "120 empty", "140 out", "160 whole"])
    #expect(!plug.isEmpty)
  }

  @Test func aFlickerByHandIsTheAccessorysOwn() throws {
    var plug = try Plug("flicker,empty=1ms,gap=2ms")
    plug.plugIn(at: 0)
    plug.flickerNow(at: 100)
    plug.runTimers()
    plug.deviceIsDone(at: 110)
    plug.runTimers()
    #expect(plug.history == ["0 empty", "100 out", "102 empty", "111 out", "113 whole"])
  }

  @Test func aDeviceThatComesBackSeesTheWholeFlickerAgain() throws {
    var plug = try Plug("flicker,empty=10ms,gap=20ms")
    plug.plugIn(at: 0)
    plug.deviceIsDone(at: 0)
    plug.runTimers()
    plug.deviceLeft()
    #expect(plug.isEmpty)
    plug.deviceIsDone(at: 500)
    plug.runTimers()
    #expect(plug.history == ["0 empty", "10 out", "30 whole", "510 out", "530 whole"])
  }

  @Test func aDeviceThatLeavesInTheGapDoesNotChangeIt() throws {
    var plug = try Plug("flicker,empty=10ms,gap=20ms")
    plug.plugIn(at: 0)
    plug.deviceIsDone(at: 0)
    plug.runTimers(until: 15)
    plug.deviceLeft()
    plug.runTimers()
    #expect(plug.history == ["0 empty", "10 out", "30 whole"])
  }

  @Test func pullingItInTheGapNeedsNoSecondDetachAndEndsTheFlicker() throws {
    var plug = try Plug("flicker,empty=10ms,gap=20ms")
    plug.plugIn(at: 0)
    plug.deviceIsDone(at: 0)
    plug.runTimers(until: 15)
    plug.unplug(at: 15)
    plug.runTimers()
    #expect(plug.history == ["0 empty", "10 out"])
  }

  @Test func aSecondPlugInChangesNothing() throws {
    var plug = try Plug("flicker,empty=10ms,gap=20ms")
    plug.plugIn(at: 0)
    plug.plugIn(at: 1)
    #expect(plug.history == ["0 empty"])
  }

  @Test func aFlickerThatTheDeviceMakesNeedsNothingOfTheAccessory() throws {
    var plug = try Plug("flicker,device")
    plug.plugIn(at: 0)
    #expect(plug.history == ["0 whole"])
  }

  @Test func jitterStaysWithinItsBoundAndIsTheSameForASeed() throws {
    let histories = try (0..<200 as Range<UInt64>).map { seed in
      var plug = try Plug("flicker,empty=100ms,gap=100ms,jitter=30ms", seed: seed)
      plug.plugIn(at: 0)
      plug.deviceIsDone(at: 0)
      plug.runTimers()
      #expect((70...130).contains(plug.times[1]) && (70...130).contains(plug.times[2] - plug.times[1]))
      return plug.history
    }
    #expect(Set(histories).count > 100)
    var again = try Plug("flicker,empty=100ms,gap=100ms,jitter=30ms", seed: 7)
    again.plugIn(at: 0)
    again.deviceIsDone(at: 0)
    again.runTimers()
    #expect(again.history == histories[7])
  }
}

/// A cable that follows the state machine's decisions. The cable records each decision with the time in milliseconds,
/// such as "260 out".
private struct Plug {
  private var program: WireFlickerMachine
  private var random: SeededRandom
  private(set) var history: [String] = []
  private(set) var times: [Int] = []

  init() {
    program = WireFlickerMachine(flicker: nil)
    random = SeededRandom(seed: 1)
  }

  init(_ quirk: String, seed: UInt64 = 1) throws {
    program = WireFlickerMachine(flicker: [try Quirk(quirk)].flicker)
    random = SeededRandom(seed: seed)
  }

  var isEmpty: Bool { program.isEmpty }

  mutating func plugIn(at milliseconds: Int) { note(program.plugIn(), milliseconds) }
  mutating func unplug(at milliseconds: Int) { note(program.unplug(), milliseconds) }
  mutating func flickerNow(at milliseconds: Int) {
    var usual = Flicker()
    (usual.empty, usual.gap) = (.milliseconds(10), .milliseconds(20))
    note(program.flickerNow(usual, now: .origin + .milliseconds(milliseconds), random: &random), milliseconds)
  }
  mutating func deviceLeft() { program.deviceLeft() }

  mutating func deviceIsDone(at milliseconds: Int) {
    program.deviceIsDone(now: .origin + .milliseconds(milliseconds), random: &random)
  }

  mutating func runTimers(until limit: Int = .max) {
    while let deadline = program.deadline {
      let now = Int(deadline.nanoseconds / 1_000_000)
      guard now <= limit else { return }
      note(program.handleTimeout(now: deadline, random: &random), now)
    }
  }

  private mutating func note(_ action: WireFlickerMachine.Action, _ milliseconds: Int) {
    switch action {
    case .nothing: return
    case .attach(let isWhole): history.append("\(milliseconds) \(isWhole ? "whole" : "empty")")
    case .detach: history.append("\(milliseconds) out")
    }
    times.append(milliseconds)
  }
}
