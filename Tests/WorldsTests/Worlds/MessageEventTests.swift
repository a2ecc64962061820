import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessoryWorlds
import IAP2
import LinuxIO
import Testing

/// Checks that control messages appear as events on both sides, and that undeclared messages cause warnings.
@Suite struct MessageEventTests {
  private func lines(_ events: [TimelineEvent], _ side: TimelineEvent.Side) -> [String] {
    events.compactMap { event in
      guard event.side == side, case .message(let passed) = event.kind else { return nil }
      return "\(passed.direction) \(Hex.number(passed.message.id.rawValue))"
    }
  }

  @Test func everyMessageIsAnEventOfBothEnds() throws {
    let events = try World.events(for: .seconds(5)) { $0.reportsMessages = true }
    #expect(
      lines(events, .device) == [
        "sent AA00", "received AA01", "sent AA02", "received AA03", "sent AA05", "sent 1D00", "received 1D01",
        "sent 1D02",
      ])
    #expect(
      lines(events, .accessory) == [
        "received AA00", "sent AA01", "received AA02", "sent AA03", "received AA05", "received 1D00", "sent 1D01",
        "received 1D02",
      ])
  }

  @Test func nothingIsToldThatWasNotAskedFor() throws {
    #expect(lines(try World.events(for: .seconds(5)), .device) == [])
  }

  @Test func aMessageIsWrittenWithItsParameters() {
    func json(_ message: ControlMessage) -> String {
      TimelineEvent(time: .origin, side: .device, kind: .message(PassedMessage(.received, message))).json
    }
    let head = #"{"v":1,"t":0.000000,"side":"device","event":"message","direction":"received","#
    #expect(
      json(
        ControlMessage(.identificationInformation) {
          $0.text(0, "A \"B\"")
          $0.list(6, [0xEA03])
          $0.group(16) {
            $0.u16(0, 7)
            $0.none(2)
          }
          $0.blob(250, [1, 2])
        })
        == head + #""id":"1D01","name":"IdentificationInformation","parameters":["#
        + #"{"id":0,"name":"name","value":"A \"B\""},{"id":6,"name":"messages sent","value":["EA03"]},"#
        + #"{"id":16,"name":"USB host transport","parameters":[{"id":0,"name":"component","value":7},"#
        + #"{"id":2,"name":"iAP2","value":true}]},{"id":250,"hex":"0102"}]}"#)
    #expect(
      json(ControlMessage(.deviceTimeUpdate) { $0.number(1, Int16(-90)) })
        == head + #""id":"4E0B","name":"DeviceTimeUpdate","parameters":[{"id":1,"name":"zone minutes","value":-90}]}"#)
    #expect(
      json(ControlMessage(MessageID(rawValue: 0xBEEF), body: [0, 9, 0]))
        == head
        + #""id":"BEEF","unreadable":"a parameter needs 4 bytes but has 3, at byte 0: 00 09 00","hex":"000900"}"#)
    let long = json(ControlMessage(.authenticationCertificate) { $0.blob(0, [UInt8](repeating: 7, count: 1_025)) })
    #expect(long.hasSuffix(#"07","bytes":1025}]}"#))
    #expect(long.count < 2_400)
  }

  @Test func whatAnAccessoryDidNotDeclareIsWarnedOfOnce() {
    var watch = DeclarationWatch()
    let status = MessageID.externalAccessorySessionStatus
    let unknown = MessageID(rawValue: 0xBEEF)
    #expect(watch.warning(about: status, sentByAccessory: [status]) == nil)
    #expect(watch.warning(about: .authenticationCertificate, sentByAccessory: nil) == nil)
    #expect(watch.warning(about: .identificationInformation, sentByAccessory: []) == nil)
    #expect(
      watch.warning(about: status, sentByAccessory: [])
        == "the accessory sent EA03 StatusExternalAccessoryProtocolSession, which it did not declare (parameter 6)")
    #expect(watch.warning(about: status, sentByAccessory: []) == nil)
    #expect(
      watch.warning(about: unknown, sentByAccessory: nil)
        == "the accessory sent BEEF before its identification was accepted; no message with this number is known")
    #expect(
      watch.warning(about: .powerUpdate, sentByAccessory: [])
        == "the accessory sent AE01 PowerUpdate, which it did not declare (parameter 6); only the device sends it")
    #expect(
      watch.warning(about: .deviceLanguageUpdate, sentByDevice: [])
        == "the device sent 4E0A DeviceLanguageUpdate, which the accessory did not declare (parameter 7)")
  }
}
