import AccessoryCaptures
import AccessoryFormats
import AccessoryProfiles
import TestSupport
import Testing

@testable import AccessoryReplay

@Suite struct PairTests {
  private func record(_ profile: Profile, _ requests: [String], of name: String? = nil) throws -> Recording {
    try ReplayRig.record(profile, requests, of: name).recording
  }

  // MARK: Wildcards

  @Test(arguments: [
    ("SET 9;A", "SET 12;A", "OK 9\r\n", "OK 12\r\n", "SET (\\d+);A", "OK ${1}\r\n"),
    ("N 17 B", "N 18 B", "17+", "18+", "N (\\d+) B", "${1}+"),
    ("\u{1}a\u{2}", "\u{1}b\u{2}", "<a>", "<b>", "\\x01(.{1})\\x02", "<${1}>"),
    ("a1b2c", "a3b4c", "2,1", "4,3", "a(\\d+)b(\\d+)c", "${2},${1}"),
    ("t=", "t=x", "-", "-x", "t=(.*)", "-${1}"),
    ("(1)", "(2)", "${1", "${2", "\\((\\d+)\\)", "${hex:24}{${1}"),
  ])
  func whatDiffersBecomesAGroup(
    one: String, other: String, answer: String, otherAnswer: String, regex: String, template: String
  ) throws {
    let wildcard = try #require(RecordedWildcard(Array(one.utf8), Array(other.utf8)))
    #expect(wildcard.pattern.text == regex)
    #expect(wildcard.answer(Array(answer.utf8), Array(otherAnswer.utf8))?.source == .text(template))
  }

  @Test func whatHasNothingInCommonOrIsNotExplainedIsNoWildcard() throws {
    #expect(RecordedWildcard(Array("ab".utf8), Array("cd".utf8)) == nil)
    #expect(RecordedWildcard([1], [1]) == nil)
    let wildcard = try #require(RecordedWildcard(Array("T1".utf8), Array("T2".utf8)))
    #expect(wildcard.answer(Array("12:00".utf8), Array("12:07".utf8)) == nil)
  }

  /// A script made from two recordings answers the app's third run with the number that the app sends in that run.
  @Test func theScriptOfTwoRecordingsAnswersAThird() throws {
    var lamp = try ProfileLibrary().profile("scripted")
    lamp.behavior = .script(
      Script(
        framing: .delimiter([10]),
        rules: [
          .init(request: Array("HELLO".utf8), response: Array("LAMP\n".utf8)),
          .init(
            regex: try BytePattern("SET (\\d+)"),
            answers: [.init(try ScriptTemplate("NOW ${1}\n"), after: .milliseconds(40))]
          ),
        ]))
    let one = try record(lamp, ["HELLO\n", "SET 9\n", "SET 10\n"])
    let other = try record(lamp, ["HELLO\n", "SET 41\n", "SET 99\n"])
    let (profile, notes) = try Profile.imported(from: one, and: other)
    #expect(notes == ["com.example.script: 2 sessions, 2 rules"])
    let place = TemporaryFolder()
    place.write(Array(profile.text(comment: "imported").utf8), to: "imported.json5")
    let again = try ProfileLibrary().profile(place.file("imported.json5"))
    let rig = ReplayRig()
    let app = AskingApp(["SET 1234\n", "HELLO\n"], in: rig)
    try rig.plug(again)
    try rig.run { app.isDone }
    #expect(app.answers == "NOW 1234\nLAMP\n")
  }

