import Glibc
import TestSupport
import Testing

@Suite(.waits) struct ConsoleTests {
  let place = TemporaryFolder()

  private func run(_ lines: [String], at address: String, _ words: String...) throws -> Program.Remains {
    place.write(lines.joined(separator: "\n") + "\n", to: "lines")
    let options = words.joined(separator: " ")
    return try shell("cat \(place.file("lines")) | exec \(BuiltProducts.easim) console \(address) \(options)").wait()
  }

  private func shell(_ command: String) throws -> Program {
    try Program(path: "/bin/sh", ["-c", command])
  }

  /// Returns the lines without connection IDs, which differ from run to run.
  private func lines(_ remains: Program.Remains) -> [String] {
    remains.outLines.map { line in
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      guard let index = words.firstIndex(where: { $0.hasPrefix("connectionID") }) else { return line }
      return words[...index].joined(separator: " ")
    }
  }

  @Test func aScriptOpensSendsWaitsAndClosesThroughAFlicker() throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", "flicker,empty=20ms,gap=20ms")
    let script = ["open", "string hello", "wait 5", "hex 01 02", "10k", "wait 10007", "list", "close", "quit"]
    let console = try run(script, at: accessory.address)
    #expect(console.ending == .exit(0), "\(console.out)\(console.err)")
    let name = "李未可 View AI眼镜 (040025380108A000608)"
    #expect(
      lines(console) == [
        "connected: \(name) [no protocols] connectionID", "disconnected: \(name) [no protocols] connectionID",
        "connected: \(name) [com.lawaken.iap2] connectionID", "session open on com.lawaken.iap2", "sent 5 bytes",
        "sent 5 bytes, received 5 bytes", "sent 2 bytes", "sent 10000 bytes",
        "✓ 10,000 bytes came back as sent", "sent 10007 bytes, received 10007 bytes",
        "1  \(name) [com.lawaken.iap2] connectionID",
        "session on com.lawaken.iap2 ended: the device closed it; sent 10007 bytes, received 10007 bytes",
      ])
    #expect(try accessory.interrupt().err.contains("1 session was served, 20014 bytes in all"))
  }

  @Test func aScriptReadsComparesSavesAndUnplugs() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "echo")
    let script = [
      "open", "text A\\r\\n", "expect text:A\\r\\n", "repeat 3 every 10ms string ab", "read 6",
      "save \(place.file("saved"))", "unplug", "wait connect", "open", "string x", "read 1", "quit",
    ]
    let console = try run(script, at: accessory.address, "--time")
    #expect(console.ending == .exit(0), "\(console.out)\(console.err)")
    for text in ["✓ 3 bytes as expected", "sent 2 bytes 3 times", "ababab", "unplugged", "x"] {
      #expect(console.outLines.contains { $0.hasSuffix("  \(text)") }, "\(text): \(console.out)")
    }
    #expect(place.bytes("saved").map { String(decoding: $0, as: UTF8.self) } == "A\r\nababab")
  }

  @Test func aReplyThatDiffersFailsAScript() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let console = try run(["open", "string hello", "expect text:help"], at: accessory.address)
    #expect(console.ending == .exit(1))
    #expect(console.out.contains("easim: ✗ the reply is not as expected"))
  }

  @Test func aRefusalEndsAScript() throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", "authentication,wrong")
    let console = try run(["open"], at: accessory.address, "--timeout", "1h")
    #expect(console.ending == .exit(6), "\(console.out)\(console.err)")
    #expect(console.err.contains("easim: authentication failed (AA04): "), "\(console.err)")
  }

  @Test func aMessageIsSentAndAnAnswerChanged() throws {
    place.write("{ version: 1, power: { battery: 55 } }", to: "device.json5")
    let accessory = try Accessory("charger", on: .unix, in: place)
    let console = try run(
      [
        "open", "string x", "wait 1", "message PowerUpdate battery-percent=20", "message FFFC", "string y", "wait 2",
      ], at: accessory.address, "--device-profile", place.file("device.json5"))
    #expect(console.ending == .exit(0), "\(console.out)\(console.err)")
    #expect(console.outLines.contains("FFFC StopLocationInformation sent to 1 accessory"), "\(console.out)")
    let run = try accessory.interrupt()
    #expect(run.out.contains("battery-percent=55"), "\(run.out)")
    #expect(run.out.contains("battery-percent=20"), "\(run.out)")
    #expect(run.out.contains("← FFFC StopLocationInformation"), "\(run.out)")
  }

  /// In this scenario, the dock requests the artwork, which the host sends as a file.
  @Test func aFileOfTheOtherEndIsSaved() throws {
    let artwork: [UInt8] = [0xFF, 0xD8, 0xFF] + [UInt8](repeating: 7, count: 30_000)
    place.write(artwork, to: "cover.jpg")
    place.write("{ version: 1, nowPlaying: { artwork: 'cover.jpg' } }", to: "device.json5")
    let accessory = try Accessory("dock", on: .unix, in: place, "--save-files", place.file("files"))
    let watch = try Program("watch", accessory.address, "--device-profile", place.file("device.json5"))
    try accessory.program.line("saved as \(place.file("files/file-0001.jpg"))")
    #expect(place.bytes("files/file-0001.jpg") == artwork)
    try watch.interrupt()
  }

  @Test func nobodyThereIsSaidAndTheExitCodeIsThree() throws {
    let nowhere = "unix:\(place.file("nobody.sock"))"
    let console = try run(["list", "open"], at: nowhere, "--timeout", "50ms")
    #expect(console.ending == .exit(3))
    #expect(
      console.outLines == [
        "No Accessories Connected (looked at \(nowhere))",
        "easim: no session within 50ms: No Accessories Connected (looked at \(nowhere))",
      ])
  }

  @Test func anInputThatCannotBeReadIsAnError() throws {
    let console = try Program(["console", "unix:\(place.file("nobody.sock"))"], stdin: place.path).wait()
    #expect(console.ending == .exit(2) && console.outLines == ["easim: stdin: Is a directory"], "\(console.out)")
  }

  @Test func anAccessoryThatGoesEndsTheSessionAndNotTheConsole() throws {
    let accessory = try Accessory(on: .unix, in: place)
    try #require(mkfifo(place.file("commands"), 0o600) == 0)
    let console = try shell("exec \(BuiltProducts.easim) console \(accessory.address) < \(place.file("commands"))")
    let commands = open(place.file("commands"), O_WRONLY | O_CLOEXEC)
    defer { close(commands) }
    func type(_ line: String) {
      _ = (line + "\n").withCString { write(commands, $0, strlen($0)) }
    }
    type("open")
    try console.line("session open on com.lawaken.iap2")
    try accessory.interrupt()
    try console.line("session on com.lawaken.iap2 ended: the other end closed the channel")
    try console.line("disconnected: ")
    type("string x")
    try console.line("easim: no session is open")
    type("quit")
    #expect(try console.wait().ending == .exit(1))
  }

  @Test func jsonHasTheDevicesEventsAndTheAppsNotes() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let console = try run(["open", "string hi", "wait 2", "close"], at: accessory.address, "--json")
    #expect(console.ending == .exit(0))
    let lines = try EventLines(console.out)
    #expect(lines.events("connect", "disconnect", "session.open", "session.close").count == 4)
    let notes = lines.events("note").map { $0["text"]?.text ?? "" }
    #expect(notes.contains("sent 2 bytes, received 2 bytes"), "\(console.out)")
  }

  @Test func inTheBackgroundTheAppLosesItsAccessoriesUnlessItDeclaresTheMode() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let script = ["open", "background", "list", "foreground", "list"]
    let losing = try run(script, at: accessory.address)
    #expect(losing.out.contains("in the background\nsession on com.lawaken.iap2 ended"), "\(losing.out)")
    #expect(losing.out.contains("No Accessories Connected"))
    let plist = """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict>
      <key>UISupportedExternalAccessoryProtocols</key><array><string>com.lawaken.iap2</string></array>
      <key>UIBackgroundModes</key><array><string>external-accessory</string></array>
      </dict></plist>
      """
    place.write(plist, to: "Info.plist")
    let keeping = try run(script, at: accessory.address, "--info-plist", place.file("Info.plist"))
    #expect(keeping.out.contains("in the background\n1  李未可"), "\(keeping.out)\(keeping.err)")
  }
}
