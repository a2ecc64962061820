import AccessoryCables
import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct ProcessTests {
  final class Sleeper {
    let pid: pid_t

    init() throws {
      var pid = pid_t()
      var words: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("1000"), nil]
      let code = posix_spawnp(&pid, "sleep", nil, nil, &words, nil)
      for word in words { free(word) }
      try #require(code == 0)
      self.pid = pid
    }

    func kill() { Glibc.kill(pid, SIGKILL) }
    func reap() { waitpid(pid, nil, 0) }

    deinit {
      kill()
      reap()
    }
  }

  @Test func aNumberThatWasGivenAgainIsAnotherProcess() {
    let here = ProcessIdentity.current
    #expect(here.pid == getpid() && here.isRunning)
    #expect(!ProcessIdentity(pid: here.pid, startTime: here.startTime - 1).isRunning)
    #expect(ProcessIdentity(running: 0) == nil)
  }

  @Test func theEndOfAProcessIsToldAtOnceAndOnce() throws {
    let sleeper = try Sleeper()
    let identity = try #require(ProcessIdentity(running: sleeper.pid))
    let loop = try EpollLoop()
    var ends = 0
    let watch = try #require(ProcessWatch(identity, on: loop) { ends += 1 })
    sleeper.kill()
    #expect(loop.run(until: { ends > 0 }, limit: hangLimit))
    #expect(!identity.isRunning, "a process that nobody has buried yet is dead all the same")
    #expect(ProcessWatch(identity, on: loop) { ends += 1 } == nil)
    loop.run(limit: .milliseconds(1))
    #expect(ends == 1)
    watch.cancel()
  }

  @Test func aWatchOnAnotherProcessWithTheSameNumberIsNone() throws {
    let loop = try EpollLoop()
    let here = ProcessIdentity.current
    let earlier = ProcessIdentity(pid: here.pid, startTime: here.startTime - 1)
    #expect(ProcessWatch(earlier, on: loop) {} == nil)
  }
}
