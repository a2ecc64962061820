import AccessoryCore
import AccessoryProfiles
import Testing

@testable import AccessoryHost

@Suite struct DeclaredProtocolTests {
  @Test func anAccessoryWithoutADeclaredProtocolIsNotSeen() {
    var app = AppTranscript()
    let transcript = """
      > publish 7
      connect 7
      > withdraw 7
      disconnect 7
      delegate 7
      > publish 8 com.x com.y
      explained
      > list
      list\u{20}
      > open 8 com.x
      alert
      nil
      > withdraw 8
      """
    #expect(app.play(transcript) == transcript)
    #expect(
      app.explanations.first
        == "the app does not see Glasses: it offers com.x, com.y, and /app/Info.plist declares com.a, com.b under "
        + "UISupportedExternalAccessoryProtocols; declare one of them there, or turn the filter off with "
        + "--all-protocols")
  }

  @Test func oneDeclaredProtocolIsEnoughAndAllAreShown() {
    expect(
      """
      > publish 7 com.x com.b
      connect 7 com.x com.b
      """, from: AppTranscript())
  }

  @Test func anAppThatDeclaresNothingSeesNothing() {
    var app = AppTranscript(declares: [])
    #expect(app.play("> publish 7 com.a") == "> publish 7 com.a\nexplained")
    #expect(app.explanations[0].contains("/app/Info.plist declares no protocols under UISupported"))
  }

  @Test func withTheFilterOffEverythingIsSeenAndStillNothingUndeclaredOpens() {
    var app = AppTranscript { $0.rules.visibility = .all }
    let transcript = """
      > publish 7 com.x
      connect 7 com.x
      > open 7 com.x
      alert
      nil
      """
    #expect(app.play(transcript) == transcript)
    #expect(
      app.explanations == [
        "The protocol com.x is not defined in the app's Info.plist: no session is opened",
        "the protocol com.x is not declared: /app/Info.plist declares com.a, com.b under "
          + "UISupportedExternalAccessoryProtocols; declare it there, or turn the check off with --all-protocols",
      ])
  }

  @Test func olderSystemsOpenTheSessionAfterTheAlert() {
    var app = AppTranscript { $0.rules = .older }
    let transcript = """
      > publish 7 com.x
      connect 7 com.x
      > open 7 com.x
      alert
      session 1
      """
    #expect(app.play(transcript) == transcript)
    #expect(
      app.explanations == [
        "The protocol com.x is not defined in the app's Info.plist: this system opens the session anyway"
      ])
  }

  @Test func withoutAnInfoPlistEverythingCountsAsDeclared() {
    expect(
      """
      > launch
      > publish 7 com.x
      connect 7 com.x
      > open 7 com.x
      session 1
      """, from: AppTranscript(declares: nil))
  }

  @Test func whereAnInfoPlistWasSoughtInVainIsSaid() {
    var app = AppTranscript {
      $0.manifest = AppManifest(origin: .sought(["/a/Info.plist", "/b/Info.plist"]), declaredProtocols: nil)
    }
    #expect(app.play("> launch\n> publish 7 com.x") == "> launch\nexplained\n> publish 7 com.x\nconnect 7 com.x")
    #expect(
      app.explanations == [
        "no Info.plist was found (looked for /a/Info.plist, /b/Info.plist), so every protocol counts as declared"
      ])
  }

  @Test func anInfoPlistThatIsNowhereIsNotRead() throws {
    let manifest = try AppManifest.find(among: ["/nowhere"])
    #expect(manifest.origin == .sought(["/nowhere"]))
  }
}
