import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2
import LinuxIO
import Testing

@testable import AccessorySimulator

@Suite struct SessionLifeTests {
  private let loop = VirtualLoop()

  private func rig(_ quirk: String, on loop: VirtualLoop) throws -> BehaviorRig {
    try BehaviorRig(.echo, quirks: [quirk], on: loop)
  }

  private func reply(_ ear: SessionEar) throws -> String {
    try ear.answer(to: "hello", within: .milliseconds(100))
  }

  // MARK: ends-sessions

  /// Returns the durations of several consecutive sessions. Nil stands for a session that lasts longer than a minute.
  private func lives(_ quirk: String, count: Int, seed: UInt64 = 1) throws -> [Duration?] {
    let loop = VirtualLoop(seed: seed)
    let rig = try rig(quirk, on: loop)
    return try (0..<count).map { _ in
      let ear = try rig.open()
      let beginning = loop.now
      while ear.end == nil, loop.now < beginning + .seconds(60) { try loop.advance(by: .milliseconds(100)) }
      if ear.end == nil { return nil }
      #expect(ear.end == .closedByAccessory)
      return loop.now - beginning
    }
  }

  @Test func sessionsEndThreeToSeventeenSecondsAfterTheirStartAndLaterNoMore() throws {
    let lives = try lives("ends-sessions,episode=30s", count: 12)
    let ended = lives.prefix { $0 != nil }.compactMap(\.self)
    #expect((2...10).contains(ended.count))
    #expect(ended.allSatisfy { (.seconds(3) ... .milliseconds(17_100)).contains($0) }, "\(ended)")
    #expect(Set(ended).count > 1)
    #expect(lives.dropFirst(ended.count).allSatisfy { $0 == nil })
  }

  @Test func anotherEpisodeBeginsAfterTheCalm() throws {
    let lives = try lives("ends-sessions,min=1s,max=1s,episode=3s,calm=2m", count: 10)
    #expect(lives.prefix(3).allSatisfy { $0 != nil } && lives[3] == nil && lives[4] == nil)
    #expect(lives.dropFirst(5).contains { $0 == .seconds(1) })
  }

  @Test func anEpisodeWithoutEndEndsEverySession() throws {
    let lives = try lives("ends-sessions,min=130ms,max=300ms,episode=0ms", count: 200)
    #expect(lives.allSatisfy { $0.map { (.milliseconds(130) ... .milliseconds(400)).contains($0) } == true })
  }

  @Test func theSeedOfAQuirkDecidesItsTimesWhateverTheRunIs() throws {
    let quirk = "ends-sessions,episode=0ms"
    #expect(try lives(quirk + ",seed=5", count: 6, seed: 1) == lives(quirk + ",seed=5", count: 6, seed: 2))
    #expect(try lives(quirk + ",seed=5", count: 6) != lives(quirk + ",seed=6", count: 6))
    #expect(try lives(quirk, count: 6, seed: 1) != lives(quirk, count: 6, seed: 2))
    #expect(try lives(quirk, count: 6, seed: 1) == lives(quirk, count: 6, seed: 1))
  }

  @Test func anEpisodeGoesOnWhileTheAccessoryIsReplugged() throws {
    let rig = try rig("ends-sessions,min=1s,max=1s,episode=20s", on: loop)
    _ = try rig.open()
    try rig.replug(after: .seconds(5))
    let second = try rig.open()
    try loop.advance(by: .seconds(2))
    #expect(second.end == .closedByAccessory)
    try loop.advance(by: .seconds(20))
    let third = try rig.open()
    try loop.advance(by: .seconds(60))
    #expect(third.end == nil)
    #expect(try reply(third) == "hello")
  }

  // MARK: wedges-after

  @Test func theEighthOpenInThirtySecondsWedgesItUntilAPowerCycle() throws {
    let rig = try rig("wedges-after", on: loop)
    let first = try rig.open()
    for _ in 2...7 {
      let ear = try rig.open()
      #expect(try reply(ear) == "hello")
      ear.session.close()
      try loop.advance(by: .seconds(1))
    }
    #expect(try reply(first) == "hello")
    let eighth = try rig.open()
    #expect(try reply(eighth) == "" && eighth.end == nil)
    #expect(try reply(first) == "" && first.end == nil)
    // Neither replugging quickly nor waiting makes the accessory work again.
    try rig.replug(after: .seconds(9))
    try loop.advance(by: .seconds(3_600))
    let replugged = try rig.open()
    #expect(try reply(replugged) == "" && replugged.end == nil)
    try rig.replug(after: .seconds(10))
    for _ in 1...7 { #expect(try reply(try rig.open()) == "hello") }
    #expect(
      rig.said.filter {
        if case .warning(let text) = $0 { text.hasPrefix("wedged by 8 opens within 30s") } else { false }
      }
      .count == 1)
  }

