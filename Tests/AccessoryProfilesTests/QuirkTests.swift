import AccessoryCore
import Testing

@testable import AccessoryProfiles

@Suite struct QuirkTests {
  @Test func theFlickerAloneHasTheDefaultsThatAreOurs() throws {
    let flicker = try Quirk("flicker")
    #expect(flicker.choice("maker") == "wire")
    #expect(flicker.count("cycles") == 1)
    #expect(flicker.duration("empty") == .milliseconds(250))
    #expect(flicker.duration("gap") == .milliseconds(300))
    #expect(flicker.duration("jitter") == .zero)
    #expect(flicker.choice("auth") == "answer")
    #expect(flicker.definition.summary.contains("ours"))
    #expect(flicker == Quirk(.flicker))
  }

  @Test func parametersAreGivenAfterTheName() throws {
    let flicker = try Quirk("flicker,auth=never,cycles=3,empty=1.5s")
    #expect(flicker.choice("auth") == "never")
    #expect(flicker.count("cycles") == 3)
    #expect(flicker.duration("empty") == .milliseconds(1500))
    #expect(flicker.duration("gap") == .milliseconds(300))
  }

  @Test func aBareWordIsTheValueOfTheChoiceItBelongsTo() throws {
    #expect(try Quirk("authentication,never") == Quirk("authentication,answer=never"))
    #expect(try Quirk("flicker,device,never") == Quirk("flicker,maker=device,auth=never"))
  }

  @Test func anObjectSaysTheSameAsTheText() throws {
    let object = try JSON5.read("{ name: 'flicker', gap: '2s', cycles: 4, maker: 'device' }", file: "f")
    let problems = ProblemCollector()
    #expect(Quirk.read(object, path: "q", problems) == (try Quirk("flicker,maker=device,cycles=4,gap=2s")))
    #expect(problems.problems.isEmpty)
  }

  @Test(arguments: [
    ("flickr", "quirk: unknown quirk 'flickr', did you mean 'flicker'?"),
    (
      "wobble",
      "quirk: unknown quirk 'wobble': expected 'flicker', 'authentication', 'identification', 'session', 'no-status', "
        + "'stale-bytes'"
    ),
    (
      "",
      "quirk: unknown quirk '': expected 'flicker', 'authentication', 'identification', 'session', 'no-status', "
        + "'stale-bytes'"
    ),
    ("flicker,cycle=3", "unknown key 'cycle' in quirk, did you mean 'cycles'?"),
    ("flicker,cycles=0", "quirk.cycles: expected a whole number from 1 to 10000, found number 0"),
    ("flicker,cycles=many", "quirk.cycles: expected a whole number from 1 to 10000, found text 'many'"),
    ("flicker,cycles=1,cycles=2", "key 'cycles' occurs twice in quirk"),
    ("flicker,empty=250", "quirk.empty: expected a duration such as '250ms', found number 250"),
    ("flicker,empty=250x", "quirk.empty: '250x' has the unknown unit 'x': the units are ns, us, ms, s, m and h"),
    ("flicker,jitter=2m", "quirk.jitter: expected a duration from 0ms to 1m, found text '2m'"),
    ("flicker,auth=nevr", "quirk.auth: 'nevr' is not known here, did you mean 'never'?"),
    ("flicker,nevr", "quirk: 'nevr' says nothing to the quirk 'flicker', did you mean 'never'?"),
    ("flicker,cycles", "quirk: 'cycles' says nothing to the quirk 'flicker', did you mean 'cycles='?"),
    ("no-status,now=1", "unknown key 'now' in quirk: expected 'name'"),
    ("session,answer=5", "quirk.answer: expected text, found number 5"),
  ])
  func aWrongQuirkIsNamedWithWhatWasMeant(text: String, message: String) {
    let error = #expect(throws: SourceProblems.self) { try Quirk(text) }
    #expect(error?.description == message)
  }

  @Test(arguments: [
    ("5", "f:1:1: q: expected a quirk such as 'flicker,cycles=3' or an object, found number 5"),
    ("{ cycles: 3 }", "f:1:1: q: the key 'name' is missing"),
    ("{ name: 3 }", "f:1:9: q.name: expected text, found number 3"),
    ("{ name: 'flicker', cycles: 'x' }", "f:1:28: q.cycles: expected a whole number from 1 to 10000, found text 'x'"),
    ("{ name: 'flicker', cycle: 1 }", "f:1:20: unknown key 'cycle' in q, did you mean 'cycles'?"),
  ])
  func aWrongObjectIsNamedWithItsPlace(text: String, message: String) throws {
    let problems = ProblemCollector()
    #expect(Quirk.read(try JSON5.read(text, file: "f"), path: "q", problems) == nil)
    #expect(problems.problems.map(\.description) == [message])
  }

  @Test func whatIsWrittenIsReadBack() throws {
    for definition in QuirkDefinition.all {
      var text = definition.name
      for parameter in definition.parameters { text += ",\(parameter.name)=\(parameter.standard)" }
      let quirk = try Quirk(text)
      #expect(quirk.description == text)
      #expect(definition.parameters.allSatisfy { quirk.value($0.name) == $0.standard })
    }
  }

  @Test func everyDefaultIsWithinItsDomain() {
    for parameter in QuirkDefinition.all.flatMap(\.parameters) { #expect(parameter.admits(parameter.standard)) }
  }

  @Test func inSwiftAQuirkIsMadeParameterByParameter() throws {
    let quirk = Quirk(.flicker).setting("gap", to: .duration(.seconds(1))).setting("cycles", to: .count(2))
      .setting("gap", to: .duration(.seconds(2)))
    #expect(quirk == (try Quirk("flicker,cycles=2,gap=2s")))
  }

  @Test func aValueThatAQuirkCannotHaveTraps() async {
    await #expect(processExitsWith: .failure) { _ = Quirk(.flicker).setting("cycles", to: .count(0)) }
    await #expect(processExitsWith: .failure) { _ = Quirk(.flicker).setting("cycle", to: .count(1)) }
  }
}
