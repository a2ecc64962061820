import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessorySoak
import IAP2
import LinuxIO
import Testing

@testable import AccessoryWorlds

/// Tests the messages that a device sends and answers automatically, with profiles of real kinds of accessories. The
/// host drives each accessory, and the test observes both sides.
@Suite struct DeviceAnswersTests {
  private final class Play {
    let loop = VirtualLoop(seed: 1)
    let world: World
    let accessory: SimulatedAccessory

    init(_ profile: String, _ change: (inout World.Settings) -> Void = { _ in }) throws {
      var settings = World.Settings()
      settings.reportsMessages = true
      change(&settings)
      world = World(settings, on: loop)
      accessory = world.add(try ProfileLibrary().profile(profile))
    }

    func run(_ limit: Duration) throws { _ = try loop.run(until: { false }, limit: limit) }

    func messages(_ side: TimelineEvent.Side, _ direction: PassedMessage.Direction) -> [String] {
      world.messages(side, direction)
    }

    var warnings: [String] { world.warnings }

    var isConnected: Bool { world.events.contains { $0.kind == .connect } }
  }

  @Test func aHeadUnitHearsEveryUpdateInOrderAndIsAnswered() throws {
    let play = try Play("car")
    try play.accessory.plugIn()
    try play.run(.seconds(5))
    #expect(play.isConnected)
    #expect(play.warnings == [])
    let sent = play.messages(.device, .sent)
    #expect(
      sent.map { $0.prefix(4) }.filter {
        ["4E0C", "5702", "A100", "4E0B", "4E0D", "4E0A", "4E09", "4E0E"].contains($0)
      }
        == ["4E0C", "5702", "A100", "4E0B", "4E0D", "4E0A", "4E09", "4E0E"])
    #expect(Set(["4E04", "5701", "DA01", "00B2"]).isSubset(of: sent.map { String($0.prefix(4)) }))
    let received = play.messages(.device, .received)
    #expect(received.contains("A101 VehicleStatusUpdate range=320"))
    #expect(received.contains("00B3 OOBBTPairingCompletionInformation result=0"))
    #expect(
      received.contains(
        "5703 AccessoryWiFiConfigurationInformation ssid=\"Head Unit\" passphrase=\"12345678\" security=2 channel=36"))
    #expect(play.messages(.accessory, .received) == sent)
    #expect(play.messages(.accessory, .sent) == received)
  }

  @Test func aLinkWithoutAcknowledgementsAndWithTheSecondControlVersion() throws {
    let profile = try ProfileLibrary().profile("car")
    let parameters = profile.linkSettings.parameters
    #expect(parameters.sessions.first == LinkSession(id: 1, kind: .control, version: 2))
    #expect(parameters.maximumRetransmissions == 0)
  }

  @Test func aChargerHearsOfPowerWhenItChanges() throws {
    let play = try Play("charger")
    try play.accessory.plugIn()
    try play.run(.seconds(1))
    #expect(
      play.messages(.device, .sent) == [
        "AE01 PowerUpdate maximum-current-drawn-mA=100 charging=0 battery-percent=80"
      ])
    let serial = play.accessory.profile.identity.serialNumber
    #expect(
      play.world.device.send(.powerUpdate, [.init(5, .bytes([2])), .init(6, .bytes([0, 100]))], toSerial: serial) == 1)
    try play.run(.seconds(1))
    #expect(
      play.messages(.accessory, .received).last
        == "AE01 PowerUpdate maximum-current-drawn-mA=100 charging=2 battery-percent=100")
    #expect(
      play.messages(.device, .received) == [
        "AE00 StartPowerUpdates maximum-current-drawn=yes charging=yes battery-percent=yes",
        "AE03 PowerSourceUpdate available-mA=2400 should-charge=1",
        "AE03 PowerSourceUpdate available-mA=2400 should-charge=0",
      ])
    #expect(play.warnings == [])
  }

  @Test func aLocationReceiverSendsWhileItIsAsked() throws {
    let play = try Play("location")
    try play.accessory.plugIn()
    try play.run(.milliseconds(2_500))
    #expect(play.messages(.device, .sent) == ["FFFA StartLocationInformation GGA=yes RMC=yes"])
    let sentences = play.messages(.device, .received)
    #expect(sentences.count == 6)
    #expect(sentences.first?.hasPrefix("FFFB LocationInformation NMEA-sentence=\"$GPGGA,") == true)
    play.world.device.send(MessageID(rawValue: 0xFFFC), [])
    try play.run(.seconds(5))
    #expect(play.messages(.device, .received).count == 6)
    #expect(play.warnings == [])
  }

  @Test func artworkComesWholeByFileTransfer() throws {
    let artwork = (0..<20_000).map { UInt8(truncatingIfNeeded: $0) }
    let play = try Play("dock") { $0.artwork = artwork }
    var kept: [[UInt8]] = []
    play.accessory.keepFile = { id, bytes in
      kept.append(bytes)
      return "kept as \(id)"
    }
    try play.accessory.plugIn()
    try play.run(.seconds(3))
    #expect(kept == [artwork])
    #expect(play.messages(.device, .sent).last?.contains("artwork-transfer=128") == true)
    #expect(play.world.events.contains { $0.kind == .note("file 128 received: 20000 bytes, kept as 128") })
    #expect(play.world.events.contains { $0.kind == .note("file 128 was delivered") })
    #expect(play.warnings == [])
  }

  @Test func aMicrophoneThatNeverAuthenticatesIsUsedWithoutIt() throws {
    let play = try Play("microphone") { $0.authenticationMode = .skip }
    try play.accessory.plugIn()
    try play.run(.seconds(2))
    #expect(play.isConnected)
    #expect(play.messages(.accessory, .received) == ["AE01 PowerUpdate battery-percent=80"])
    #expect(play.warnings == [])
  }

  @Test func whatAnAccessorySendsUndeclaredIsAWarning() throws {
    let play = try Play("echo")
    try play.accessory.plugIn()
    try play.run(.seconds(1))
    #expect(play.accessory.send(MessageID(rawValue: 0x6802), [.init(0, .bytes([0, 1]))]))
    #expect(play.accessory.send(MessageID(rawValue: 0xBEEF), []))
    try play.run(.seconds(1))
    #expect(
      play.warnings == [
        "the accessory sent 6802 AccessoryHIDReport, which it did not declare (parameter 6)",
        "the accessory sent BEEF, which it did not declare (parameter 6); no message with this number is known",
      ])
  }

  @Test func anAppThatAnAccessoryAsksForIsLaunched() throws {
    let text = """
      { version: 1, description: 'd', accessories: { a: { profile: 'echo' } },
        steps: [
          { at: '0s', accessory: 'plugIn' },
          { at: '1s', accessory: 'message', send: 'RequestAppLaunch', parameters: { 'bundle id': 'com.example.app' } },
          { at: '2s', device: 'message', send: '4E0A', parameters: { language: 'de' } },
          { at: '9s', app: 'launch' },
        ],
        expect: [{ event: 'session.open' }, { event: 'session.close' }] }
      """
    let scenario = try Scenario(
      ScenarioSource(name: "s", path: "s", bytes: Array(text.utf8)), profiles: ProfileLibrary())
    let loop = VirtualLoop(seed: 1)
    var settings = World.Settings()
    settings.reportsMessages = true
    let player = ScenarioPlayer(scenario, client: RobustClient.self, settings: settings, on: loop)
    player.start()
    _ = try loop.run(until: { player.isOver }, limit: .seconds(60))
    let notes = player.world.events.compactMap { event in if case .note(let text) = event.kind { text } else { nil } }
    #expect(notes.contains("the accessory asks to launch the app com.example.app, after asking the user"))
    #expect(notes.contains("the system launches the app com.example.app, as requested by the accessory"))
    let opened = player.world.events.first { if case .sessionOpen = $0.kind { true } else { false } }
    #expect(opened.map { $0.time.seconds < 2 } == true)
    #expect(
      player.world.events.contains { event in
        guard case .message(let passed) = event.kind else { return false }
        return event.side == .accessory && passed.message.id == .deviceLanguageUpdate
      })
  }
}