  @Test func recordingsThatCannotBePairedAreToldAndBothAreKept() throws {
    let scripted = try ProfileLibrary().profile("scripted")
    let one = try record(scripted, ["HELLO\r\n", "what\r\n"])
    let other = try record(scripted, ["HELLO\r\n"])
    let (_, notes) = try Profile.imported(from: one, and: other)
    #expect(
      notes == [
        "com.example.script: 2 sessions, 2 rules; the recordings have 2 requests and 1, so there are no wildcards"
      ])
  }

  // MARK: Native transport

  private static let frames = "com.example.camera.frames"

  @Test func aSessionOfNativeTransportIsRecordedAndPlayedByEitherEnd() throws {
    let camera = try ProfileLibrary().profile("camera")
    let requests = ["frame 1", "frame 2"]
    let recording = try record(camera, requests, of: Self.frames)
    let session = try #require(recording.sessions.first)
    #expect(recording.sessions.count == 1 && session.isNative && session.protocolName == Self.frames)
    #expect(session.bytes(from: .device) == Array("frame 1frame 2".utf8))
    #expect(session.bytes(from: .accessory) == session.bytes(from: .device))
    if case .closed(by: .device, _) = session.ending {} else { Issue.record("\(session.ending)") }
    #expect(recording.problems == [])

    let rig = ReplayRig(seed: 8)
    let app = AskingApp(requests, of: Self.frames, in: rig)
    let accessory = try rig.plug(recording)
    try rig.run { accessory.isOver }
    #expect(accessory.progress.isAsRecorded, "\(String(describing: accessory.progress.first))")
    #expect(app.answers == "frame 1frame 2")
    accessory.unplug()
    try rig.loop.advance(by: .milliseconds(100))
    #expect(try rig.recording().sessions.first?.isNative == true)

    let other = ReplayRig(seed: 9)
    let (replayed, view) = other.launch(recording)
    try other.plug(camera)
    try other.run { replayed.isOver }
    #expect(replayed.progress.isAsRecorded, "\(String(describing: replayed.progress.first))")
    view.close()
  }

  @Test func aWrongByteOnANativeChannelIsFound() throws {
    var recording = try record(ProfileLibrary().profile("camera"), ["frame"], of: Self.frames)
    let step = try #require(recording.sessions.first?.steps.firstIndex { $0.from == .accessory })
    recording.attachments[0].sessions[0].steps[step].bytes[2] ^= 1
    let rig = ReplayRig(seed: 9)
    let (app, view) = rig.launch(recording)
    try rig.plug(ProfileLibrary().profile("camera"))
    try rig.run { app.isOver }
    #expect(app.progress.first?.offset == 2)
    view.close()
  }

  // MARK: Every shipped profile

  /// For every behavior, a replayed accessory must satisfy the recorded app, and a replayed app must detect a single
  /// changed byte in any answer.
  @Test(arguments: ProfileLibrary().names.map(\.name).sorted())
  func everyShippedProfileIsReplayedAndEachMutantIsFound(name: String) throws {
    let profile = try ProfileLibrary().profile(name)
    // The device requires authentication, so it never gets as far as the microphone's protocols, and there is nothing
    // to replay.
    guard let first = profile.protocols.first, name != "microphone" else { return }
    let rig = ReplayRig()
    let app = TimedApp(of: first.name, in: rig)
    let live = try rig.plug(profile)
    try rig.loop.advance(by: .seconds(20))
    live.unplug()
    try rig.loop.advance(by: .milliseconds(100))
    let recording = try rig.recording()
    app.leave()

    let again = ReplayRig(seed: 8)
    let second = TimedApp(of: first.name, in: again)
    let accessory = try again.plug(recording)
    try again.loop.advance(by: .seconds(20))
    accessory.unplug()
    try again.loop.advance(by: .milliseconds(100))
    #expect(accessory.progress.first == nil)
    #expect(second.answers == app.answers)
    second.leave()

    for (session, index) in Self.answers(of: recording) {
      let bytes = recording.sessions[session].steps[index].bytes
      var mutant = recording
      let attachment = try #require(mutant.attachments.firstIndex { $0.sessions.contains(recording.sessions[session]) })
      let place = try #require(mutant.attachments[attachment].sessions.firstIndex(of: recording.sessions[session]))
      mutant.attachments[attachment].sessions[place].steps[index].bytes[bytes.count / 2] ^= 0x40
      let mutated = ReplayRig(seed: 9)
      let (player, view) = mutated.launch(recording)
      let wrong = try mutated.plug(mutant)
      try mutated.loop.advance(by: .seconds(25))
      guard case .byte? = player.progress.first?.kind else {
        Issue.record("\(name), session \(session), step \(index): \(String(describing: player.progress.first))")
        return
      }
      wrong.unplug()
      view.close()
    }
  }

  private static func answers(of recording: Recording) -> [(session: Int, step: Int)] {
    let all = recording.sessions.indices.flatMap { session in
      recording.sessions[session].steps.indices
        .filter { recording.sessions[session].steps[$0].from == .accessory }.map { (session, $0) }
    }
    return stride(from: 0, to: all.count, by: max(1, all.count / 3)).map { all[$0] }
  }
}
