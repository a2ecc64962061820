import Foundation
import Glibc
import TestSupport
import Testing

@testable import AccessoryProfiles

@Suite struct TextFileTests {
  let folder = TemporaryFolder()

  private func reason(
    _ name: String, limit: Int = 1 << 20, onlyRegular: Bool = false, within patience: Duration = .seconds(10)
  ) -> String {
    let path = name.hasPrefix("/") ? name : folder.file(name)
    do {
      _ = try TextFile.read(path, limit: limit, onlyRegular: onlyRegular, within: patience)
      return ""
    } catch { return error.reason }
  }

  @Test func aNameIsTakenForAFileWithItsEnding() throws {
    let name = folder.file("meter")
    #expect(TextFile.hint(forFileNamed: name) == "")
    try Data().write(to: URL(fileURLWithPath: "\(name).json5"))
    #expect(TextFile.hint(forFileNamed: name).hasPrefix("; to use the file \(name).json5, write "))
    try Data().write(to: URL(fileURLWithPath: name))
    #expect(TextFile.hint(forFileNamed: name).hasPrefix("; to use the file with that name, write "))
    #expect(TextFile.hint(forFileNamed: "") == "")
  }

  private func makePipe(_ name: String) { #expect(mkfifo(folder.file(name), 0o600) == 0) }

  @Test func aPipeThatNeverEndsIsReadForALimitedTime() throws {
    makePipe("fifo")
    // The pipe is opened for both reading and writing, so that opening it does not block.
    let writer = open(folder.file("fifo"), O_RDWR | O_CLOEXEC)
    defer { close(writer) }
    #expect(reason("fifo", within: .milliseconds(20)) == "reading it took longer than 20ms")
    let path = folder.file("fifo")
    Thread.detachNewThread {
      var broken = sigset_t()
      sigemptyset(&broken)
      sigaddset(&broken, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &broken, nil)
      let sink = open(path, O_WRONLY | O_CLOEXEC)
      var byte: UInt8 = 0x20
      // Writes until the last reader has closed the pipe.
      while write(sink, &byte, 1) == 1 {}
      close(sink)
    }
    #expect(reason("fifo", limit: .max, within: .milliseconds(200)) == "reading it took longer than 200ms")
  }

  @Test func aPipeThatNoProgramOpensIsWaitedForALimitedTime() {
    makePipe("fifo")
    #expect(reason("fifo", within: .milliseconds(20)) == "reading it took longer than 20ms")
  }

  @Test func whatIsNoRegularFileIsRefusedWhereOnlyThoseAreRead() {
    makePipe("fifo")
    folder.link("link", to: folder.file("fifo"))
    folder.link("dangling", to: folder.file("nowhere"))
    let advice = "copy its contents to a regular file"
    #expect(reason("fifo", onlyRegular: true) == "it is a pipe; \(advice)")
    #expect(reason("link", onlyRegular: true) == "it is a pipe; \(advice)")
    #expect(reason("/dev/zero", onlyRegular: true) == "it is a device; \(advice)")
    #expect(reason(folder.path, onlyRegular: true) == "Is a directory")
    #expect(reason("dangling", onlyRegular: true) == "No such file or directory")
    #expect(reason("/proc/self/stat", onlyRegular: true) == "")
    _ = folder.write("x", to: "file")
    #expect(reason("file", onlyRegular: true) == "")
  }

  @Test(arguments: [false, true]) func aSocketIsNoFile(onlyRegular: Bool) throws {
    let socket = try #require(UnixSocket.make(bind, folder.file("s")))
    defer { close(socket) }
    #expect(reason("s", onlyRegular: onlyRegular) == "it is a socket; copy its contents to a regular file")
  }
}
