import Glibc
import TestSupport
import Testing

@Suite(.waits) struct InfoTests {
  let local = LocalPlace()

  /// A property dump of the `lawk-view` glasses from a real device, with the address and the connection ID removed.
  static let glasses = """
    <EAAccessory: 0x> {\u{20}
      connected:YES\u{20}
      connectionID:\u{20}
      name: 李未可 View AI眼镜\u{20}
      manufacturer: 李未可\u{20}
      modelNumber: LAWK View\u{20}
      serialNumber: 040025380108A000608\u{20}
      ppid: cf9734dfae8b4078\u{20}
      regioncode: (null)\u{20}
      firmwareRevisionActive: 1\u{20}
      firmwareRevisionPending: (null)\u{20}
      hardwareRevision: 1\u{20}
      dockType: \u{20}
      certSerial: 16 bytes\u{20}
      certData: 607 bytes\u{20}
      protocols: (
        "com.lawaken.iap2"
    )\u{20}
      delegate: (null)\u{20}
    }

    """

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
      let easim = try Program(path: BuiltProducts.easim, words, environment: ["EASIM_LOCAL": local.path]).wait()
      let said = easim.out + easim.err
      #expect(easim.ending == .exit(0), "\(said)")
      #expect(said.contains("Echo\u{FFFD}[2J\u{FFFD}\u{FFFD}"), "\(words) \(said)")
      #expect(!said.contains("\u{1B}"), "\(words)")
    }
    let exact = try local.run("info", "--json")
    let event = try #require(try EventLines(exact.out).events.first)
    #expect(event["accessory"]?["name"]?.text == "Echo\u{1B}[2J\u{85}\n")
    run.send(SIGINT)
    #expect(try run.wait().ending == .exit(0))
  }

  @Test func theGlassesArePrintedAsAppleDoesThroughAFlicker() throws {
    let run = try local.plugIn("lawk-view", "--quirk", "flicker,empty=5ms,gap=5ms")
    let info = try local.run("info")
    #expect(info.ending == .exit(0), "\(info.err)")
    #expect(masked(info.out) == Self.glasses)
    let older = try local.run("info", "--layout", "A")
    #expect(masked(older.out) == Self.glasses.replacing("  regioncode: (null) \n", with: ""))
    let json = try local.run("info", "--json")
    let event = try #require(try EventLines(json.out).events.first)
    #expect(event["event"]?.text == "connect")
    #expect(event.protocols == ["com.lawaken.iap2"] && (event.connectionID ?? 0) > 0)
    #expect(event["accessory"]?["productPlan"]?.text == "cf9734dfae8b4078")
    run.send(SIGINT)
    #expect(try run.wait().ending == .exit(0))
  }

  @Test func anAccessoryAtAFixedAddressIsShownAsWell() throws {
    let accessory = try Accessory(on: .unix, in: local.place)
    let info = try local.run("info", accessory.address)
    #expect(masked(info.out) == Self.glasses, "\(info.err)")
    try accessory.interrupt()
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
      let easim = try Program(
        path: BuiltProducts.easim, words + ["--info-plist", path], environment: ["EASIM_LOCAL": local.path]
      ).wait()
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
    run.send(SIGINT)
    #expect(try run.wait().ending == .exit(0))
  }

  @Test func aWrongInfoPlistIsNamed() throws {
    local.place.write("<plist><strin/></plist>", to: "Info.plist")
    let path = local.place.file("Info.plist")
    let easim = try local.run("info", "--info-plist", path)
    #expect(easim.ending == .exit(2))
    #expect(
      easim.err.contains("\(path):1:8: this is not a valid property list: <strin> is no value of a property list"),
      "\(easim.err)")
  }
}
