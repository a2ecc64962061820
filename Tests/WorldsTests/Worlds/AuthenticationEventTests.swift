import AccessorySessions
import AccessoryWorlds
import Testing

/// Checks that each step of authentication is reported as an event on both sides, with a reason.
@Suite struct AuthenticationEventTests {
  private func steps(_ side: TimelineEvent.Side, quirk: String? = nil) throws -> [TimelineEvent.Authentication] {
    try World.events(of: quirk, for: .seconds(5)) { $0.authentication = .real }.compactMap { event in
      if event.side == side, case .authentication(let step) = event.kind { step } else { nil }
    }
  }

  @Test func aSuccessIsReportedByBothEnds() throws {
    #expect(try steps(.device).first == .succeeded)
    #expect(try steps(.accessory).first == .accepted)
  }

  @Test func aWrongSignatureIsReportedWithItsReason() throws {
    guard case .refused(.signature(let reason))? = try steps(.device, quirk: "authentication,wrong").first else {
      Issue.record("no refusal of the signature")
      return
    }
    #expect(!reason.isEmpty)
    #expect(try steps(.accessory, quirk: "authentication,wrong").first == .refusedByDevice)
  }

  @Test func aMissingAnswerIsReportedByTheAccessory() throws {
    #expect(try steps(.accessory, quirk: "authentication,never").first == .unanswered)
  }

  @Test(arguments: [
    (TimelineEvent.Authentication.succeeded, "succeeded"), (.accepted, "accepted by the device"),
    (.refused(.signature("why")), "refused: why"), (.refused(.certificate("why")), "refused: why"),
    (.refused(.onPurpose), "refused: the signature is valid, but refused on purpose"),
    (.refusedByDevice, "refused by the device"), (.unanswered, "left unanswered"),
  ])
  func eachHasItsText(step: TimelineEvent.Authentication, text: String) {
    #expect(step.description == text)
  }
}
