import AccessoryCore
import AccessoryHost
import Testing

/// What browsers are told, as a transcript: "1 found lamp, radio".
@Suite struct WirelessSetupTests {
  let lamp = UnconfiguredAccessory(name: "lamp", macAddress: "02:00:00:00:00:01", abilities: .homeKit)
  let radio = UnconfiguredAccessory(name: "radio", macAddress: "02:00:00:00:00:02", abilities: .airPlay)

  @Test func aSearchFindsWhatIsThereAndThenOnlyWhatChanges() {
    var air = Air(browsers: 1)
    air.does { $0.appear(lamp) }
    air.does { $0.start(browser: 1) }
    air.does { $0.appear(radio) }
    air.does { $0.disappear(lamp) }
    #expect(air.told == ["1 searching", "1 found lamp", "1 found radio", "1 removed lamp"])
    #expect(air.setup.accessories(of: 1) == [radio])
  }

  @Test func nothingIsToldBeforeTheSearchAndAfterItsEnd() {
    var air = Air(browsers: 1)
    air.does { $0.appear(lamp) }
    air.does { $0.start(browser: 1) }
    air.does { $0.stop(browser: 1) }
    air.does { $0.stop(browser: 1) }
    air.does { $0.appear(radio) }
    air.does { $0.disappear(lamp) }
    #expect(air.told == ["1 searching", "1 found lamp", "1 stopped"])
  }

  @Test func aSearchThatStartsAgainFindsEverythingAgain() {
    var air = Air(browsers: 1)
    air.does { $0.appear(lamp) }
    air.does { $0.start(browser: 1) }
    air.does { $0.start(browser: 1) }
    air.does { $0.stop(browser: 1) }
    air.does { $0.start(browser: 1) }
    #expect(air.told == ["1 searching", "1 found lamp", "1 stopped", "1 searching", "1 found lamp"])
  }

  @Test func theFilterHoldsForFoundRemovedAndTheList() {
    var air = Air(browsers: 1)
    air.does { $0.appear(lamp) }
    air.does { $0.start(browser: 1) { $0.abilities.contains(.airPlay) } }
    air.does { $0.appear(radio) }
    air.does { $0.disappear(lamp) }
    #expect(air.told == ["1 searching", "1 found radio"])
    #expect(air.setup.accessories(of: 1) == [radio])
  }

