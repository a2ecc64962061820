import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct SignalWatchTests {
  @Test func signalsArriveOnTheLoopAndDoNotEndTheProcess() throws {
    let loop = try EpollLoop()
    var heard: [Int32] = []
    let watch = try SignalWatch([SIGUSR1, SIGTERM], on: loop) { heard.append($0) }
    // The signals are blocked in this thread, so the loop reads them instead.
    pthread_kill(pthread_self(), SIGUSR1)
    pthread_kill(pthread_self(), SIGTERM)
    #expect(loop.run(until: { heard.count == 2 }, limit: hangLimit))
    #expect(heard.sorted() == [SIGUSR1, SIGTERM].sorted())
    watch.close()
    watch.close()
    // The signal is still blocked, so a late signal is harmless. Unblocking the signal at the end restores the thread's
    // state.
    pthread_kill(pthread_self(), SIGUSR1)
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGUSR1)
    var taken: Int32 = 0
    sigwait(&set, &taken)
    #expect(taken == SIGUSR1)
    sigaddset(&set, SIGTERM)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }
}
