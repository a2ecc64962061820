import CLinux
import Glibc
import TestSupport

/// A full pipe that blocks the next write until the test reads from it.
///
/// The pipe is a FIFO, because a FIFO can be opened with O_CLOEXEC, so that no other test's program can ever inherit
/// it.
final class FullPipe {
  private(set) var writingEnd: Int32
  private let readingEnd: Int32
  private static let filling = [UInt8](repeating: UInt8(ascii: "."), count: 4_095) + [UInt8(ascii: "\n")]

  init(in place: TemporaryFolder, _ name: String = "pipe") throws {
    let path = place.file(name)
    mkfifo(path, 0o600)
    readingEnd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    let filler = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    writingEnd = open(path, O_WRONLY | O_CLOEXEC)
    guard readingEnd >= 0, filler >= 0, writingEnd >= 0 else {
      throw ProgramFailure(description: "no pipe: \(String(cString: strerror(errno)))")
    }
    while write(filler, Self.filling, Self.filling.count) > 0 {}
    close(filler)
  }

  deinit {
    if writingEnd >= 0 { close(writingEnd) }
    close(readingEnd)
  }

  func read(to text: String) throws -> [String] {
    var lines: [String] = []
    var unfinished: [UInt8] = []
    while true {
      let more = try StuckPlace.read(readingEnd, "a line with '\(text)'")
      if more.isEmpty { throw ProgramFailure(description: "it ended without a line with '\(text)'") }
      var parts = more.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      let tail = parts.removeLast()
      for part in parts {
        let line = String(decoding: unfinished + part, as: UTF8.self)
        unfinished = []
        if !line.hasPrefix("....") { lines.append(line) }
        if line.contains(text) { return lines }
      }
      unfinished += tail
    }
  }

  func readToTheEnd() throws -> [String] {
    close(writingEnd)
    writingEnd = -1
    var bytes: [UInt8] = []
    while case let more = try StuckPlace.read(readingEnd, "the end"), !more.isEmpty { bytes += more }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("....") }.map(
      String.init)
  }
}

/// A FIFO that is open for reading, but whose bytes are read only when a test calls `read`.
final class UnreadFIFO {
  let path: String
  private let readingEnd: Int32
  private(set) var text = ""

  init(in place: TemporaryFolder, _ name: String = "fifo") {
    path = place.file(name)
    mkfifo(path, 0o600)
    readingEnd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
  }

  deinit { close(readingEnd) }

  func read(until isEnough: (String) -> Bool) throws {
    while !isEnough(text) {
      text += String(decoding: try StuckPlace.read(readingEnd, "more of the transcript"), as: UTF8.self)
    }
  }
}

final class StoppedTerminal {
  let terminal: Int32
  let path: String
  private let master: Int32
  private var bytes: [UInt8] = []

  init() throws {
    var name = [CChar](repeating: 0, count: 128)
    master = clinux_open_pty(&name, name.count)
    terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
    path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard master >= 0, terminal >= 0, tcflow(terminal, TCOOFF) == 0 else {
      throw ProgramFailure(description: "no terminal: \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    close(terminal)
    close(master)
  }

  func resume() { tcflow(terminal, TCOON) }

  func type(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard write(master, bytes, bytes.count) == bytes.count else {
      throw ProgramFailure(description: "cannot type: \(String(cString: strerror(errno)))")
    }
  }

  var modes: tcflag_t {
    var settings = termios()
    tcgetattr(terminal, &settings)
    return settings.c_lflag
  }

  func read(to texts: String...) throws {
    for text in texts {
      while true {
        let shown = String(decoding: bytes, as: UTF8.self)
        if let range = shown.range(of: text) {
          bytes = Array(shown[range.upperBound...].utf8)
          break
        }
        bytes += try StuckPlace.read(master, "'\(text)'")
      }
    }
  }
}

private enum StuckPlace {
  /// Returns the next output, or an empty string if there is no more. Throws an error if no output arrives in time.
  static func read(_ descriptor: Int32, _ what: String) throws -> ArraySlice<UInt8> {
    var question = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&question, 1, Int32(Program.hangLimit)) > 0 else {
      throw ProgramFailure(description: "nothing came; waited for \(what)")
    }
    var block = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(descriptor, &block, block.count)
    guard count >= 0 else {
      throw ProgramFailure(description: "\(String(cString: strerror(errno))); waited for \(what)")
    }
    return block[..<count]
  }
}
