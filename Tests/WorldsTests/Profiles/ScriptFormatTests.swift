import AccessoryCore
import Testing

@testable import AccessoryProfiles

@Suite struct ScriptFormatTests {
  private func problems(_ script: String, beside other: String = "'echo'") -> [String] {
    complaints(
      document(
        protocols: "['com.example.a', { name: 'com.example.b', behavior: \(other) }]",
        "behavior: { type: 'script', \(script) }"))
  }

  private let lines = "framing: { delimiter: '\\n' }"

  @Test(arguments: [
    (
      "rules: [{ request: 'a', regex: 'b' }]",
      "f:9:60: behavior.rules[0].regex: a rule can have only one of 'request', 'prefix' and 'regex', but this one has "
        + "'request' already"
    ),
    (
      "rules: [{ regex: 'a(b' }]",
      "f:9:46: behavior.rules[0].regex: the regex 'a(b' is invalid at character 2: this ( has no matching )"
    ),
    (
      "rules: [{ request: 'a', response: 'b', answers: ['c'] }]",
      "f:9:63: behavior.rules[0].response: a rule can have only one of 'response' and 'answers': make this the first "
        + "answer"
    ),
    (
      "rules: [{ request: 'a', answers: ['${tmie}'] }]",
      "f:9:63: behavior.rules[0].answers[0].send: unknown '${tmie}', did you mean '${time}'?"
    ),
    (
      "rules: [{ request: 'a', answers: ['${checksum:CRC-16/MODBS:u16le}'] }]",
      "f:9:63: behavior.rules[0].answers[0].send: '${checksum:CRC-16/MODBS:u16le}': unknown checksum 'CRC-16/MODBS', "
        + "did you mean 'CRC-16/MODBUS'?"
    ),
    (
      "rules: [{ request: 'a', answers: ['${length:4}'] }]",
      "f:9:63: behavior.rules[0].answers[0].send: '${length:4}': a number's form is u8, u16be, u16le, u24be, u24le, "
        + "u32be, u32le, or digits such as 04, 04x and 02X"
    ),
    (
      "rules: [{ request: 'a', answers: ['${next:n'] }]",
      "f:9:63: behavior.rules[0].answers[0].send: '${next:n' has no }; a literal ${ is ${hex:24}{"
    ),
    (
      "rules: [{ request: 'a', answers: [{ send: 'x', to: 'com.example.c' }] }]",
      "f:9:80: behavior.rules[0].answers[0].to: unknown protocol 'com.example.c', did you mean 'com.example.a'?"
    ),
    (
      "rules: [{ request: 'a', answers: [{ send: 'x', to: 'com.example.b' }] }]",
      "f:9:80: behavior.rules[0].answers[0].to: the behavior of 'com.example.b' is not a script, so no answer can be "
        + "sent there: use { type: 'script', rules: [] }"
    ),
    (
      "rules: [{ request: 'a', goto: 'on' }]",
      "f:9:59: behavior.rules[0].goto: no script declares its 'states', such as states: ['on', …]"
    ),
    (
      "states: ['idle', 'armed'], rules: [{ request: 'a', goto: 'amred' }, { request: 'b', goto: 'armed' }]",
      "f:9:86: behavior.rules[0].goto: unknown state 'amred', did you mean 'armed'?"
    ),
    (
      "states: ['idle', 'armed'], rules: [{ in: ['idel'], request: 'a', goto: 'armed' }]",
      "f:9:70: behavior.rules[0].in: unknown state 'idel', did you mean 'idle'?"
    ),
    (
      "states: ['idle', 'armed'], rules: [{ request: 'a' }]",
      "f:9:46: warning: behavior.states[1]: no 'goto' leads to the state 'armed'"
    ),
    ("timers: [{ answers: ['a'] }], rules: []", "f:9:38: behavior.timers[0]: a timer needs 'after', 'every' or both"),
    (
      "timers: [{ every: '1s' }], rules: []",
      "f:9:38: behavior.timers[0]: this timer does nothing: give 'answers' or 'goto'"
    ),
    (
      "framing: { frame: { header: 'ab', lengthAt: 1 } }, rules: [{ request: 'a' }]",
      "f:9:73: behavior.framing.frame.lengthAt: the length field would be inside the header of 2 bytes"
    ),
  ]) func aMistakeIsNamedWithItsPlace(script: String, complaint: String) {
    #expect(problems(script).contains(complaint), "\(problems(script))")
  }

