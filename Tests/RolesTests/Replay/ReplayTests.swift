import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySimulator
import TestSupport
import Testing

@testable import AccessoryCaptures
@testable import AccessoryReplay

/// Tests the replay of a recording in either role, with a live peer.
@Suite struct ReplayTests {
  private static let requests = ["hello", "how are you", "bye"]

  private func profile(_ name: String = "echo", flickers: Bool = false) throws -> Profile {
    var profile = try ProfileLibrary().profile(name)
    if flickers { profile.apply(.flicker(Flicker())) }
    return profile
  }

  private func record(_ profile: Profile, _ requests: [String] = Self.requests) throws -> (Recording, AskingApp) {
    try ReplayRig.record(profile, requests)
  }

  @Test func aRecordingHasAttachmentsSessionsAndBytes() throws {
    let (recording, _) = try record(profile(flickers: true))
    #expect(recording.attachments.count == 2)
    #expect(recording.attachments[0].identification?.protocols.isEmpty == true)
    #expect(recording.identification?.name == "Echo")
    let session = try #require(recording.sessions.first)
    #expect(session.protocolName == "com.example.echo" && recording.sessions.count == 1)
    #expect(session.bytes(from: .device) == Array("hellohow are youbye".utf8))
    #expect(session.bytes(from: .accessory) == session.bytes(from: .device))
    if case .closed(by: .device, _) = session.ending {} else { Issue.record("\(session.ending)") }
    #expect(recording.problems == [])
  }

  @Test(arguments: [false, true])
  func theAccessoryOfARecordingSatisfiesTheAppThatMadeIt(flickers: Bool) throws {
    let (recording, before) = try record(profile(flickers: flickers))
    let (progress, app) = try ReplayRig.ask(Self.requests, recording)
    #expect(progress.isAsRecorded, "\(String(describing: progress.first))")
    #expect(app.answers == before.answers)
    #expect(app.events == before.events)
  }

  @Test func theAppOfARecordingIsSatisfiedByTheAccessoryThatMadeIt() throws {
    let (recording, _) = try record(profile(flickers: true))
    let rig = ReplayRig(seed: 9)
    let (app, view) = rig.launch(recording)
    try rig.plug(profile(flickers: true))
    try rig.run { app.isOver }
    #expect(app.progress.isAsRecorded, "\(String(describing: app.progress.first))")
    #expect(app.progress.sessions.first?.received == 19)
    view.close()
  }

  /// A recording of a replay has the same sessions as the original recording. The bytes are the same at every speed. At
  /// the recorded speed, the times are also the same, apart from the link's delays.
  @Test(arguments: [1, 2, Double.infinity])
  func bothEndsOfARecordingMakeTheSameRecording(speed: Double) throws {
    let (first, _) = try record(profile(flickers: true))
    let rig = ReplayRig(seed: 10)
    var settings = ReplaySettings()
    settings.speed = speed
    let (app, view) = rig.launch(first, settings)
    let accessory = try rig.plug(first, settings)
    try rig.run { app.isOver && accessory.isOver }
    accessory.unplug()
    try rig.loop.advance(by: .milliseconds(100))
    view.close()
    let second = try rig.recording()
    #expect(second.sessions.count == first.sessions.count)
    for (one, other) in zip(first.sessions, second.sessions) {
      #expect(one.steps.map(\.bytes) == other.steps.map(\.bytes))
      #expect(one.steps.map(\.from) == other.steps.map(\.from))
      if speed == 1 {
        for (step, again) in zip(one.steps, other.steps) {
          let difference = (step.time - one.opened) - (again.time - other.opened)
          #expect(abs(difference.inSeconds) < 0.005)
        }
      }
    }
    #expect(second.attachments.count == first.attachments.count)
    if speed == 1 {
      for (one, other) in zip(first.attachments.dropLast(), second.attachments) {
        #expect(abs(((one.end - one.begin) - (other.end - other.begin)).inSeconds) < 0.02)
      }
    }
  }

