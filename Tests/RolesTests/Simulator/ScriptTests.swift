import AccessoryCore
import AccessoryFormats
import AccessorySessions
import LinuxIO
import Testing

@testable import AccessoryProfiles
@testable import AccessorySimulator

/// Tests scripts in profiles from the app's point of view, in virtual time.
@Suite struct ScriptTests {
  private let loop = VirtualLoop()

  private func rig(_ scripts: String...) throws -> BehaviorRig {
    let protocols = zip(["a", "b"], scripts).map { name, script in
      "{ name: 'com.example.\(name)', behavior: { type: 'script', \(script) } }"
    }
    let text = """
      { version: 1, accessory: { name: 'Rig', manufacturer: 'M', modelNumber: 'B', serialNumber: '1',
        firmwareRevision: '1', hardwareRevision: '1', protocols: [\(protocols.joined(separator: ", "))] } }
      """
    let template = try ProfileLibrary().template(text: Array(text.utf8), file: "rig.json5", name: "rig")
    #expect(template.warnings.isEmpty)
    return try BehaviorRig(template.profile, on: loop)
  }

  private let lines = "framing: { delimiter: '\\n' }"

  // MARK: Requests and inserted values

  @Test func aPrefixAndARegexHaveGroups() throws {
    let rig = try rig(
      """
      \(lines), rules: [
        { request: 'SET a=1', response: 'one' },
        { regex: 'SET (\\\\w+)=(?<value>\\\\d+)', answers: ['${1} is ${value};'] },
        { prefix: 'SET ', answers: ['no ${1};'] },
      ]
      """)
    let ear = try rig.open("com.example.a")
    ear.send("SET a=1\nSET b=22\nSET b=x\nGET\n")
    try loop.advance(by: .seconds(1))
    #expect(ear.text == "oneb is 22;no b=x;")
    #expect(rig.said == [.note("session 1: no rule answers the 3-byte request 47 45 54")])
  }