  @Test(arguments: [
    (
      "[{ prefix: 'A' }, { request: 'AB' }]",
      "1].request: this rule never answers: an earlier rule answers everything that begins with its prefix"
    ),
    (
      "[{ prefix: '' }, { regex: '\\\\d+' }]",
      "1].regex: this rule never answers: an earlier rule answers everything that begins with its prefix"
    ),
    (
      "[{ regex: '\\\\d+' }, { request: '12' }]",
      "1].request: this rule never answers: an earlier rule's regex matches this request"
    ),
    ("[{ regex: 'a+' }, { regex: 'a+' }]", "1].regex: this rule never answers: an earlier rule has the same regex"),
    (
      "[{ regex: '.*' }, { prefix: 'a' }]",
      "1].prefix: this rule never answers: an earlier rule's regex matches everything"
    ),
    (
      "[{ prefix: 'a\\nb' }]",
      "0].prefix: this rule never answers: its prefix contains the delimiter, which is not part of a request"
    ),
    (
      "[{ request: 'SET .*' }]", "0].request: '.*' is literal text here: use 'regex' or 'prefix' for a wildcard"
    ),
    ("[{ request: 'SET *' }]", "0].request: '*' is literal text here: use 'regex' or 'prefix' for a wildcard"),
    (
      "[{ prefix: 'GET [0-9]' }]",
      "0].prefix: '[0-9]' is literal text here: use 'regex' or 'prefix' for a wildcard"
    ),
    (
      "[{ request: 'A', response: 'is ${1}' }]",
      "0].response: '${1}' is literal text here: values are inserted only into 'answers'"
    ),
  ]) func whatCannotBeMeantIsAWarning(rules: String, warning: String) {
    let found = problems("\(lines), rules: \(rules)")
    #expect(found.count == 1)
    #expect(found.first?.hasSuffix(" warning: behavior.rules[\(warning)") ?? false, "\(found)")
  }

  @Test(arguments: [
    "[{ request: '*IDN?' }, { request: 'A*' }, { request: '$GP*5C' }]",
    "[{ request: 'A', times: 2 }, { request: 'A' }]",
    "[{ prefix: 'A' }, { prefix: '' }]",
  ]) func whatCanBeMeantIsNoWarning(rules: String) {
    #expect(problems("\(lines), rules: \(rules)") == [])
  }

  @Test func aRuleOfAnotherStateHidesNoRule() {
    let rules = "[{ in: 'p', prefix: '', goto: 'q' }, { request: 'A', goto: 'p' }, { in: ['p'], request: 'A' }]"
    #expect(
      problems("\(lines), states: ['p', 'q'], rules: \(rules)").map { $0.prefix { $0 != " " } } == ["f:9:174:"])
  }

  @Test func statesAreDeclaredOnceForAllScripts() {
    let other = "{ type: 'script', states: ['x'], rules: [{ in: 'p', request: 'a', goto: 'q' }] }"
    #expect(
      problems("\(lines), states: ['p', 'q', 'q'], rules: [{ request: 'a', goto: 'r' }]", beside: other) == [
        "f:5:80: accessory.protocols[1].behavior.states: all scripts of an accessory share their states, and "
          + "behavior.states declares them already",
        "f:9:78: behavior.states[2]: the state 'q' is listed twice",
        "f:9:114: behavior.rules[0].goto: unknown state 'r', did you mean 'p'?",
      ])
  }

  @Test func whatIsReadIsWhatIsWritten() throws {
    let text = document(
      protocols: "['com.example.a', { name: 'com.example.b', behavior: { type: 'script', rules: [] } }]",
      """
      behavior: {
        type: 'script', states: ['p', 'q'], bytesPerSecond: 100, wrongChecksum: [{ send: { hex: '15' }, unframed: true }],
        framing: { frame: { header: { hex: '02' }, lengthAt: 2, lengthWidth: 4, order: 'little', counts: 'frame',
          checksum: 'CRC-16/IBM-SDLC', checksumOrder: 'big', checksumFrom: 1, longest: 100 } },
        rules: [
          { in: 'p', regex: '(a)', times: 3, goto: 'q',
            answers: ['${1}', { send: '${time:%s}', to: 'com.example.b', after: '1s' }, { goto: 'p', quirk: 'no-status' }] },
          { in: ['p', 'q'], prefix: 'x', answers: [{ close: 'why' }, { unplug: '2s' }, { unplug: 'stay' }, { after: '1s' }] },
          { request: 'R', response: 'S', delay: '5ms' },
        ],
        timers: [{ in: 'q', after: '1s', every: '2s', goto: 'p' }, { every: '1s', answers: [{ send: { hex: '24 7b' } }] }],
      }
      """)
    let profile = try readTemplate(text).profile
    let written = try readTemplate(profile.text(comment: "again")).profile
    #expect(written == profile)
    guard case .script(let script) = profile.behavior, case .frame(let frame) = script.framing else {
      Issue.record("not a script with frames")
      return
    }
    #expect((frame.lengthAt, frame.checksumOrder, frame.checksum?.name) == (2, .big, "CRC-16/IBM-SDLC"))
    #expect(script.rules[0].answers[2].quirk == .noStatus)
    #expect(script.timers[1].answers[0].send?.source == .bytes([0x24, 0x7B]))
  }
}