  @Test(arguments: [0, 4, 5, 18])
  func oneWrongByteInAnAnswerIsNamed(offset: Int) throws {
    let (recording, _) = try record(profile())
    var wrong = recording
    var count = 0
    for index in wrong.attachments[0].sessions[0].steps.indices
    where wrong.attachments[0].sessions[0].steps[index].from == .accessory {
      let size = wrong.attachments[0].sessions[0].steps[index].bytes.count
      if count <= offset, offset < count + size {
        wrong.attachments[0].sessions[0].steps[index].bytes[offset - count] ^= 0x20
      }
      count += size
    }
    let rig = ReplayRig(seed: 11)
    let (app, view) = rig.launch(recording)
    let accessory = try rig.plug(wrong)
    try rig.run { app.isOver }
    let difference = try #require(app.progress.first)
    let expected = Array("hellohow are youbye".utf8)[offset]
    #expect(difference.kind == .byte(expected: expected, got: expected ^ 0x20))
    #expect(difference.offset == offset && difference.session == 1 && difference.packet > 0)
    #expect(difference.expected.count > offset - difference.contextOffset)
    accessory.unplug()
    view.close()
  }

  private func recordings() throws -> [Recording] {
    let (closed, _) = try record(profile())
    var open = closed
    open.attachments[0].sessions[0].ending = .open
    return [closed, open]
  }

  private static var quick: ReplaySettings {
    var settings = ReplaySettings()
    settings.speed = .infinity
    return settings
  }

  @Test(arguments: [0, 1]) func aByteAfterTheLastAnswerIsADifference(ending: Int) throws {
    let recording = try recordings()[ending]
    for (settle, difference) in [
      (Duration.milliseconds(200), ReplayDifference.Kind?.some(.excess(bytes: 1))), (.zero, nil),
    ] {
      let rig = ReplayRig()
      var (settings, count) = (Self.quick, 0)
      settings.settle = settle
      let behavior = ClosureBehavior { bytes, session, context in
        session.write(bytes)
        count += bytes.byteCount
        guard count == 19 else { return }
        context.loop.schedule(after: .milliseconds(150)) { session.write([UInt8(7)].span.bytes) }
      }
      let accessory = rig.world.add(try profile(), behavior: { _ in behavior })
      try accessory.plugIn()
      let (app, view) = rig.launch(recording, settings)
      try rig.run { app.isOver }
      #expect(app.progress.first?.kind == difference, "settle \(settle)")
      #expect(app.progress.isAsRecorded == (difference == nil))
      view.close()
    }
  }

  @Test(arguments: [0, 1]) func aByteAfterTheLastRequestIsADifference(ending: Int) throws {
    let progress = try ReplayRig.ask(Self.requests + ["!"], recordings()[ending]) { $0.speed = .infinity }.progress
    #expect(progress.first?.kind == .excess(bytes: 1))
    #expect(!progress.isAsRecorded)
  }

  @Test func whatTheAccessoryWaitsForIsKnown() throws {
    let (recording, _) = try record(profile())
    let rig = ReplayRig()
    let accessory = try rig.plug(recording)
    #expect(accessory.waitsFor == "a device to connect")
    try rig.loop.advance(by: .seconds(5))
    #expect(accessory.waitsFor == "an app to open session 1 (com.example.echo)")
    accessory.unplug()
    #expect(accessory.waitsFor == nil)
    let second = ReplayRig()
    let app = AskingApp(["hello", "how"], in: second)
    let other = try second.plug(recording)
    try second.loop.advance(by: .seconds(1))
    #expect(app.answers == "hello")
    #expect(other.waitsFor == "11 bytes from the app in session 1 (com.example.echo)")
    other.unplug()
  }

  @Test func maskedBytesAreNotCountedAsCompared() throws {
    let (recording, _) = try record(profile())
    var settings = Self.quick
    var entry = ReplayMask.Entry()
    (entry.offset, entry.count) = (0, 5)
    settings.mask.entries = [entry]
    let rig = ReplayRig()
    let (app, view) = rig.launch(recording, settings)
    try rig.plug(profile())
    try rig.run { app.isOver }
    #expect(app.progress.isAsRecorded && app.progress.compared == 14)
    view.close()
  }

  @Test func anAppThatAsksSomethingElseIsNamed() throws {
    let (recording, _) = try record(profile())
    let (progress, app) = try ReplayRig.ask(["hellO"], recording)
    #expect(progress.first?.kind == .byte(expected: UInt8(ascii: "o"), got: UInt8(ascii: "O")))
    #expect(progress.first?.offset == 4)
    #expect(app.answers == "")
  }

