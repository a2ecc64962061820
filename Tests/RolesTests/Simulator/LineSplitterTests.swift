import LinuxIO
import Testing

@Suite struct LineSplitterTests {
  private func lines(_ pieces: [UInt8]...) -> [String] {
    var splitter = LineSplitter()
    var lines: [String] = []
    for piece in pieces { splitter.take(piece.span.bytes) { lines.append($0) } }
    splitter.end { lines.append($0) }
    return lines
  }

  @Test func linesEndWithALineFeedHoweverTheyCome() {
    #expect(lines(Array("one\ntwo\r\n\nthr".utf8), Array("ee".utf8)) == ["one", "two", "", "three"])
    #expect(lines(Array("one\n".utf8)) == ["one"])
    #expect(lines() == [])
  }

  @Test func whatCouldSteerATerminalIsSpelledOut() {
    #expect(lines(Array("\u{1B}[2Jred\tbell\u{7}\n".utf8)) == ["\\u{1b}[2Jred\tbell\\u{7}"])
  }

  @Test func whatIsNoUTF8IsReplaced() {
    #expect(lines([0x61, 0xFF, 0x62, 0x0A]) == ["a\u{FFFD}b"])
  }

  @Test func aLineWithoutEndIsCut() {
    let line = [UInt8](repeating: 0x41, count: 2 * 4_096 + 1)
    #expect(lines(line).map(\.utf8.count) == [4_096, 4_096, 1])
  }
}
