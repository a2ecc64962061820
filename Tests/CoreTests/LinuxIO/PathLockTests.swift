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

  private func write(_ text: String, to path: String) {
    let file = open(path, O_CREAT | O_WRONLY, 0o600)
    _ = Glibc.write(file, text, text.utf8.count)
    close(file)
  }

  private func text(of path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 256)
    return fgets(&buffer, 256, file) == nil
      ? "" : String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  @Test func aSocketThatIsAboutToBeListenedOnIsNotReplaced() throws {
    try leaveSocket()
    write("easim 4711\n", to: lock)
    let holder = open(lock, O_RDWR)
    defer { close(holder) }
    #expect(flock(holder, LOCK_EX) == 0)
    #expect(throws: TransportError.inUse(address, pid: 4711)) { try Meeting(at: address) }
    #expect(directory.names == ["a.sock", "a.sock.lock"])
  }

  @Test func theLockGoesWithTheListener() throws {
    let meeting = try Meeting(at: address)
    #expect(directory.names == ["a.sock", "a.sock.lock"])
    #expect(text(of: lock) == "easim \(getpid())\n")
    meeting.listener.close()
    #expect(directory.names == [])
  }

  @Test func theLockOfAKilledProcessIsTakenOver() throws {
    try leaveSocket()
    write("easim 4711\n", to: lock)
    let meeting = try Meeting(at: address)
    try meeting.connect().close()
    #expect(text(of: lock) == "easim \(getpid())\n")
  }

  @Test func aFileOfThatNameThatIsNoLockStaysAsItIs() throws {
    write("notes\n", to: lock)
    #expect(
      throws: TransportError.unusable(address, "the file \(lock) exists but is not an easim lock file; remove it")
    ) {
      try Meeting(at: address)
    }
    #expect(text(of: lock) == "notes\n")
    #expect(directory.names == ["a.sock.lock"])
  }

  @Test func aLinkOfThatNameIsNotFollowed() throws {
    write("notes\n", to: directory.path + "/notes")
    symlink(directory.path + "/notes", lock)
    #expect(
      throws: TransportError.unusable(address, "the file \(lock) exists but is not an easim lock file; remove it")
    ) {
      try Meeting(at: address)
    }
    #expect(text(of: directory.path + "/notes") == "notes\n")
  }

  @Test func aLockThatTookTheOldOnesPlaceIsNotRemoved() throws {
    let meeting = try Meeting(at: address)
    unlink(lock)
    write("easim 4711\n", to: lock)
    meeting.listener.close()
    #expect(text(of: lock) == "easim 4711\n")
  }
}