  @Test func aSessionThatTheRecordingDoesNotHaveIsNamed() throws {
    let (recording, _) = try record(profile("multi"), ["status\n"])
    let other = try #require(recording.identification?.protocols.last?.name)
    #expect(other != recording.sessions[0].protocolName)
    let progress = try ReplayRig.ask(["x"], of: other, recording).progress
    #expect(progress.first?.kind == .unexpectedSession(expected: recording.sessions[0].protocolName))
  }

  @Test func answersThatDoNotComeAreSilence() throws {
    let (recording, _) = try record(profile())
    let rig = ReplayRig()
    var settings = ReplaySettings()
    settings.patience = .seconds(3)
    var silent = try profile()
    silent.behavior = .sink(check: false)
    let (app, view) = rig.launch(recording, settings)
    try rig.plug(silent)
    try rig.run { app.isOver }
    #expect(app.progress.first?.kind == .missing(bytes: 19, within: .seconds(3)))
    #expect(app.progress.first?.kind.isSilence == true)
    view.close()
  }

  // MARK: Masks

  @Test func maskedBytesMayDiffer() throws {
    let (recording, _) = try record(profile())
    var entry = ReplayMask.Entry()
    (entry.offset, entry.count, entry.from) = (4, 1, .device)
    let (progress, app) = try ReplayRig.ask(["hellO", "how are you", "bye"], recording) { $0.mask.entries = [entry] }
    #expect(progress.isAsRecorded)
    #expect(app.answers == "hellohow are youbye")
  }

  @Test func aMaskIsLearnedFromTwoRecordings() throws {
    let (first, _) = try record(profile(), ["time 10:15", "bye"])
    let (second, _) = try record(profile(), ["time 11:18", "bye"])
    let mask = try ReplayMask(differencesOf: first, and: second)
    #expect(mask.entries.map(\.offset) == [6, 9, 6, 9])
    #expect(mask.entries.map(\.from) == [.device, .device, .accessory, .accessory])
    let progress = try ReplayRig.ask(["time 19:19", "bye"], first) { $0.mask = mask }.progress
    #expect(progress.isAsRecorded, "\(String(describing: progress.first))")
  }

  @Test func recordingsOfDifferentLengthsMakeNoMask() throws {
    let (first, _) = try record(profile(), ["one"])
    let (second, _) = try record(profile(), ["three"])
    #expect(throws: ReplayMask.Mismatch.self) { try ReplayMask(differencesOf: first, and: second) }
  }

  @Test func aPatternCoversItsPlaces() throws {
    let (recording, _) = try record(profile(), ["\u{2}7\u{3}", "\u{2}8\u{3}"])
    var entry = ReplayMask.Entry()
    entry.pattern = ReplayMask.Pattern("02 ?? 03")
    let requests = ["\u{2}1\u{3}", "\u{2}2\u{3}"]
    #expect(try ReplayRig.ask(requests, recording) { $0.mask.entries = [entry] }.progress.isAsRecorded)
  }

  @Test(arguments: ["", "0", "02", "?? ??", "0g ??", "02 ?"])
  func whatIsNoPatternIsRefused(text: String) {
    #expect(ReplayMask.Pattern(text) == nil)
  }

  // MARK: Captures that are not recordings

  @Test func aTranscriptIsNoRecording() throws {
    let entries = try DecodedCapture(Array("0.000000 A DETECT\n".utf8)).entries
    #expect(throws: RecordingError.transcript) { try Recording(entries) }
  }

  @Test func aCaptureWithoutAnAccessoryIsNoRecording() throws {
    let entries = try DecodedCapture([0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]).entries
    #expect(throws: RecordingError.noIdentification) { try Recording(entries) }
  }

  /// A truncated recording must either be read up to the point where it was cut off, or cause an error.
  @Test func everyTruncationIsReadUpToThere() throws {
    let rig = ReplayRig()
    let app = AskingApp(Self.requests, in: rig)
    try rig.plug(profile())
    try rig.run { app.isDone }
    let whole = try rig.recording()
    let bytes = rig.bytes
    for count in stride(from: 0, to: bytes.count, by: 97) {
      guard let entries = try? DecodedCapture(Array(bytes[..<count])).entries, let cut = try? Recording(entries) else {
        continue
      }
      #expect(cut.sessions.count <= whole.sessions.count)
      for (session, all) in zip(cut.sessions, whole.sessions) {
        #expect(all.bytes(from: .device).starts(with: session.bytes(from: .device)))
      }
    }
  }
}

