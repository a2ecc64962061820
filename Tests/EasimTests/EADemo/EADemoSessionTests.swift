import AccessoryCore
import AccessoryHost
import Testing

@testable import easim

/// Tests EADemo's sessions: echoed bytes, several sessions at the same time, repetitions, and replies in scripts.
@Suite struct EADemoSessionTests {
  private var demo = EADemoTranscript()
  private let echo = EADemoTranscript.accessory(8, "Echo", "com.example.echo")

  private mutating func open() {
    if demo.app.accessories.isEmpty { _ = demo.handle(.appeared(echo)) }
    _ = demo.type("open")
    _ = demo.handle(.opened(echo, protocolName: "com.example.echo"))
  }

  // MARK: 10K

  @Test mutating func tenKThatComeBackAsSentAreSaidSo() {
    open()
    _ = demo.type("string hello")
    _ = demo.handle(.sent(5))
    _ = demo.type("10k")
    _ = demo.handle(.sent(10_000))
    #expect(demo.handle(.received(Array("hello".utf8))) == [])
    let pattern = CountingPattern.bytes(10_000)
    #expect(demo.handle(.received(Array(pattern[..<300]))) == [])
    #expect(demo.handle(.received(Array(pattern[300...]))) == ["✓ 10,000 bytes came back as sent"])
    #expect(demo.app.failure == nil)
  }

  @Test mutating func theFirstWrongByteIsNamed() {
    open()
    _ = demo.type("10k")
    _ = demo.handle(.sent(10_000))
    var wrong = CountingPattern.bytes(10_000)
    wrong[4_321] ^= 1
    #expect(demo.handle(.received(wrong)) == ["! ✗ byte 4,321 was sent as e1 but came back as e0"])
    #expect(demo.app.failure == .checkFailed)
    #expect(demo.handle(.received([1])) == [])
  }

  // MARK: Repetitions

  @Test mutating func bytesAreSentAgainAtTheirRate() {
    open()
    #expect(demo.type("repeat 3 every 100ms 10k") == ["send 10000"])
    #expect(demo.handle(.sent(10_000)) == [])
    #expect(demo.app.deadline == demo.now + .milliseconds(100))
    #expect(demo.pass(.milliseconds(100)) == ["send 10000"])
    // Sending took longer than the interval, so the next repetition begins immediately.
    _ = demo.pass(.milliseconds(150))
    #expect(demo.handle(.sent(10_000)) == ["send 10000"])
    #expect(demo.handle(.sent(10_000)) == ["sent 10000 bytes 3 times"])
    let all = (0..<3).flatMap { _ in CountingPattern.bytes(10_000) }
    #expect(demo.handle(.received(all)) == ["✓ 30,000 bytes came back as sent"])
    #expect(!demo.app.isBusy)
  }

  @Test mutating func aRepetitionCanBeStopped() {
    open()
    _ = demo.type("repeat 1000 every 1s hex 01")
    _ = demo.handle(.sent(1))
    #expect(demo.app.mayPerform(.stop))
    #expect(demo.app.perform(.stop, now: demo.now).count == 1)
    #expect(!demo.app.isBusy && demo.app.deadline == nil)
    _ = demo.type("repeat 5 every 1s hex 01")
    _ = demo.handle(.sent(1))
    #expect(
      demo.handle(.ended("gone")) == ["! session on com.example.echo ended: gone; sent 2 bytes, received 0 bytes"])
    #expect(!demo.app.isBusy && demo.app.failure == .gone)
  }

  // MARK: Several sessions

  @Test mutating func severalSessionsAreOpenAndOneIsTheCurrentOne() {
    open()
    open()
    #expect(demo.app.sessions.map(\.number) == [1, 2] && demo.app.session?.number == 2)
    _ = demo.handle(.received([1], session: 1))
    #expect(
      demo.type("sessions") == [
        "  1  com.example.echo  sent 0 bytes, received 1 byte", "* 2  com.example.echo  sent 0 bytes, received 0 bytes",
      ])
    #expect(demo.type("use 3") == ["! no session 3 is open; open: 1, 2"])
    #expect(demo.type("use 1") == ["session 1 on com.example.echo"])
    #expect(demo.type("hex 01") == ["send 1"])
    #expect(demo.handle(.sent(1, session: 1)) == ["sent 1 byte"])
    #expect(
      demo.handle(.ended("gone", session: 2)) == [
        "session 2 on com.example.echo ended: gone; sent 0 bytes, received 0 bytes"
      ])
    #expect(demo.app.session?.number == 1)
    #expect(demo.type("quit") == ["close", "quit"])
  }

  // MARK: Replies

  @Test mutating func whatCameIsReadOnce() {
    open()
    _ = demo.handle(.received(Array("VERSION 1.2\r\nrest".utf8)))
    #expect(demo.type("read until:\\r\\n") == ["VERSION 1.2"])
    #expect(demo.type("read 4") == ["rest"])
    #expect(demo.type("read") == [])
    #expect(demo.pass(.milliseconds(500)) == ["nothing arrived"])
    _ = demo.type("read")
    #expect(demo.handle(.received([0, 1])) == [])
    #expect(demo.pass(.milliseconds(200)) == ["0000  00 01\(String(repeating: " ", count: 44)).."])
  }

  @Test mutating func aReplyIsWaitedForAndCompared() {
    open()
    #expect(demo.type("expect text:OK\\r\\n") == [])
    #expect(demo.handle(.received(Array("OK".utf8))) == [])
    #expect(demo.handle(.received(Array("\r\n".utf8))) == ["✓ 4 bytes as expected"])
    _ = demo.type("expect 0102")
    _ = demo.handle(.received([1, 3]))
    let lines = demo.pass(.milliseconds(200))
    #expect(lines.prefix(2) == ["! ✗ the reply is not as expected", "! the first difference is at byte 1"])
    #expect(demo.app.failure == .checkFailed)
  }

  @Test mutating func aReplyThatDoesNotComeEndsWithItsTime() {
    open()
    _ = demo.type("expect prefix:OK")
    #expect(demo.pass(.seconds(10)) == ["! the reply was not complete within 10s: 0 bytes arrived"])
    #expect(demo.app.failure == .timedOut)
    _ = demo.type("read 3")
    _ = demo.handle(.received([65]))
    #expect(demo.pass(.seconds(10)) == ["! the reply was not complete within 10s: 1 byte arrived", "! A"])
  }

  @Test mutating func whatCameIsSavedAndTheCablesArePulled() {
    open()
    _ = demo.handle(.received([1, 2, 3]))
    #expect(demo.type("save /tmp/a b") == ["save 3 to /tmp/a b"])
    #expect(demo.type("unplug") == ["unplugged", "unplug"])
    #expect(demo.app.saved("f", "no room", count: 3) == [.output(EADemoApp.Line(text: "f: no room", isError: true))])
  }
}
