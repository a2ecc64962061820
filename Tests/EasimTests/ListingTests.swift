import AccessoryFormats
import TestSupport
import Testing

@Suite(.waits) struct ListingTests {
  @Test(arguments: ["quirk", "fault"]) func aListHasEachKindWithAnExampleThatCanBePlayed(kind: String) throws {
    let listed = try Program.run(kind, "list", "--json")
    #expect(listed.ending == .exit(0))
    let entries = try listed.outLines.map { try JSON5.read($0, file: "stdout") }
    #expect(entries.count >= 6)
    for entry in entries {
      let name = entry[kind]
      #expect(entry["v"]?.content == JSON5Value.number(1).content)
      #expect(name != nil && entry["summary"] != nil)
      #expect(entry["faults"] != nil || entry["example"] != nil && entry["parameters"] != nil)
    }
  }

  @Test func aListOfOneNameHasOnlyThatName() throws {
    #expect(try Program.run("quirk", "list", "flicker").out.hasPrefix("flicker: "))
    #expect(try Program.run("fault", "list", "bluetooth", "--json").outLines.count == 1)
    let typo = try Program.run("fault", "list", "latncy")
    #expect(typo.ending == .exit(2) && typo.err.contains("unknown fault 'latncy', did you mean 'latency'?"))
  }

  @Test(arguments: ["echo", "sink", "source", "script", "exec"])
  func aStarterProfileIsInOrder(behavior: String) throws {
    let place = TemporaryFolder()
    let made = try Program.run("profile", "new", "my-lamp", "--behavior", behavior)
    #expect(made.ending == .exit(0))
    #expect(made.out.contains("// my-lamp: "))
    let path = place.write(made.out, to: "my-lamp.json5")
    let checked = try Program.run("profile", "check", path)
    #expect(checked.err == "")
    // The names of the programs that a profile runs are printed before the result.
    #expect(checked.out.hasSuffix("my-lamp is valid\n"))
    #expect(checked.out.contains("runs for each session: cat") == (behavior == "exec"))
  }
}
