import Testing

@testable import AccessoryHost

@Suite struct BackgroundTests {
  // MARK: Connections without a notification

  @Test func connectsThatAreLostOutsideTheForegroundAreToldOfInIt() {
    expect(
      """
      > publish 7 com.a
      connect 7 com.a
      > background
      > publish 8 com.a
      > suspend
      sessions wait
      > publish 9 com.a
      > resume
      sessions go on
      > list
      list 7 8 9
      > suspend
      sessions wait
      > publish 10 com.a
      > foreground
      sessions go on
      connect 10 com.a
      """, from: AppTranscript { $0.rules.lostConnects = .outsideForeground })
  }

  // MARK: With the background mode

  @Test(arguments: ["foreground", "resume"])
  func whatHappensWhileSuspendedComesWhenTheAppRunsAgain(step: String) {
    expect(
      """
      > publish 7 com.a
      connect 7 com.a
      > suspend
      sessions wait
      > publish 100 com.a
      > withdraw 7
      > \(step)
      sessions go on
      connect 100 com.a
      disconnect 7 com.a
      delegate 7
      > list
      list 100
      """, from: AppTranscript())
  }

  static let reattached = """
    > publish 7 com.a
    connect 7 com.a
    > suspend
    sessions wait
    > withdraw 7
    > publish 8
    > withdraw 8
    > publish 9 com.a
    > foreground
    sessions go on
    """

  @Test(arguments: [
    (AppRules.Reattachment.both, "\ndisconnect 7 com.a\ndelegate 7\nconnect 9 com.a"), (.nothing, ""),
    (.connectOnly, "\nconnect 9 com.a"),
  ])
  func anAccessoryThatWentAndCameBackIsToldAsTheRuleSays(rule: AppRules.Reattachment, told: String) {
    expect(
      Self.reattached + told + "\n> list\nlist 9\n> withdraw 9\ndisconnect 9 com.a\ndelegate 9",
      from: AppTranscript { $0.rules.reattachment = rule })
  }

  @Test(arguments: [AppRules.Reattachment.both, .nothing, .connectOnly])
  func anotherAccessoryIsNoReattachmentAndNeitherIsASwitchOfTransports(rule: AppRules.Reattachment) {
    expect(
      """
      > publish 7 com.a
      connect 7 com.a
      > suspend
      sessions wait
      > publish 8 com.a
      > withdraw 7
      > publish 100 com.a
      > resume
      sessions go on
      connect 8 com.a
      disconnect 7 com.a
      delegate 7
      connect 100 com.a
      """, from: AppTranscript { $0.rules.reattachment = rule })
  }

  @Test func withoutRegistrationOnlyTheDelegateHearsWhatWaited() {
    expect(
      """
      > publish 7 com.a
      > suspend
      sessions wait
      > withdraw 7
      > publish 8 com.a
      > resume
      sessions go on
      delegate 7
      """, from: AppTranscript(registered: false))
  }

  @Test func bytesWakeASuspendedAppForAWhile() {
    expect(
      """
      > publish 7 com.a
      connect 7 com.a
      > suspend
      sessions wait
      > publish 8 com.b
      > wait 100
      > bytes
      sessions go on
      connect 8 com.b
      > state
      state background
      > wait 9
      > publish 9 com.b
      connect 9 com.b
      > wait 1
      sessions wait
      > state
      state suspended
      > withdraw 9
      > bytes
      sessions go on
      disconnect 9 com.b
      delegate 9
      > foreground
      > wait 100
      > state
      state foreground
      """, from: AppTranscript())
  }

  // MARK: Without the background mode

  @Test func withoutTheModeTheForegroundShowsWhatIsThereThen() {
    expect(
      """
      > publish 7 com.a
      connect 7 com.a
      > suspend
      explained
      sessions close
      disconnect 7 com.a
      delegate 7
      > withdraw 7
      > publish 8
      > withdraw 8
      > publish 9 com.a
      > resume
      > list
      list\u{20}
      > suspend
      > bytes
      > foreground
      connect 9 com.a
      """, from: AppTranscript(modes: ["audio"]))
  }

  @Test func theLossIsExplainedWithTheFileThatWasRead() {
    var app = AppTranscript(modes: ["audio"])
    _ = app.play("> publish 7 com.a\n> background")
    #expect(
      app.explanations == [
        "the app loses its accessories in the background: external-accessory is not among its UIBackgroundModes "
          + "(/app/Info.plist lists [\"audio\"])"
      ])
  }
}
