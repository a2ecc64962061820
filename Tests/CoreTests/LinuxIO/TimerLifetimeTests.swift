import AccessoryCore
import AccessoryFormats
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct TimerLifetimeTests {
  final class Thing {
    var timer: LoopTimer?
  }

  enum Kind: CaseIterable {
    case real
    case virtual

    func makeLoop() throws -> any EventLoop { self == .real ? try EpollLoop() : VirtualLoop() }
  }

  static func run(_ loop: any EventLoop, until condition: () -> Bool) throws {
    if let loop = loop as? EpollLoop { loop.run(until: condition, limit: hangLimit) }
    if let loop = loop as? VirtualLoop { try loop.run(until: condition) }
  }

  @Test(arguments: Kind.allCases) func aScheduledTimerThatFiredHoldsNothing(kind: Kind) throws {
    let loop = try kind.makeLoop()
    weak var held: Thing?
    var fired = false
    do {
      let thing = Thing()
      held = thing
      thing.timer = loop.schedule(after: .zero) {
        fired = true
        #expect(thing.timer != nil)
      }
    }
    #expect(held != nil)
    try Self.run(loop, until: { fired })
    #expect(fired && held == nil)
  }

  @Test(arguments: Kind.allCases) func aScheduledTimerThatIsCancelledHoldsNothing(kind: Kind) throws {
    let loop = try kind.makeLoop()
    weak var held: Thing?
    do {
      let thing = Thing()
      held = thing
      thing.timer = loop.schedule(after: .seconds(3600)) { _ = thing }
      thing.timer?.cancel()
    }
    #expect(held == nil)
  }
}
