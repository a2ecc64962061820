import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

/// Checks that the lock file next to a path allows only one of two accessories to use the path.
@Suite(.waits) struct PathLockTests {
  let directory = TemporaryFolder()
  var path: String { directory.path + "/a.sock" }
  var lock: String { path + ".lock" }
  var address: Address { .unix(path: path) }

  /// Creates the files that exist if a process was killed, or if it has created its socket but is not listening yet.
  private func leaveSocket() throws {
    close(try #require(UnixSocket.make(bind, path)))
  }

  private func text(_ name: String) -> String? {
    directory.bytes(name).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func aSocketThatIsAboutToBeListenedOnIsNotReplaced() throws {
    try leaveSocket()
    directory.write("easim 4711\n", to: "a.sock.lock")
    let holder = open(lock, O_RDWR)
    defer { close(holder) }
    #expect(flock(holder, LOCK_EX) == 0)
    #expect(throws: TransportError.inUse(address, pid: 4711)) { try Meeting(at: address) }
    #expect(directory.names == ["a.sock", "a.sock.lock"])
  }

  @Test func theLockGoesWithTheListener() throws {
    let meeting = try Meeting(at: address)
    #expect(directory.names == ["a.sock", "a.sock.lock"])
    #expect(text("a.sock.lock") == "easim \(getpid())\n")
    meeting.listener.close()
    #expect(directory.names == [])
  }

  @Test func theLockOfAKilledProcessIsTakenOver() throws {
    try leaveSocket()
    directory.write("easim 4711\n", to: "a.sock.lock")
    let meeting = try Meeting(at: address)
    try meeting.connect().close()
    #expect(text("a.sock.lock") == "easim \(getpid())\n")
  }

  @Test(arguments: [false, true]) func aFileOrLinkOfThatNameThatIsNoLockStaysAsItIs(isLink: Bool) throws {
    directory.write("notes\n", to: isLink ? "notes" : "a.sock.lock")
    if isLink { directory.link("a.sock.lock", to: "notes") }
    #expect(
      throws: TransportError.unusable(address, "the file \(lock) exists but is not an easim lock file; remove it")
    ) {
      try Meeting(at: address)
    }
    #expect(text("a.sock.lock") == "notes\n")
    #expect(!directory.has("a.sock"))
  }

  @Test func aLockThatTookTheOldOnesPlaceIsNotRemoved() throws {
    let meeting = try Meeting(at: address)
    unlink(lock)
    directory.write("easim 4711\n", to: "a.sock.lock")
    meeting.listener.close()
    #expect(text("a.sock.lock") == "easim 4711\n")
  }
}