@Suite struct RecordedBehaviorTests {
  @Test func itFlickersAndAnswersAsRecordedAndBeginsAgain() throws {
    let rig = ReplayRig()
    let app = AskingApp(["one", "two"], in: rig)
    var profile = try ProfileLibrary().profile("echo")
    profile.apply(.flicker(Flicker(empty: .milliseconds(200), gap: .milliseconds(100))))
    try rig.plug(profile)
    try rig.run { app.isDone }
    let recording = try rig.recording()
    let recorded = try Profile(recording)
    #expect(recorded.identity == profile.identity && recorded.protocols.map(\.name) == profile.protocols.map(\.name))
    let flickers = recorded.quirks.compactMap { if case .flicker(let flicker) = $0 { flicker } else { nil } }
    let flicker = try #require(flickers.first)
    #expect(abs((flicker.gap - .milliseconds(100)).inSeconds) < 0.01)
    #expect(abs((flicker.empty - .milliseconds(200)).inSeconds) < 0.02)

    let second = ReplayRig()
    var differences: [ReplayDifference] = []
    let behavior = RecordedBehavior(recording) { differences.append($0) }
    for _ in 0..<2 {
      let again = AskingApp(["one", "two"], in: second)
      let accessory = second.world.add(recorded, behavior: { _ in behavior })
      try accessory.plugIn()
      try second.run { again.isDone }
      #expect(again.answers == "onetwo")
      accessory.unplug()
      try second.loop.advance(by: .seconds(1))
      second.world.remove(accessory)
      again.leave()
    }
    #expect(differences == [])
    let other = AskingApp(["one", "tWo"], in: second)
    let accessory = second.world.add(recorded, behavior: { _ in behavior })
    try accessory.plugIn()
    try second.run { other.isDone }
    #expect(differences.map(\.offset) == [4])
    #expect(other.events.contains("end"))
    accessory.unplug()
  }
}

@Suite struct ImportedProfileTests {
  private func record(_ name: String, _ requests: [String]) throws -> Recording {
    try ReplayRig.record(ProfileLibrary().profile(name), requests).recording
  }

  @Test func theScriptAnswersAsTheAccessoryDid() throws {
    let requests = ["HELLO\r\n", "BATTERY?\r\n", "what\r\n", "HELLO\r\n"]
    let (profile, notes) = try Profile.imported(from: record("scripted", requests))
    #expect(notes == ["com.example.script: 1 session, 3 rules"])
    guard case .script(let script) = profile.behavior else { return #expect("\(profile.behavior)" == "a script") }
    #expect(script.framing == .delimiter([0x0D, 0x0A]))
    #expect(script.rules.map(\.request) == ["HELLO", "BATTERY?", "what"].map { Array($0.utf8) })
    #expect(script.rules[1].delay == .milliseconds(40))
    // A recording that has been written to a file and read back still replays the same accessory to the same app.
    let place = TemporaryFolder()
    place.write(Array(profile.text(comment: "imported").utf8), to: "imported.json5")
    let again = try ProfileLibrary().profile(place.file("imported.json5"))
    let rig = ReplayRig()
    let app = AskingApp(requests, in: rig)
    try rig.plug(again)
    try rig.run { app.isDone }
    #expect(app.answers == "EXAMPLE 1.0\r\nBATTERY 87\r\nERROR\r\nEXAMPLE 1.0\r\n")
  }

  @Test func anEchoStaysAnEcho() throws {
    #expect(try Profile.imported(from: record("echo", ["a", "b"])).profile.behavior == .echo)
  }

  @Test func differentAnswersToOneRequestComeInTheirOrder() {
    var session = Recording.Session(number: 1, protocolName: "com.example.x", opened: .origin, packet: 1)
    for (index, answer) in ["1", "2", "2", "3"].enumerated() {
      let time = Instant.origin + .milliseconds(index * 10)
      session.steps.append(.init(from: .device, time: time, packet: 0, bytes: Array("N".utf8)))
      session.steps.append(.init(from: .accessory, time: time + .milliseconds(1), packet: 0, bytes: Array(answer.utf8)))
    }
    let script = RecordedExchanges([session]).script
    #expect(script.framing == .fixed(1))
    #expect(script.rules.map(\.response) == ["1", "2", "3"].map { Array($0.utf8) })
    #expect(script.rules.map(\.times) == [1, 2, nil])
  }
}
