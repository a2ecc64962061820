import Testing

@testable import easim

@Suite struct KeyReaderTests {
  private func keys(_ text: String, splitAt cut: Int? = nil) -> [Key] {
    let bytes = Array(text.utf8)
    var reader = KeyReader()
    guard let cut else { return reader.read(bytes) + reader.finish() }
    return reader.read(bytes[..<cut]) + reader.read(bytes[cut...]) + reader.finish()
  }

  @Test(
    arguments: [
      ("a", [.character("a")]), ("李é", [.character("李"), .character("é")]), ("\r\n", [.enter, .enter]),
      ("\u{7F}\u{8}", [.backspace, .backspace]), ("\u{3}\u{15}", [.control("c"), .control("u")]),
      ("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D", [.up, .down, .right, .left]), ("\u{1B}OA", [.up]),
      ("\u{1B}[1;5A", [.up]), ("\u{1B}[3~x", [.character("x")]), ("\u{1B}\u{1B}[A", [.escape, .up]),
      ("\u{1B}", [.escape]), ("\u{1B}x", []), ("\u{0}a", [.character("a")]),
    ] as [(String, [Key])]) func bytesAreKeysHoweverTheyCome(text: String, expected: [Key])
  {
    #expect(keys(text) == expected)
    for cut in 0...text.utf8.count { #expect(keys(text, splitAt: cut) == expected) }
  }

  @Test func anEscapeIsHeldUntilItIsKnownWhatItIs() {
    var reader = KeyReader()
    #expect(reader.read([0x1B]) == [])
    #expect(reader.isHolding)
    #expect(reader.finish() == [.escape])
    #expect(!reader.isHolding)
  }

  @Test func whatIsNoKeyIsDroppedAndNotGathered() {
    var reader = KeyReader()
    #expect(reader.read([0xFF, 0xC3, 0x28, 0x61]) == [.character("("), .character("a")])
    #expect(reader.read([0x1B, 0x5B] + [UInt8](repeating: 0x30, count: 100) + [0x61]).last == .character("a"))
    #expect(!reader.isHolding)
  }
}
