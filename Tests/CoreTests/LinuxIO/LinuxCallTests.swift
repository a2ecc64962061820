import CLinux
import Testing

@testable import LinuxIO

/// Compares easim's own declarations of system calls with those in the headers.
@Suite struct LinuxCallTests {
  @Test func eventsOfEpollLieWhereTheHeaderHasThem() {
    var events = [
      epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: 7)),
      epoll_event(events: EPOLLRDHUP.rawValue | EPOLLHUP.rawValue, data: epoll_data_t(u64: 1 << 40)),
    ]
    #expect(EpollEvent.stride == MemoryLayout<epoll_event>.stride)
    events.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      #expect(EpollEvent.mask(base, 0) == EpollEvent.input)
      #expect(EpollEvent.token(base, 0) == 7)
      #expect(EpollEvent.mask(base, 1) == EpollEvent.halfClose | EpollEvent.hangUp)
      #expect(EpollEvent.token(base, 1) == 1 << 40)
    }
  }

  @Test func constantsOfEpollAreThoseOfTheHeader() {
    #expect(EpollEvent.output == EPOLLOUT.rawValue)
    #expect(EpollEvent.error == EPOLLERR.rawValue)
    #expect(EpollEvent.oneShot == EPOLLONESHOT.rawValue)
    #expect([EpollEvent.add, EpollEvent.delete, EpollEvent.modify] == [EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD])
  }
}
