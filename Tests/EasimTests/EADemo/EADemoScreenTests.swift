import AccessoryCore
import AccessoryHost
import Testing

@testable import easim

@Suite struct EADemoScreenTests {
  private var demo = EADemoTranscript()
  private var screen = EADemoScreen()
  private let echo = EADemoTranscript.accessory(8, "Echo", "com.example.echo", "com.example.other")
  private let second = EADemoTranscript.accessory(9, "Second", "com.example.second")

  private mutating func handle(_ event: EADemoApp.Event) {
    _ = demo.handle(event)
    screen.follow(demo.app)
  }

  private mutating func press(_ keys: Key...) -> EADemoCommand? {
    var command: EADemoCommand?
    for key in keys { command = screen.press(key, demo.app) }
    return command
  }

  private func drawn(width: Int = 70, height: Int = 12) -> [String] {
    screen.rows(demo.app, width: width, height: height).map(\.text)
  }

  @Test func nothingConnectedNamesThePlace() {
    #expect(
      drawn() == [
        "Accessories", "", "  No Accessories Connected", "  looked at the local directory /b", "", "", "", "", "", "",
        "",
        "up/down choose   enter details   b background   q quit",
      ])
  }

  @Test mutating func fromTheListToTheSession() {
    handle(.appeared(second))
    handle(.appeared(echo))
    #expect(
      drawn()[2...3] == [
        "> Second (S9) [com.example.second] connectionID 9",
        "  Echo (S8) [com.example.echo com.example.other] connectionID 8",
      ])
    #expect(press(.down, .down, .enter) == nil)
    #expect(screen.page == .accessory(8))
    #expect(drawn(height: 20).contains("> com.example.echo"))
    #expect(drawn(height: 20).contains("  serial: S8"))
    #expect(press(.down, .enter) == .open(protocolName: "com.example.other", number: 2))
    handle(.opened(echo, protocolName: "com.example.other"))
    #expect(screen.page == .session)
    #expect(drawn()[0] == "com.example.other")
    #expect(press(.character("k")) == .send(CountingPattern.bytes(10_000)))
    #expect(press(.character("r"), .character("3"), .enter) == .again(3, every: .zero, CountingPattern.bytes(10_000)))
    #expect(press(.character("s"), .character("h"), .character("i"), .enter) == .send(Array("hi".utf8)))
    #expect(press(.character("h"), .character("0"), .character("a"), .enter) == .send([10]))
    #expect(press(.escape) == .close)
    handle(.ended("the device closed it"))
    #expect(screen.page == .accessory(8))
    #expect(press(.left) == nil)
    #expect(screen.page == .accessories)
    #expect(press(.character("q")) == .quit)
  }

  @Test mutating func theCountersAndTheLastBytesAreShown() {
    handle(.appeared(second))
    handle(.opened(second, protocolName: "com.example.second"))
    _ = demo.type("string 1234567890")
    handle(.sent(4))
    handle(.received(Array("0123456789abcdefXYZ\u{1}".utf8)))
    #expect(
      drawn()[2...6] == [
        "  Received  20 bytes", "  Sent      4 of 10 bytes", "",
        "  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef",
        "  58 59 5a 01                                      XYZ.",
      ])
  }

  @Test mutating func anAccessoryThatGoesLeadsBackToTheList() {
    handle(.appeared(echo))
    handle(.opened(echo, protocolName: "com.example.echo"))
    _ = press(.character("s"), .character("x"))
    #expect(screen.prompt?.text == "x")
    handle(.ended("gone"))
    #expect(screen.page == .accessory(8))
    #expect(screen.prompt == nil, "what was being typed had a session to go to")
    handle(.disappeared(echo))
    #expect(screen.page == .accessories)
    #expect(drawn()[2] == "  No Accessories Connected")
  }

  @Test mutating func anAccessoryWithoutProtocolsCanBeLookedAtAndNotOpened() {
    handle(.appeared(EADemoTranscript.accessory(1, "Flickering")))
    _ = press(.enter)
    #expect(drawn(height: 20).contains("  none yet"))
    #expect(press(.enter) == nil)
    #expect(press(.enter, .down, .enter) == nil)
  }

  @Test mutating func typingCanBeMendedAndCancelled() {
    handle(.appeared(echo))
    handle(.opened(echo, protocolName: "com.example.echo"))
    _ = press(.character("s"), .character("q"), .character("李"), .backspace, .character("b"))
    #expect(
      drawn().suffix(2) == ["Send String: qb_", "enter send   up earlier   esc cancel   \\r \\n \\t \\xHH are bytes"])
    _ = press(.control("u"), .backspace)
    #expect(screen.prompt?.text == "")
    #expect(press(.enter) == nil)
    #expect(screen.prompt == nil)
    #expect(press(.character("h"), .character("z"), .enter) == nil)
    #expect(screen.news.last?.text == "hex z: 'z' at character 1 is not a hex digit")
    #expect(press(.character("s"), .character("x"), .escape) == nil)
    #expect(screen.prompt == nil && screen.page == .session)
    #expect(press(.character("s"), .control("c")) == .quit, "Ctrl-C quits from everywhere")
  }

  @Test mutating func backgroundIsAKeyAndAMark() {
    #expect(press(.character("b")) == .background)
    _ = demo.type("background")
    #expect(drawn()[0] == "Accessories   (in the background)")
    #expect(press(.character("b")) == .foreground)
  }

  @Test mutating func theLatestNewsHasTheLastLinesAndIsWrapped() {
    for number in 0..<200 { screen.append(EADemoApp.Line(text: "news \(number)")) }
    screen.append(EADemoApp.Line(text: "a long line that wraps", isError: true))
    #expect(screen.news.count == EADemoScreen.newsLimit)
    let rows = screen.rows(demo.app, width: 16, height: 13)
    #expect(rows.count == 13)
    #expect(rows[4...8].map(\.text) == ["", "news 198", "news 199", "a long line that", "   wraps"])
    #expect(rows[8].style == .wrong && rows[6].style == .quiet)
    // The screen lists all keys.
    #expect(rows.suffix(4).map(\.text) == ["up/down choose", "enter details", "b background", "q quit"])
  }

  @Test mutating func formerTextsAreRecalledAndEscapesAreBytes() {
    handle(.appeared(echo))
    handle(.opened(echo, protocolName: "com.example.echo"))
    #expect(press(.character("s"), .character("\\"), .character("r"), .enter) == .send([13]))
    #expect(press(.character("s"), .character("b"), .enter) == .send([98]))
    #expect(press(.character("h"), .character("0"), .character("1"), .enter) == .send([1]))
    _ = press(.character("s"), .up)
    #expect(screen.prompt?.text == "b")
    _ = press(.up, .up)
    #expect(screen.prompt?.text == "\\r")
    _ = press(.down, .down)
    #expect(screen.prompt?.text == "")
    #expect(press(.up, .enter) == .send([98]))
    #expect(press(.character("w"), .character("f"), .enter) == .save("f"))
    #expect(press(.character("s"), .character("\\"), .enter) == nil)
    #expect(screen.news.last?.isError == true)
  }

  @Test mutating func whatCameIsScrolledBack() {
    handle(.appeared(echo))
    handle(.opened(echo, protocolName: "com.example.echo"))
    handle(.received((0..<1_000).map { UInt8($0 / 16) }))
    #expect(drawn().contains { $0.hasPrefix("  3e 3e") })
    _ = press(.pageUp, .pageUp, .up)
    #expect(drawn().contains { $0.contains("more bytes") } && !drawn().contains { $0.hasPrefix("  3e 3e") })
    for _ in 0..<200 { _ = press(.pageUp) }
    #expect(drawn().contains { $0.hasPrefix("  00 00") })
    #expect(drawn(width: 40).contains { $0.hasPrefix("  00 00 00 00 00 00 00 00  ..") })
    for _ in 0..<300 { _ = press(.pageDown) }
    #expect(drawn().contains { $0.hasPrefix("  3e 3e") })
  }

  @Test mutating func severalSessionsAreShownInTurn() {
    handle(.appeared(echo))
    handle(.opened(echo, protocolName: "com.example.echo"))
    #expect(press(.character("a")) == nil)
    #expect(screen.page == .accessories)
    handle(.opened(echo, protocolName: "com.example.other"))
    #expect(screen.page == .session && drawn().contains("  Session   1 [2]"))
    #expect(press(.control("i")) == .use(1))
    _ = press(.character("a"), .control("i"))
    #expect(screen.page == .session)
  }

  @Test mutating func aScreenIsNeverWiderOrHigherThanTheTerminal() {
    handle(.appeared(EADemoTranscript.accessory(1, "李未可 View AI眼镜", "com.example.a")))
    screen.append(EADemoApp.Line(text: "李未可李未可李未可"))
    for page in 0..<3 {
      for (width, height) in [(1, 1), (2, 3), (5, 4), (20, 8), (200, 60)] {
        let rows = screen.rows(demo.app, width: width, height: height)
        #expect(rows.count == height)
        #expect(rows.allSatisfy { TextTable.width(of: $0.text) <= width }, "page \(page), \(width)x\(height)")
      }
      _ = press(.enter)
      if page == 1 { handle(.opened(demo.app.accessories[0], protocolName: "com.example.a")) }
    }
  }
}
