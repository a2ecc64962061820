import Glibc
import TestSupport
import Testing

@Suite(.waits) struct InfoTests {
  let local = LocalPlace()

  /// What a real device prints about the `lawk-view` glasses, without the address and the connection ID.
  private var glasses: String { masked(glassesDump + "\n") }

  func masked(_ text: String) -> String {
    text.replacing(/0x[0-9a-f]+/, with: "0x", maxReplacements: 1)
      .replacing(/connectionID:[0-9]+/, with: "connectionID:")
  }

  /// The accessory itself chooses its name, which easim prints in every form of output.
  @Test func aNameGivesNoOrdersToATerminal() throws {
    let profile = #"{ version: 1, extends: "echo", accessory: { name: "Echo\u001B[2J\u0085\u000A" } }"#
    let path = local.place.write(profile, to: "rude.json5")
    let run = try local.plugIn(path)
    for words in [["info"], ["list"], ["send", "--text", "hello"]] {
      let easim = try local.run(words)
      let said = easim.out + easim.err
      #expect(easim.ending == .exit(0), "\(said)")
      #expect(said.contains("Echo\u{FFFD}[2J\u{FFFD}\u{FFFD}"), "\(words) \(said)")
      #expect(!said.contains("\u{1B}"), "\(words)")
    }
    let exact = try local.run("info", "--json")
    let event = try #require(try EventLines(exact.out).events.first)
    #expect(event["accessory"]?["name"]?.text == "Echo\u{1B}[2J\u{85}\n")
    #expect(try run.interrupt().ending == .exit(0))
  }

  @Test func theGlassesArePrintedAsAppleDoesThroughAFlicker() throws {
    let run = try local.plugIn("lawk-view", "--quirk", "flicker,empty=5ms,gap=5ms")
    let info = try local.run("info")
    #expect(info.ending == .exit(0), "\(info.err)")
    #expect(masked(info.out) == glasses)
    let older = try local.run("info", "--layout", "A")
    #expect(masked(older.out) == glasses.replacing("  regioncode: (null) \n", with: ""))
    let json = try local.run("info", "--json")
    let event = try #require(try EventLines(json.out).events.first)
    #expect(event["event"]?.text == "connect")
    #expect(event.protocols == ["com.lawaken.iap2"] && (event.connectionID ?? 0) > 0)
    #expect(event["accessory"]?["productPlan"]?.text == "cf9734dfae8b4078")
    #expect(try run.interrupt().ending == .exit(0))
  }

  func plist(_ protocols: String...) -> String {
    let list = protocols.map { "<string>\($0)</string>" }.joined()
    let text =
      "<plist version=\"1.0\"><dict><key>UISupportedExternalAccessoryProtocols</key><array>\(list)</array></dict></plist>"
    local.place.write(text, to: "Info.plist")
    return local.place.file("Info.plist")
  }

  @Test func whatTheInfoPlistDoesNotDeclareIsNotThereForTheApp() throws {
    let run = try local.plugIn("echo")
    let path = plist("com.example.other")
    for words in [["info"], ["send", "--text", "hello"]] {
      let easim = try local.run(words + ["--info-plist", path])
      #expect(easim.ending == .exit(3))
      let said = easim.out + easim.err
      for part in [
        "accessories are connected, but the app sees none of them", "\(path) declares com.example.other",
        "--all-protocols",
        "Application Not Installed: no app declares a protocol of Echo (com.example.echo)",
      ] { #expect(said.contains(part), "\(said)") }
    }
    let all = try local.run("send", "--text", "hello", "--expect", "echo", "--info-plist", path, "--all-protocols")
    #expect(all.ending == .exit(0), "\(all.err)")
    #expect(all.out.contains("com.example.echo is not defined in the app's Info.plist: this system opens the session"))
    let declared = try local.run(
      "send", "--text", "hello", "--expect", "echo", "--info-plist", plist("com.example.echo"))
    #expect(declared.ending == .exit(0), "\(declared.err)")
    #expect(try run.interrupt().ending == .exit(0))
  }
}
