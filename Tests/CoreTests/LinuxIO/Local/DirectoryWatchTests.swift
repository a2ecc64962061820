import AccessoryCables
import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct DirectoryWatchTests {
  let temporary = TemporaryFolder()
  let loop: EpollLoop

  init() throws { loop = try EpollLoop() }

  func touch(_ name: String) { close(open("\(temporary.path)/\(name)", O_CREAT | O_WRONLY, 0o600)) }

  @Test func whatComesAndGoesIsToldInOrderThoughNobodyWasLooking() throws {
    var events: [DirectoryWatch.Event] = []
    let watch = try DirectoryWatch(on: loop) { events.append($0) }
    try watch.look(at: temporary.path, for: .entries)
    touch("draft")
    rename("\(temporary.path)/draft", "\(temporary.path)/a")
    unlink("\(temporary.path)/a")
    touch("draft")
    rename("\(temporary.path)/draft", "\(temporary.path)/b")
    #expect(loop.run(until: { events.last == .appeared("b") }, limit: hangLimit))
    #expect(
      events == [.vanished("draft"), .appeared("a"), .vanished("a"), .vanished("draft"), .appeared("b")],
      "a file that is only being made is not told of, one that is moved into place is")
    watch.close()
  }

  @Test func theEndOfTheDirectoryIsTold() throws {
    var events: [DirectoryWatch.Event] = []
    let watch = try DirectoryWatch(on: loop) { events.append($0) }
    let path = temporary.path + "/inner"
    mkdir(path, 0o700)
    try watch.look(at: path, for: .entries)
    rmdir(path)
    #expect(loop.run(until: { !events.isEmpty }, limit: hangLimit))
    #expect(events == [.lost])
    #expect(throws: SystemError.self) { try watch.look(at: path, for: .entries) }
    watch.close()
  }

  @Test func afterLookingElsewhereTheFirstDirectoryIsForgotten() throws {
    var events: [DirectoryWatch.Event] = []
    let watch = try DirectoryWatch(on: loop) { events.append($0) }
    let inner = temporary.path + "/inner"
    mkdir(inner, 0o700)
    try watch.look(at: temporary.path, for: .creations)
    touch("unheard")
    try watch.look(at: inner, for: .creations)
    close(open(inner + "/heard", O_CREAT | O_WRONLY, 0o600))
    #expect(loop.run(until: { !events.isEmpty }, limit: hangLimit))
    #expect(events == [.appeared("heard")])
    watch.close()
    touch("later")
    loop.run(limit: .milliseconds(1))
    #expect(events.count == 1)
  }
}