  @Test func slowOpensDoNotWedgeIt() throws {
    let rig = try rig("wedges-after,opens=3,within=10s", on: loop)
    for _ in 0..<20 {
      let ear = try rig.open()
      #expect(try reply(ear) == "hello")
      ear.session.close()
      try loop.advance(by: .seconds(5))
    }
  }

  // MARK: goes-silent

  private func seconds(_ rig: BehaviorRig) throws -> Int {
    let ear = try rig.open()
    var seconds = 0
    while seconds < 60, try reply(ear) == "hello" {
      seconds += 1
      try rig.pass(.milliseconds(900))
    }
    #expect(ear.end == nil)
    ear.session.close()
    return seconds
  }

  @Test func aRestartHelpsForAWhileAndLaterOnesForLess() throws {
    let rig = try rig("goes-silent,after=5s,restart=20s,later=2s,rest=10s", on: loop)
    #expect(try (1...4).map { _ in try seconds(rig) } == [5, 20, 2, 2])
    try rig.replug(after: .seconds(9))
    #expect(try seconds(rig) == 2)
    try rig.replug(after: .seconds(10))
    #expect(try seconds(rig) == 5)
    #expect(
      rig.said.first == .warning("session 1: sends nothing from now on because of the goes-silent quirk"))
  }

  @Test func theJitterOfItsTimesFollowsFromTheSeed() throws {
    func times(_ seed: Int) throws -> [Int] {
      let loop = VirtualLoop()
      let rig = try rig("goes-silent,after=20s,restart=20s,later=20s,jitter=10s,seed=\(seed)", on: loop)
      return try (1...5).map { _ in try seconds(rig) }
    }
    let first = try times(3)
    #expect(first.allSatisfy { (10...30).contains($0) } && Set(first).count > 1)
    #expect(try times(3) == first)
    #expect(try times(4) != first)
  }

  // MARK: phantom-session

  @Test func aSessionThatIsCutOffEndsEveryNewOneUntilItWasUnpluggedForLong() throws {
    let rig = try rig("phantom-session", on: loop)
    let first = try rig.open()
    #expect(try reply(first) == "hello")
    first.session.close()
    for _ in 1...5 {
      let ear = try rig.open()
      try loop.advance(by: .milliseconds(1_100))
      #expect(ear.end == .closedByAccessory)
      try loop.advance(by: .seconds(30))
    }
    try rig.replug(after: .seconds(29))
    let haunted = try rig.open()
    try loop.advance(by: .milliseconds(1_100))
    #expect(haunted.end == .closedByAccessory)
    try rig.replug(after: .seconds(30))
    let last = try rig.open()
    try loop.advance(by: .seconds(60))
    #expect(last.end == nil)
    #expect(try reply(last) == "hello")
  }

  @Test func aSessionThatIsQuietBeforeItsEndLeavesNoPhantom() throws {
    let rig = try rig("phantom-session,within=500ms", on: loop)
    for _ in 1...3 {
      let ear = try rig.open()
      #expect(try reply(ear) == "hello")
      try loop.advance(by: .seconds(2))
      #expect(ear.end == nil)
      ear.session.close()
      try loop.advance(by: .seconds(1))
    }
    #expect(rig.said == [])
  }

  @Test func aCableThatIsPulledInTheMiddleLeavesAPhantom() throws {
    let rig = try rig("phantom-session", on: loop)
    let ear = try rig.open()
    ear.send("hello")
    try loop.advance(by: .milliseconds(100))
    rig.world.pull(rig.accessory)
    try loop.advance(by: .seconds(2))
    try rig.accessory.plugIn()
    try loop.advance(by: .seconds(1))
    let next = try rig.open()
    try loop.advance(by: .milliseconds(1_100))
    #expect(next.end == .closedByAccessory)
    #expect(rig.endings.last == "the accessory closed it: the phantom-session quirk")
  }
}
