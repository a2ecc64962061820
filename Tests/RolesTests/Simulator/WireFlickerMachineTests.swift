import AccessoryFormats
import AccessoryProfiles
import Testing

@testable import AccessorySimulator

/// Tests the state machine that makes an accessory flicker on the wire: when it plugs the accessory in and unplugs it,
/// and which protocols the accessory then offers.
@Suite struct WireFlickerMachineTests {
  enum Step: Sendable {
    case plugIn(Int)
    case unplug(Int)
    case flickerNow(Int)
    case deviceIsDone(Int)
    case deviceLeft
    case timers(until: Int)
  }

  @Test(
    arguments: [
      (
        "without a flicker, it is whole and stays", nil, [.plugIn(0), .deviceIsDone(5), .unplug(1_000)],
        "0 whole, 1000 out"
      ),
      ("nobody has looked yet", "empty=250ms,gap=300ms", [.plugIn(0), .timers(until: 60_000)], "0 empty"),
      (
        "the empty phase is counted from when the device is done", "empty=250ms,gap=300ms",
        [.plugIn(0), .timers(until: 60_000), .deviceIsDone(60_000)], "0 empty, 60250 out, 60550 whole"
      ),
      (
        "a device that is done twice does not prolong it", "empty=250ms,gap=300ms",
        [.plugIn(0), .deviceIsDone(10), .deviceIsDone(200)], "0 empty, 260 out, 560 whole"
      ),
      (
        "each cycle is seen by the device", "empty=10ms,gap=20ms,cycles=2",
        [.plugIn(0), .deviceIsDone(1), .timers(until: 100), .deviceIsDone(100)],
        "0 empty, 11 out, 31 empty, 110 out, 130 whole"
      ),
      (
        "a flicker by hand is only one", nil,
        [
          .plugIn(0), .flickerNow(100), .timers(until: .max), .deviceIsDone(130), .timers(until: .max), .deviceLeft,
          .deviceIsDone(200),
        ],
        "0 whole, 100 out, 120 empty, 140 out, 160 whole"
      ),
      (
        "a flicker by hand is the accessory's own", "empty=1ms,gap=2ms",
        [.plugIn(0), .flickerNow(100), .timers(until: .max), .deviceIsDone(110)],
        "0 empty, 100 out, 102 empty, 111 out, 113 whole"
      ),
      (
        "a device that comes back sees the whole flicker again", "empty=10ms,gap=20ms",
        [.plugIn(0), .deviceIsDone(0), .timers(until: .max), .deviceLeft, .deviceIsDone(500)],
        "0 empty, 10 out, 30 whole, 510 out, 530 whole"
      ),
      (
        "a device that leaves in the gap does not change it", "empty=10ms,gap=20ms",
        [.plugIn(0), .deviceIsDone(0), .timers(until: 15), .deviceLeft], "0 empty, 10 out, 30 whole"
      ),
      (
        "pulling it in the gap needs no second detach", "empty=10ms,gap=20ms",
        [.plugIn(0), .deviceIsDone(0), .timers(until: 15), .unplug(15)], "0 empty, 10 out"
      ),
      ("a second plug-in changes nothing", "empty=10ms,gap=20ms", [.plugIn(0), .plugIn(1)], "0 empty"),
      ("a flicker of the device needs nothing of the accessory", "device", [.plugIn(0)], "0 whole"),
    ] as [(String, String?, [Step], String)])
  func itIsPluggedInAndOut(name: String, quirk: String?, steps: [Step], history: String) throws {
    var plug = try Plug(quirk)
    for step in steps {
      switch step {
      case .plugIn(let time): plug.plugIn(at: time)
      case .unplug(let time): plug.unplug(at: time)
      case .flickerNow(let time): plug.flickerNow(at: time)
      case .deviceIsDone(let time): plug.deviceIsDone(at: time)
      case .deviceLeft: plug.deviceLeft()
      case .timers(let limit): plug.runTimers(until: limit)
      }
    }
    plug.runTimers()
    #expect(plug.history.joined(separator: ", ") == history, "\(name)")
  }

  @Test func jitterStaysWithinItsBoundAndIsTheSameForASeed() throws {
    let histories = try (0..<200 as Range<UInt64>).map { seed in
      var plug = try Plug("empty=100ms,gap=100ms,jitter=30ms", seed: seed)
      plug.plugIn(at: 0)
      plug.deviceIsDone(at: 0)
      plug.runTimers()
      #expect((70...130).contains(plug.times[1]) && (70...130).contains(plug.times[2] - plug.times[1]))
      return plug.history
    }
    #expect(Set(histories).count > 100)
    var again = try Plug("empty=100ms,gap=100ms,jitter=30ms", seed: 7)
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

  init(_ quirk: String?, seed: UInt64 = 1) throws {
    program = WireFlickerMachine(flicker: try quirk.flatMap { [try Quirk("flicker,\($0)")].flicker })
    random = SeededRandom(seed: seed)
  }

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
