import Foundation
import Glibc
import TestSupport
import Testing

@testable import easim

/// Tests Ctrl-C, SIGTERM and SIGHUP. The first signal shuts easim down, and a second signal ends the process even if it
/// is blocked.
@Suite(.waits) struct StopSignalTests {
  private let start = ContinuousClock.now

  /// Returns the time at which `StopRule` would kill the process if it received these signals at these times.
  private func deadline(
    _ signals: (Int32, Duration)..., secondInterrupt: Duration = .zero
  ) -> Duration? {
    var rule = StopRule(secondInterrupt: secondInterrupt)
    for (signal, time) in signals { rule.take(signal, at: start + time) }
    return rule.deadline.map { start.duration(to: $0) }
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP], [SIGTERM, SIGINT, SIGHUP])
  func aSecondSignalEndsTheProcessAtOnce(first: Int32, second: Int32) {
    #expect(deadline((first, .zero)) == nil)
    #expect(deadline((first, .zero), (second, .seconds(3))) == .seconds(3))
  }

  /// `timeout` sends SIGTERM twice. A single Ctrl-C may reach easim twice, from the terminal and from a parent process.
  @Test(arguments: [SIGTERM, SIGINT]) func oneSignalSentTwiceLeavesTimeForShuttingDown(signal: Int32) {
    let end = deadline((signal, .zero), (signal, .milliseconds(1)))
    #expect(end == StopRule.leastTime)
    #expect(deadline((signal, .zero), (signal, .milliseconds(1)), (signal, .milliseconds(2))) == end)
  }

  @Test func onlyTheSecondCtrlCOfSoakHasTimeToStopTheShrinking() {
    let grace = Duration.seconds(10)
    let second = (SIGINT, Duration.seconds(1))
    #expect(deadline((SIGINT, .zero), second, secondInterrupt: grace) == .seconds(11))
    #expect(deadline((SIGINT, .zero), second, (SIGINT, .seconds(2)), secondInterrupt: grace) == .seconds(2))
    #expect(deadline((SIGINT, .zero), second, (SIGTERM, .seconds(3)), secondInterrupt: grace) == .seconds(3))
    #expect(deadline((SIGTERM, .zero), (SIGTERM, .seconds(1)), secondInterrupt: grace) == .seconds(1))
  }

  /// Stops one thread of another process, to imitate a system call that does not return.
  private func stopThread(_ thread: pid_t) throws {
    typealias Trace = @convention(c) (Int, pid_t, Int, Int) -> Int
    let trace = unsafeBitCast(try #require(dlsym(nil, "ptrace")), to: Trace.self)
    let (seize, interrupt) = (0x4206, 0x4207)
    try #require(trace(seize, thread, 0, 0) == 0, "ptrace: \(String(cString: strerror(errno)))")
    try #require(trace(interrupt, thread, 0, 0) == 0)
    var status: Int32 = 0
    while waitpid(thread, &status, 0) < 0 { try #require(errno == EINTR) }
    try #require(status & 0xFF == 0x7F, "the thread has stopped")
  }

  private func isPending(_ signal: Int32, in run: Program) throws -> Bool {
    let status = try String(contentsOfFile: "/proc/\(run.number)/status", encoding: .utf8)
    let mask = try #require(status.split(separator: "\n").first { $0.hasPrefix("ShdPnd:") }).dropFirst(8)
    return try #require(UInt64(mask.filter { $0 != "\t" }, radix: 16)) >> (signal - 1) & 1 == 1
  }

  /// The loop runs on the process's main thread.
  @Test(arguments: [SIGTERM, SIGINT, SIGHUP]) func aProcessWhoseLoopIsBlockedEndsByTheSecondSignal(signal: Int32) throws
  {
    let place = TemporaryFolder()
    let run = try Program("run", "echo", "--on", "unix:\(place.file("s"))")
    try run.line("plugged in")
    try stopThread(run.number)
    run.send(signal)
    // The kernel drops a second signal of the same kind while the first is pending.
    while try isPending(signal, in: run) { sched_yield() }
    run.send(signal)
    #expect(try run.wait().ending == .killed(by: signal))
  }
}