  @Test func everyBrowserHearsOfWhatIsDoneOnAnother() {
    var air = Air(browsers: 2)
    air.does { $0.appear(lamp) }
    air.does { $0.start(browser: 1) }
    air.does { $0.stop(browser: 2) }
    #expect(
      air.told == ["1 searching", "1 found lamp", "2 searching", "2 found lamp", "1 stopped", "2 stopped"])
  }

  @Test(arguments: [WirelessSetup.Outcome.success, .cancelled, .failed])
  func aConfigurationEndsEverySearchAndIsFinishedForAll(outcome: WirelessSetup.Outcome) {
    var air = Air(browsers: 2)
    air.does { $0.appear(lamp) }
    air.does { $0.start(browser: 1) }
    air.forget()
    air.does { $0.configure(lamp, browser: 2) }
    #expect(air.told == ["1 configuring", "2 configuring", "the user sees lamp"])
    air.forget()
    air.does { $0.finish(outcome) }
    air.does { $0.finish(outcome) }
    #expect(air.told == ["1 lamp \(outcome)", "2 lamp \(outcome)", "1 stopped", "2 stopped"])
    air.forget()
    air.does { $0.start(browser: 1) }
    #expect(air.told.contains("1 found lamp") == (outcome != .success))
  }

  @Test func theOrderOfStoppedAndFinishedIsASetting() {
    var air = Air(browsers: 1, finishesAfterStopping: true)
    air.does { $0.appear(lamp) }
    air.does { $0.configure(lamp, browser: 1) }
    air.forget()
    air.does { $0.finish(.success) }
    #expect(air.told == ["1 stopped", "1 lamp success"])
  }

  @Test func whatCannotBeConfiguredHasFailedForWhoAsked() {
    var air = Air(browsers: 2)
    air.does { $0.configure(radio, browser: 1) }
    #expect(air.told == ["1 radio failed"])
    air.does { $0.appear(lamp) }
    air.does { $0.configure(lamp, browser: 1) }
    air.forget()
    air.does { $0.configure(lamp, browser: 2) }
    air.does { $0.start(browser: 2) }
    #expect(air.told == ["2 lamp failed"], "and a search has to wait")
  }

  @Test func wiFiThatGoesTakesTheSearchAndTheConfigurationWithIt() {
    var air = Air(browsers: 1)
    air.does { $0.appear(lamp) }
    air.does { $0.start(browser: 1) }
    air.does { $0.wiFi(isOn: false) }
    air.does { $0.wiFi(isOn: false) }
    air.does { $0.start(browser: 1) }
    air.does { $0.wiFi(isOn: true) }
    #expect(air.told == ["1 searching", "1 found lamp", "1 unavailable", "1 removed lamp", "1 stopped"])
    air.does { $0.configure(lamp, browser: 1) }
    air.forget()
    air.does { $0.wiFi(isOn: false) }
    #expect(air.told == ["1 lamp failed", "1 stopped", "1 unavailable"])
  }

  @Test func anAccessoryThatGoesWhileItIsConfiguredHasFailed() {
    var air = Air(browsers: 1)
    air.does { $0.appear(lamp) }
    air.does { $0.configure(lamp, browser: 1) }
    air.forget()
    air.does { $0.disappear(lamp) }
    #expect(air.told == ["1 lamp failed", "1 stopped"])
  }

  @Test func aBrowserThatIsGoneHearsNothingAndTheLastOneEndsTheSearch() {
    var air = Air(browsers: 2)
    air.does { $0.start(browser: 1) }
    air.setup.remove(browser: 1)
    air.forget()
    air.does { $0.appear(lamp) }
    #expect(air.told == ["2 found lamp"])
    air.setup.remove(browser: 2)
    air.setup.add(browser: 3)
    air.does { $0.appear(radio) }
    #expect(air.told == ["2 found lamp"])
  }

  /// Many random histories: what each browser was told adds up to what it shows, without a contradiction on the way.
  @Test func whatABrowserIsToldAddsUp() throws {
    var random = SeededRandom(seed: 5)
    for _ in 0..<2_000 {
      var air = Air(browsers: 2)
      for _ in 0..<20 {
        let browser = Int.random(in: 1...2, using: &random)
        let accessory = Bool.random(using: &random) ? lamp : radio
        switch Int.random(in: 0..<8, using: &random) {
        case 0: air.does { $0.appear(accessory) }
        case 1: air.does { $0.disappear(accessory) }
        case 2: air.does { $0.start(browser: browser) }
        case 3: air.does { $0.start(browser: browser) { $0.abilities.contains(.homeKit) } }
        case 4: air.does { $0.stop(browser: browser) }
        case 5: air.does { $0.configure(accessory, browser: browser) }
        case 6: air.does { $0.finish(.success) }
        default: air.does { $0.wiFi(isOn: Bool.random(using: &random)) }
        }
        try air.checkSums()
      }
    }
  }
}

private struct Air {
  var setup: WirelessSetup
  private(set) var told: [String] = []
  private var states: [Int: WirelessSetup.State] = [:]
  private var known: [Int: Set<UnconfiguredAccessory>] = [:]
  private var contradictions: [String] = []

  init(browsers: Int, finishesAfterStopping: Bool = false) {
    setup = WirelessSetup(finishesAfterStopping: finishesAfterStopping)
    for browser in 1...browsers { setup.add(browser: browser) }
  }

  mutating func forget() { told = [] }

  mutating func does(_ event: (inout WirelessSetup) -> [WirelessSetup.Action]) {
    for action in event(&setup) { note(action) }
  }

  private mutating func note(_ action: WirelessSetup.Action) {
    switch action {
    case .state(let browser, let state):
      if states.updateValue(state, forKey: browser) == state { contradictions.append("\(state) twice") }
      // A search begins with nothing found.
      if state == .searching { known[browser] = [] }
      told.append("\(browser) \(state)")
    case .found(let browser, let accessories):
      if !known[browser, default: []].isDisjoint(with: accessories) { contradictions.append("found twice") }
      known[browser, default: []].formUnion(accessories)
      told.append("\(browser) found \(accessories.map(\.name).joined(separator: ", "))")
    case .removed(let browser, let accessories):
      if !known[browser, default: []].isSuperset(of: accessories) { contradictions.append("removed unknown") }
      known[browser, default: []].subtract(accessories)
      told.append("\(browser) removed \(accessories.map(\.name).joined(separator: ", "))")
    case .finished(let browser, let accessory, let outcome): told.append("\(browser) \(accessory.name) \(outcome)")
    case .present(let accessory): told.append("the user sees \(accessory.name)")
    }
  }

  func checkSums() throws {
    try #require(contradictions == [])
    for (browser, accessories) in known { try #require(setup.accessories(of: browser) == accessories) }
  }
}
