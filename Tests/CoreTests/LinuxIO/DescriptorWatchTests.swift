import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct DescriptorWatchTests {
  let loop: EpollLoop

  init() throws { loop = try EpollLoop(seed: 1) }

  func turn() {
    var turned = false
    loop.schedule(after: .zero) { turned = true }
    #expect(loop.run(until: { turned }, limit: hangLimit))
  }

  @Test func readinessIsReportedForAsLongAsItLasts() throws {
    let pipe = try Pipe()
    var calls = 0
    let watch = try loop.watch(pipe.reading, for: .readable, Handler { _ in calls += 1 })
    pipe.fill("x")
    #expect(loop.run(until: { calls == 3 }, limit: hangLimit))
    var byte: UInt8 = 0
    read(pipe.reading, &byte, 1)
    turn()
    turn()
    #expect(calls == 3)
    watch.cancel()
  }

  @Test func aDescriptorNumberUsedAgainInTheSameTurnGetsNoStaleEvent() throws {
    let pipes = [try Pipe(), try Pipe()]
    let numbers = pipes.map(\.reading)
    var watches: [any DescriptorWatch] = []
    var replacement: Pipe?
    var told = 0
    var heard = 0
    for index in 0..<2 {
      // Both descriptors are ready in the same turn. Whichever handler is called first replaces the other descriptor
      // with an idle pipe under the same number.
      let handler = Handler { _ in
        told += 1
        watches[1 - index].cancel()
        guard let idle = try? Pipe(replacing: pipes[1 - index]) else { return }
        replacement = idle
        if let watch = try? loop.watch(numbers[1 - index], for: .readable, Handler { _ in heard += 1 }) {
          watches[1 - index] = watch
        }
        watches[index].cancel()
      }
      watches.append(try loop.watch(pipes[index].reading, for: .readable, handler))
      pipes[index].fill("x")
    }
    #expect(loop.run(until: { told > 0 }, limit: hangLimit))
    // A second handler would be called in the same turn, and a stale event would arrive in the next turn.
    turn()
    #expect(told == 1)
    #expect(heard == 0, "a stale event")
    let idle = try #require(replacement)
    #expect(numbers.contains(idle.reading))
    idle.fill("x")
    #expect(loop.run(until: { heard > 0 }, limit: hangLimit), "the new watch hears nothing")
    for watch in watches { watch.cancel() }
  }

  @Test func interestDecidesWhatIsReported() throws {
    var ends: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    var seen: [Readiness] = []
    let watch = try loop.watch(ends[0], for: .readable, Handler { seen.append($0) })
    turn()
    #expect(seen == [])
    watch.change(to: [.readable, .writable])
    turn()
    #expect(seen == [.writable])
    write(ends[1], "x", 1)
    watch.change(to: .readable)
    seen = []
    turn()
    #expect(seen == [.readable])
    watch.change(to: [])
    seen = []
    turn()
    #expect(seen == [])
    watch.cancel()
  }

  @Test func aHangUpNobodyAskedForIsToldOnceAndTheLoopSleeps() throws {
    let pipe = try Pipe()
    var seen: [Readiness] = []
    let watch = try loop.watch(pipe.reading, for: [], Handler { seen.append($0) })
    pipe.closeWriting()
    for _ in 0..<5 { turn() }
    #expect(seen == [.hangup])
    watch.change(to: .readable)
    turn()
    #expect(seen.last?.contains(.hangup) == true)
    #expect(seen.count == 2)
    watch.cancel()
  }

  @Test func aHalfCloseIsReportedForAsLongAsItIsAskedFor() throws {
    let pair = try RawSocket.pair()
    defer { close(pair.nonBlocking) }
    var seen: [Readiness] = []
    let watch = try loop.watch(pair.nonBlocking, for: .halfClosed, Handler { seen.append($0) })
    pair.other.write("x")
    turn()
    #expect(seen == [], "bytes are not asked for")
    pair.other.shutDownWriting()
    turn()
    turn()
    #expect(seen == [.halfClosed, .halfClosed])
    watch.change(to: [])
    for _ in 0..<3 { turn() }
    #expect(seen.count == 2)
    watch.change(to: .readable)
    turn()
    #expect(seen.last == .readable)
    watch.cancel()
  }

  @Test func aFileThatEpollRefusesIsPolledWhileItIsWaitedFor() throws {
    let directory = TemporaryFolder()
    let file = open(directory.path + "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(file >= 0)
    defer { close(file) }
    var calls = 0
    let watch = try loop.watch(file, for: [], Handler { _ in calls += 1 })
    turn()
    #expect(calls == 0)
    watch.change(to: [.readable, .writable])
    let before = loop.now
    #expect(loop.run(until: { calls == 5 }, limit: hangLimit))
    // Instead of spinning, the loop polls the descriptor once per millisecond, five times.
    #expect(loop.now - before >= .milliseconds(5))
    watch.change(to: [])
    #expect(!loop.run(until: { calls > 5 }, limit: .milliseconds(5)))
    watch.change(to: .readable)
    watch.cancel()
    #expect(!loop.run(until: { calls > 5 }, limit: .milliseconds(5)))
  }

  @Test func aHandlerIsHeldUntilItsWatchIsCancelled() throws {
    let pipe = try Pipe()
    weak var handler: Handler?
    let watch: any DescriptorWatch
    do {
      let made = Handler { _ in }
      handler = made
      watch = try loop.watch(pipe.reading, for: .readable, made)
    }
    #expect(handler != nil)
    watch.cancel()
    #expect(handler == nil)
  }

  @Test func aDescriptorThatIsNoneIsAnError() {
    #expect(throws: SystemError.self) { try loop.watch(1_000_000, for: .readable, Handler { _ in }) }
  }

  @Test func aWatchMayOutliveItsLoop() throws {
    let pipe = try Pipe()
    var other: EpollLoop? = try EpollLoop()
    let watch = try other?.watch(pipe.reading, for: .readable, Handler { _ in })
    other = nil
    watch?.change(to: .writable)
    watch?.cancel()
  }
}