  @Test func anUnansweredRequestIsReportedWithTheNearestRule() throws {
    let rig = try rig(
      """
      \(lines), states: ['off', 'on'], rules: [
        { request: 'VERSION?', response: '1' },
        { prefix: 'VERBOSE ', answers: ['2'] },
        { in: 'on', request: 'OFF', goto: 'off' },
        { request: 'ON', goto: 'on' },
        { request: 'ONCE', response: '1', times: 1 },
      ]
      """)
    let ear = try rig.open("com.example.a")
    ear.send("VERSON?\nVERSION\nVERSION??\nOFF\nON\nOFF\nONCE\nONCE\nGET\n")
    try loop.advance(by: .seconds(1))
    let said = rig.said.map { event in
      guard case .note(let text) = event else { return "\(event)" }
      return text.split(separator: "; ", maxSplits: 1).dropFirst().first.map(String.init) ?? ""
    }
    #expect(
      said == [
        "the nearest rule is 'VERSION?': byte 4 is 4f ('O'), not 49 ('I')",
        "the nearest rule is 'VERSION?': the bytes end after 7",
        "the nearest rule is 'VERSION?': more follows after byte 7",
        "the rule for 'OFF' applies only in on",
        "the rule for 'ONCE' has answered 1 time, which is its limit",
        "",
      ])
  }

  @Test func countersTimeAndChanceAreInserted() throws {
    let rig = try rig(
      """
      \(lines), states: ['only'], rules: [
        { request: 'N', answers: ['${next:n:04},${last:n},${next:n:02X},${last:other};'] },
        { request: 'T', answers: ['${time},${time:%d%m%y %H:%M:%S.%L},${time:u32le};'] },
        { request: 'R', answers: ['${random:5-5},${state},${hex:24}{1},${hex:c3 a9};'] },
      ]
      """)
    let ear = try rig.open("com.example.a")
    ear.send("N\nN\nT\nR\n")
    try loop.advance(by: .seconds(1))
    let time = Array("0001,1,02,0;0003,3,04,0;2026-05-03T03:09:38Z,030526 03:09:38.".utf8)
    #expect(ear.heard.starts(with: time))
    #expect(ear.text.hasSuffix("5,only,${1},é;"))
  }

  @Test func lengthsAndChecksumsAreComputedOverTheMarkedPart() throws {
    let rig = try rig(
      """
      \(lines), rules: [
        { request: 'G', answers: ['$${begin}GPTXT,01${end}*${checksum:xor-8:02X};'] },
        { request: 'L', answers: ['${length:02}:abc'] },
        { request: 'C', answers: ['${hex:02}${begin}${length:u8}123456789${checksum:CRC-16/MODBUS:u16le}'] },
        { request: 'X', answers: ['123456789${checksum:CRC-16/XMODEM}'] },
        { request: 'O', answers: ['${length:01}0123456789'] },
      ]
      """)
    let ear = try rig.open("com.example.a")
    func answer(_ request: String) throws -> [UInt8] { try ear.answer(to: Array("\(request)\n".utf8)) }
    // The checksum is the XOR of the bytes. Here, it is computed independently of the script.
    let sum = Array("GPTXT,01".utf8).reduce(0, ^)
    #expect(try answer("G") == Array("$GPTXT,01*\(Hex.number(sum));".utf8))
    #expect(try answer("L") == Array("06:abc".utf8))
    let modbus = try answer("C")
    #expect(modbus.prefix(2) == [2, 12])
    #expect(try answer("X") == Array("123456789".utf8) + [0x31, 0xC3])
    #expect(try answer("O") == Array("10123456789".utf8))
    #expect(rig.said == [.warning("session 1: the number 11 does not fit into its field in an answer")])
  }

  // MARK: Several answers, timers, states

  @Test func severalAnswersHavePauses() throws {
    let rig = try rig(
      "\(lines), rules: [{ request: 'GO', answers: ['1', { send: '2', after: '2s' }, { send: '3', after: '1s' }] }]")
    let ear = try rig.open("com.example.a")
    ear.send("GO\n")
    try loop.advance(by: .milliseconds(1_900))
    #expect(ear.text == "1")
    try loop.advance(by: .milliseconds(200))
    #expect(ear.text == "12")
    try loop.advance(by: .seconds(1))
    #expect(ear.text == "123")
  }

  @Test func timersPushFromTheOpeningOfASessionOn() throws {
    let rig = try rig(
      """
      \(lines), rules: [], timers: [
        { after: '0ms', answers: ['hello '] }, { every: '1s', answers: ['${next:n} '] },
        { after: '2500ms', every: '10s', answers: ['late '] },
      ]
      """)
    let ear = try rig.open("com.example.a")
    try loop.advance(by: .milliseconds(500))
    #expect(ear.text == "hello ")
    try loop.advance(by: .seconds(4))
    #expect(ear.text == "hello 1 2 late 3 4 ")
    ear.session.close()
    try loop.advance(by: .seconds(100))
    let second = try rig.open("com.example.a")
    try loop.advance(by: .milliseconds(1_500))
    #expect(second.text == "hello 5 ")
  }

  @Test func statesChooseTheRulesAndStartTheTimers() throws {
    let rig = try rig(
      """
      \(lines), states: ['idle', 'armed'], rules: [
        { in: 'idle', request: 'ARM', goto: 'armed', response: 'armed ' },
        { in: 'armed', request: 'ARM', goto: 'armed', response: 'again ' },
        { in: ['armed'], request: 'FIRE', goto: 'idle', response: 'bang ' },
        { request: 'FIRE', response: 'no ' },
      ], timers: [{ in: 'armed', after: '5s', goto: 'idle', answers: ['timeout '] }]
      """)
    let ear = try rig.open("com.example.a")
    ear.send("FIRE\nARM\nFIRE\nFIRE\nARM\n")
    try loop.advance(by: .seconds(4))
    #expect(ear.text == "no armed bang no armed ")
    ear.send("ARM\n")  // Entered again: the five seconds start over.
    try loop.advance(by: .seconds(4))
    ear.send("FIRE\n")
    try loop.advance(by: .seconds(10))
    #expect(ear.text == "no armed bang no armed again bang ")
    ear.send("ARM\n")
    try loop.advance(by: .seconds(6))
    ear.send("FIRE\n")
    try loop.advance(by: .seconds(1))
    #expect(ear.text.hasSuffix("armed timeout no "))
  }

  @Test func aRuleCanAnswerSoManyTimesUntilTheStateIsEnteredAgain() throws {
    let rig = try rig(
      """
      \(lines), states: ['ready', 'out'], rules: [
        { in: 'ready', prefix: 'P', times: 2, answers: ['ok '] }, { in: 'ready', prefix: 'P', goto: 'out', answers: ['out '] },
        { in: 'out', request: 'LOAD', goto: 'ready', response: 'loaded ' }, { in: 'out', prefix: 'P', answers: ['none '] },
      ]
      """)
    let ear = try rig.open("com.example.a")
    ear.send("P\nP\nP\nP\nLOAD\nP\n")
    try loop.advance(by: .seconds(1))
    #expect(ear.text == "ok ok out none loaded ok ")
  }

  @Test func theSessionsOfAnAccessoryShareItsStateAlsoLaterOnes() throws {
    let rig = try rig(
      """
      \(lines), states: ['locked', 'open'],
      rules: [{ request: 'OPEN', goto: 'open' }, { request: '?', answers: ['${state} '] }],
      timers: [{ in: 'open', after: '1s', answers: ['push '] }]
      """)
    let one = try rig.open("com.example.a")
    let two = try rig.open("com.example.a")
    two.send("?\n")
    try loop.advance(by: .milliseconds(100))
    one.send("OPEN\n")
    try loop.advance(by: .milliseconds(100))
    two.send("?\n")
    try loop.advance(by: .seconds(2))
    #expect(two.text == "locked open push ")
    one.session.close()
    two.session.close()
    try loop.advance(by: .seconds(1))
    let three = try rig.open("com.example.a")
    three.send("?\n")
    try loop.advance(by: .milliseconds(500))
    #expect(three.text == "open ")
  }

  @Test func aScriptThatTookThePlaceOfAnotherBeginsInItsOwnStates() {
    var memory = ScriptMemory(state: "open", random: SeededRandom(seed: 1))
    memory.begin(in: [])
    #expect(memory.state == "open")
    memory.begin(in: ["closed", "open"])
    #expect(memory.state == "open")
    memory.begin(in: ["idle", "busy"])
    #expect(memory.state == "idle")
  }

  // MARK: Frames

  @Test func requestsAndAnswersAreFrames() throws {
    let rig = try rig(
      """
      framing: { frame: { header: { hex: '02' }, lengthWidth: 1, counts: 'payload', checksum: 'xor-8', checksumFrom: 1 } },
      rules: [{ request: 'A', response: 'B' }, { prefix: 'C', answers: ['${1}!', { send: '${hex:06}', unframed: true }] }],
      otherwise: '?', wrongChecksum: [{ send: { hex: '15' }, unframed: true }]
      """)
    let ear = try rig.open("com.example.a")
    func answer(_ bytes: [UInt8]) throws -> [UInt8] { try ear.answer(to: bytes) }
    #expect(try answer([2, 1, 0x41, 0x40]) == [2, 1, 0x42, 0x43])
    #expect(try answer([2, 2, 0x43, 0x44, 2 ^ 0x43 ^ 0x44]) == [2, 2, 0x44, 0x21, 2 ^ 0x44 ^ 0x21, 6])
    #expect(try answer([2, 1, 0x5A, 0x5B]) == [2, 1, 0x3F, 0x3E])
    #expect(try answer([2, 1, 0x41, 0x00]) == [0x15])
    #expect(try answer([9, 9, 2, 1, 0x41, 0x40]) == [2, 1, 0x42, 0x43])
    #expect(
      rig.said == [
        .warning("session 1: dropped a frame with the checksum 00 instead of 40"),
        .note("session 1: skipped 2 bytes before the header of a frame"),
      ])
  }

  // MARK: Beyond the session

  @Test func anAnswerGoesOutOnAnotherProtocolInItsFrames() throws {
    let rig = try rig(
      """
      \(lines), rules: [{ request: 'SCAN', answers: ['OK ', { to: 'com.example.b', send: 'code', after: '1s' }, 'DONE '] }]
      """, "framing: { frame: { lengthWidth: 1 } }, rules: []")
    let control = try rig.open("com.example.a")
    control.send("SCAN\n")
    try loop.advance(by: .seconds(2))
    #expect(control.text == "OK DONE ")
    #expect(
      rig.said == [.warning("session 1: no session of com.example.b is open: an answer of 4 bytes was not sent")])
    let data = [try rig.open("com.example.b"), try rig.open("com.example.b")]
    control.send("SCAN\n")
    try loop.advance(by: .milliseconds(900))
    #expect(data[0].text == "")
    try loop.advance(by: .milliseconds(200))
    #expect(data.map(\.heard) == [[4] + Array("code".utf8), [4] + Array("code".utf8)])
  }

  @Test func anAnswerUnplugsTheAccessoryForATimeOrForGood() throws {
    let rig = try rig(
      "\(lines), rules: [{ request: 'REBOOT', answers: [{ unplug: '3s' }] }, { request: 'OFF', answers: [{ unplug: 'stay' }] }]"
    )
    try rig.open("com.example.a").send("REBOOT\n")
    try loop.advance(by: .seconds(2))
    #expect(!rig.accessory.isAttached)
    try loop.advance(by: .seconds(3))
    #expect(rig.accessory.isAttached)
    try rig.open("com.example.a").send("OFF\n")
    try loop.advance(by: .seconds(60))
    #expect(!rig.accessory.isAttached)
    try rig.accessory.plugIn()
    try loop.advance(by: .seconds(1))
    #expect(rig.shown != nil)
  }

  @Test func anAnswerMayCloseTheSessionAndUnplug() throws {
    let rig = try rig("\(lines), rules: [{ request: 'END', answers: [{ close: 'the end', unplug: '2s' }] }]")
    let ear = try rig.open("com.example.a")
    ear.send("END\n")
    try loop.advance(by: .seconds(1))
    #expect(rig.endings.first?.contains("the end") ?? false)
    #expect(!rig.accessory.isAttached)
    try loop.advance(by: .seconds(2))
    #expect(rig.accessory.isAttached)
  }

  @Test func anUnplugByHandIsNotUndoneByTheScript() throws {
    let rig = try rig("\(lines), rules: [{ request: 'REBOOT', answers: [{ unplug: '3s' }] }]")
    try rig.open("com.example.a").send("REBOOT\n")
    try loop.advance(by: .seconds(1))
    rig.accessory.unplug()
    try loop.advance(by: .seconds(60))
    #expect(!rig.accessory.isAttached)
  }

  @Test func anAnswerGivesTheAccessoryAQuirk() throws {
    let rig = try rig(
      "\(lines), rules: [{ request: 'BREAK', answers: [{ quirk: 'session,refuse,times=1' }] }, { request: 'A', response: 'a' }]"
    )
    let ear = try rig.open("com.example.a")
    ear.send("BREAK\nA\n")
    try loop.advance(by: .seconds(1))
    #expect(ear.text == "a")
    let refused = try rig.open("com.example.a")
    try loop.advance(by: .seconds(1))
    #expect(refused.end != nil)
    let served = try rig.open("com.example.a")
    served.send("A\n")
    try loop.advance(by: .seconds(1))
    #expect(served.text == "a")
  }

  @Test func anAnswerGivesTheAccessoryAQuirkThatEndsItsSessions() throws {
    let rig = try rig(
      """
      \(lines), rules: [{ request: 'BREAK', answers: ['ok', { quirk: 'ends-sessions,min=1s,max=1s,episode=1h' }] },
        { request: 'A', response: 'a' }]
      """)
    let before = try rig.open("com.example.a")
    before.send("A\n")
    try loop.advance(by: .seconds(30))
    #expect(before.text == "a" && before.end == nil)
    before.send("BREAK\n")
    try loop.advance(by: .milliseconds(100))
    #expect(before.text == "aok")
    for _ in 0..<3 {
      let after = try rig.open("com.example.a")
      after.send("A\n")
      try loop.advance(by: .milliseconds(900))
      #expect(after.text == "a" && after.end == nil)
      try loop.advance(by: .milliseconds(300))
      #expect(after.end == .closedByAccessory)
    }
  }

  // MARK: Limits

  @Test func aSlowReaderReadsAtItsSpeed() throws {
    let rig = try rig("framing: { fixed: 1 }, bytesPerSecond: 100, rules: [{ request: 'x', response: 'y' }]")
    let ear = try rig.open("com.example.a")
    ear.send([UInt8](repeating: 0x78, count: 1_000))
    try loop.advance(by: .seconds(5))
    #expect((480...530).contains(ear.heard.count))
    try loop.advance(by: .seconds(6))
    #expect(ear.heard.count == 1_000)
  }

  @Test func pushesToAReaderThatSleepsAreDroppedBeforeTheyFillTheMemory() throws {
    let rig = try rig(
      "\(lines), rules: [], timers: [{ every: '1ms', answers: ['${length:u32be}\(String(repeating: "x", count: 4_000))'] }]"
    )
    let ear = try rig.open("com.example.a")
    ear.isDeaf = true
    try loop.advance(by: .seconds(3))
    #expect(rig.said.contains(.warning("session 1: too many answers are waiting: a timer's answers were not sent")))
    #expect(rig.said.count < 20)
  }
}
