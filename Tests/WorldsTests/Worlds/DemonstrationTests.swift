import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySoak
import AccessoryWorlds
import LinuxIO
import Testing

@Suite struct DemonstrationTests {
  func play(
    seed: UInt64 = 7, _ change: (inout World.Settings) -> Void = { _ in }
  ) throws -> (Demonstration, [TimelineEvent]) {
    let loop = VirtualLoop(seed: seed)
    var events: [TimelineEvent] = []
    var settings = World.Settings()
    settings.keepsTranscript = true
    settings.report = { events.append($0) }
    change(&settings)
    let demonstration = try Demonstration(try ProfileLibrary().profile("lawk-view"), settings: settings, on: loop)
    demonstration.start()
    _ = try loop.runUntilQuiet()
    return (demonstration, events)
  }

  @Test func theAppSeesTheFlickerThenTheProtocolAndBothEchoes() throws {
    let (demonstration, events) = try play()
    #expect(
      demonstration.passed == true,
      "\(events.map(\.json).joined(separator: "\n"))\n\(demonstration.world.transcript.joined(separator: "\n"))")
    let appearances = events.filter { $0.kind == .connect || $0.kind == .disconnect }
    #expect(appearances.map(\.kind) == [.connect, .disconnect, .connect, .disconnect])
    #expect(appearances.map { $0.subject?.protocols } == [[], [], ["com.lawaken.iap2"], ["com.lawaken.iap2"]])
    let ids = appearances.compactMap { $0.subject?.connectionID }
    #expect(ids.count == 4 && ids[0] == ids[1] && ids[2] == ids[0] + 1 && ids[3] == ids[2])
  }

  @Test func aDemonstrationWithRealCryptographyPassesToo() throws {
    #expect(try play { $0.authentication = .real }.0.passed == true)
  }
}
