import TestSupport
import Testing

@testable import easim

/// `easim port`: each rule, what it leaves alone, and the files that it writes.
@Suite(.waitsForPrograms) struct PortTests {
  private func findings(_ text: String) -> [PortFinding] { Porter.findings(in: SwiftSource(Array(text.utf8))) }

  /// The text with every edit made that is certain.
  private func ported(_ text: String) -> String {
    let source = SwiftSource(Array(text.utf8))
    return String(decoding: Porter.findings(in: source).applied(to: source), as: UTF8.self)
  }

  private static let observing = """
    class Client: NSObject {
      override init() {
        super.init()
        NotificationCenter.default.addObserver(
          self, selector: #selector(connected(_:)), name: .EAAccessoryDidConnect, object: nil)
        let center = NotificationCenter.default
        center.addObserver(self, selector: #selector(Client.gone), name: .EAAccessoryDidDisconnect, object: nil)
      }
      deinit { NotificationCenter.default.removeObserver(self) }
      @objc private func connected(_ note: Notification) {}
      @objc
      func gone() {}
    }
    """

  @Test func observersBecomeBlocksWhoseTokensAreKept() {
    #expect(
      ported(Self.observing) == """
        class Client: NSObject {
          private var observerTokens: [any NSObjectProtocol] = []
          override init() {
            super.init()
            observerTokens.append(NotificationCenter.default.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: nil) { [weak self] notification in self?.connected(notification) })
            let center = NotificationCenter.default
            observerTokens.append(center.addObserver(forName: .EAAccessoryDidDisconnect, object: nil, queue: nil) { [weak self] _ in self?.gone() })
          }
          deinit { observerTokens.forEach { NotificationCenter.default.removeObserver($0) } }
          private func connected(_ note: Notification) {}
          func gone() {}
        }
        """)
    #expect(findings(ported(Self.observing)) == [])
  }

  @Test(arguments: [
    ("class Client: NSObject {", "@MainActor class Client: NSObject {"),
    ("(_ note: Notification) {}", "(_ note: NSNotification) {}"),
    ("removeObserver(self)", "removeObserver(self, name: .EAAccessoryDidConnect, object: nil)"),
    ("@objc private func connected(_ note: Notification) {}", ""),
    ("    center.addObserver(", "    let x: Void = center.addObserver("),
  ]) func observersAreLeftToAPersonWhere(_ before: String, isInstead after: String) {
    let text = Self.observing.split(separator: before, omittingEmptySubsequences: false).joined(separator: after)
    #expect(text != Self.observing)
    #expect(ported(text) == text)
    #expect(findings(text).filter { $0.advice.contains("observers with a selector") }.count == 2)
  }

  @Test(arguments: [
    (
      "timer = Timer.scheduledTimer(timeInterval: a + 1, target: self, selector: #selector(tick), userInfo: nil, repeats: true)",
      "timer = Timer.scheduledTimer(withTimeInterval: a + 1, repeats: true) { [weak self] _ in self?.tick() }"
    ),
    (
      "let t = Timer(timeInterval: 2.5, target: self, selector: #selector(tock(_:)), userInfo: nil, repeats: false)",
      "let t = Timer(fire: Date(timeIntervalSinceNow: 2.5), interval: 2.5, repeats: false) { [weak self] timer in self?.tock(timer) }"
    ),
  ]) func timersBecomeBlocks(before: String, after: String) {
    func type(_ line: String, _ objc: String) -> String {
      "class C {\n  func f() {\n    \(line)\n  }\n  \(objc)func tick() {}\n  \(objc)func tock(_ t: Timer) {}\n}"
    }
    let result = ported(type(before, "@objc "))
    #expect(result.contains(after), "\(result)")
  }

  @Test(arguments: [
    "Timer.scheduledTimer(timeInterval: 1, target: other, selector: #selector(tick), userInfo: nil, repeats: true)",
    "Timer.scheduledTimer(timeInterval: 1, target: self, selector: #selector(tick), userInfo: info, repeats: true)",
    "Timer.scheduledTimer(timeInterval: 1, target: self, selector: #selector(elsewhere), userInfo: nil, repeats: true)",
    "Timer(timeInterval: next(), target: self, selector: #selector(tick), userInfo: nil, repeats: true)",
  ]) func aTimerThatIsNotPlainIsLeftToAPerson(call: String) {
    let text = "class C {\n  func f() { _ = \(call) }\n  @objc func tick() {}\n}"
    #expect(ported(text) == text)
    #expect(findings(text).contains { $0.advice.contains("timers with a selector") })
  }

  @Test(arguments: [
    ("import ExternalAccessory.EASession\n", "import ExternalAccessory\n"),
    (
      "#if os(iOS)\nlet a: EAAccessory\n#else\n#endif\n",
      "#if canImport(ExternalAccessory)\nlet a: EAAccessory\n#else\n#endif\n"
    ),
    ("actor A: NSObject, StreamDelegate {\n}\n", "actor A: StreamDelegate {\n}\n"),
    ("actor A: NSObject {\n}\n", "actor A {\n}\n"),
  ]) func certainEdits(before: String, after: String) {
    #expect(ported(before) == after)
    #expect(findings(after) == [])
  }

  @Test(arguments: [
    "#if os(iOS)\nimport UIKit\nlet a: EAAccessory\n#endif\n", "#if os(iOS) || os(tvOS)\nlet a: EAAccessory\n#endif\n",
    "actor A: NSObject {\n  override init() { super.init() }\n}\n", "import UIKit\n", "import Combine\n",
    "let p = NSPredicate(format: \"a\")\n", "NSLog(\"%@\", accessory)\n", "perform(#selector(x), on: t, with: nil)\n",
    "delegate?.accessoryDidDisconnect?(a)\n", "let s = #selector(x)\n", "@objc func x() {}\n",
  ]) func adviceAlone(text: String) {
    #expect(ported(text) == text)
    #expect(findings(text).count == (text.contains("import UIKit\nlet") ? 2 : 1))
  }

  @Test(arguments: [
    "// import ExternalAccessory.EASession\n", "/* /* actor A: NSObject {} */ @objc */\n",
    "let s = \"#selector(\\(f(\")\")) @objc \\\"\"\n", "let s = #\"@objc \" \\#(x) \"#\n",
    "let s = \"\"\"\n  @objc \"quoted\" #selector(x)\n  \"\"\"\n", "#if os(iOS)\nlet other = 1\n#endif\n",
    "import ExternalAccessory\n", "import class ExternalAccessory.EASession\n", "let actor = 1\nNSLog(\"plain\")\n",
  ]) func whatIsRightOrNoCodeIsLeftAlone(text: String) {
    #expect(findings(text) == [])
  }

  /// Whatever is in a file: no crash, and no edit outside of it.
  @Test func filesThatAreCutOffAnywhereAreRead() {
    let bytes = Array(
      (Self.observing + "\nlet s = \"\"\"\n \\(f(\"x\")) \"\"\"\n/* */ #\"x\"# actor A: NSObject, B {").utf8)
    for count in bytes.indices {
      let source = SwiftSource(Array(bytes[..<count]))
      _ = Porter.findings(in: source).applied(to: source)
    }
  }

  @Test func writeMakesTheEditsAndLeavesTheRest() throws {
    let place = TemporaryFolder()
    place.write("import ExternalAccessory.EASession\nimport UIKit\n", to: "a.swift")
    let file = place.file("a.swift")
    let shown = try Program.run("port", file)
    #expect(shown.ending == .exit(1))
    #expect(
      shown.outLines == [
        "\(file):1:1: edit: there are no submodules on Linux: import ExternalAccessory",
        "  - import ExternalAccessory.EASession", "  + import ExternalAccessory",
        "\(file):2:1: by hand: there is no UIKit: import ExternalAccessoryAppStandIns on Linux, or move this to another target",
      ])
    #expect(try Program.run("port", "--write", file).ending == .exit(1))
    let again = try Program.run("port", file)
    #expect(again.outLines.count == 1)
    place.write("import ExternalAccessory\n", to: "a.swift")
    #expect(try Program.run("port", file).ending == .exit(0))
    #expect(try Program.run("port", place.file("none")).ending == .exit(2))
  }
}
