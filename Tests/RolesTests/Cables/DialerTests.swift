import AccessoryCables
import AccessoryCore
import LinuxIO
import Testing

@Suite struct DialerTests {
  @Test func everyAccessoryThatFitsGetsALineOfItsOwn() throws {
    let rig = try DialerRig(.every { $0.protocols == ["p"] })
    rig.arrive("a", protocols: ["p"])
    rig.arrive("b", protocols: ["q"])
    rig.arrive("c", protocols: ["p"])
    #expect(rig.finder.attempts == ["a", "c"])
    rig.change("b", protocols: ["p"])
    #expect(rig.finder.attempts == ["a", "c", "b"])
    #expect(rig.dialer.openLines == 3)
  }

  @Test func whereOneIsWantedTheFirstThatOpensIsTheOne() throws {
    let rig = try DialerRig(.one)
    rig.arrive("a")
    rig.arrive("b")
    rig.arrive("c")
    #expect(rig.finder.attempts == ["a"], "one at a time")
    rig.finder.answer("a", .failure(.inUse(DialerRig.address("a"), pid: 7)))
    #expect(rig.finder.attempts == ["a", "b"])
    rig.finder.answer("b", .success(rig.cable))
    try rig.pass(.seconds(10))
    #expect(rig.finder.attempts == ["a", "b"], "the others are left alone, whatever they become")
    rig.change("c")
    #expect(rig.finder.attempts == ["a", "b"])
  }

  @Test func theOneIsFollowedThroughItsAttachments() throws {
    let rig = try DialerRig(.one)
    rig.arrive("a", identity: "S1")
    rig.finder.answer("a", .success(rig.cable))
    rig.leave("a")
    rig.arrive("b", identity: "S2")
    rig.arrive("c", identity: "S1")
    #expect(rig.finder.attempts == ["a", "c"])
  }

  @Test func aReasonIsReportedOnceUntilItChanges() throws {
    let rig = try DialerRig(.every)
    let address = DialerRig.address("a")
    rig.arrive("a")
    for pid: Int32 in [7, 7, 7, 8] {
      rig.finder.answer("a", .failure(.inUse(address, pid: pid)))
      try rig.pass(.milliseconds(20))
    }
    #expect(rig.owner.reports == ["a in use by pid 7", "a in use by pid 8"])
    #expect(rig.dialer.trouble == .inUse(address, pid: 8))
    rig.finder.answer("a", .success(rig.cable))
    #expect(rig.dialer.trouble == nil)
  }

  @Test func aNearMissIsReportedAndLeftAloneUntilItChanges() throws {
    let rig = try DialerRig(.every)
    let reason = TransportError.unusable(DialerRig.address("a"), "no bulk OUT endpoint")
    rig.arrive("a", trouble: reason)
    try rig.pass(.seconds(10))
    #expect(rig.finder.attempts == [])
    #expect(rig.owner.reports == ["a no bulk OUT endpoint"])
    #expect(rig.dialer.failure == nil, "another one may come")
    rig.change("a")
    #expect(rig.finder.attempts == ["a"])
  }

  @Test func whereNoArrivalIsSeenALineThatGaveUpIsTheEnd() throws {
    let rig = try DialerRig(.one, seesArrivals: false)
    rig.arrive("a")
    #expect(rig.dialer.failure == nil)
    rig.finder.answer("a", .failure(.unusable(DialerRig.address("a"), "it is not a terminal")))
    #expect(rig.dialer.failure == .unusable(DialerRig.address("a"), "it is not a terminal"))
    #expect(rig.dialer.openLines == 0)
  }

  @Test func aCableThatEndsIsReleasedAndAskedForAgain() throws {
    let rig = try DialerRig(.every)
    rig.arrive("a")
    rig.finder.answer("a", .success(rig.cable))
    #expect(rig.released == 0)
    rig.owner.end("a", linkWasUp: false)
    #expect(rig.released == 1)
    #expect(rig.dialer.trouble == .noLink(DialerRig.address("a"), "it hung up"))
    try rig.pass(.milliseconds(39))
    #expect(rig.finder.attempts == ["a"])
    try rig.pass(.milliseconds(1))
    #expect(rig.finder.attempts == ["a", "a"])
  }

  /// Before there were pauses between attempts, an accessory that ended its links early was dialed 469 times in ten
  /// seconds.
  @Test func linksThatEndBeforeTheAccessoryIsReadyAreCountedAndPausedForLongerAndLonger() throws {
    let rig = try DialerRig(.every)
    rig.arrive("a")
    for (links, pause) in [(1, 40), (2, 80), (3, 100), (4, 100)] {
      rig.finder.answer("a", .success(rig.cable))
      rig.owner.end("a", linkWasUp: true, unfinishedAt: "AA00")
      #expect(rig.dialer.isUnfinished)
      #expect(
        rig.dialer.trouble?.detail == "it set up a link \(links == 1 ? "once" : "\(links) times") but never became "
          + "ready; the last link ended after AA00 (it hung up)")
      try rig.pass(.milliseconds(pause - 1))
      #expect(rig.finder.attempts.count == links)
      try rig.pass(.milliseconds(1))
      #expect(rig.finder.attempts.count == links + 1)
    }
    rig.finder.answer("a", .success(rig.cable))
    #expect(rig.dialer.isUnfinished, "it is not ready yet")
    rig.owner.end("a", linkWasUp: true)
    #expect(!rig.dialer.isUnfinished && rig.dialer.trouble == nil)
    try rig.pass(.milliseconds(20))
    #expect(rig.finder.attempts.count == 6, "the pause is short again")
  }

  @Test func whatLeavesIsNotAskedForAgain() throws {
    let rig = try DialerRig(.every)
    rig.arrive("a")
    rig.finder.answer("a", .failure(.inUse(DialerRig.address("a"), pid: nil)))
    rig.leave("a")
    #expect(rig.dialer.trouble == nil)
    rig.arrive("b")
    rig.leave("b")
    #expect(rig.finder.cancelled == ["b"])
    try rig.pass(.seconds(10))
    #expect(rig.finder.attempts == ["a", "b"])
  }

  /// An accessory's device file may not exist yet when the accessory is listed, and nothing may be reported once it does.
  @Test func whatSeemsGoneButIsStillListedIsAskedForAgain() throws {
    let rig = try DialerRig(.one)
    rig.arrive("a")
    rig.finder.answer("a", .failure(.left(DialerRig.address("a"))))
    #expect(rig.owner.reports == [])
    try rig.pass(.milliseconds(20))
    #expect(rig.finder.attempts == ["a", "a"])
    rig.finder.answer("a", .success(rig.cable))
    #expect(rig.dialer.trouble == nil)
  }

  @Test func aStoppedDialerKeepsItsCablesAndAsksForNothing() throws {
    let rig = try DialerRig(.every)
    rig.arrive("a")
    rig.finder.answer("a", .success(rig.cable))
    rig.arrive("b")
    rig.dialer.stop()
    #expect(rig.finder.isStopped && rig.finder.cancelled == ["b"] && rig.released == 0)
    rig.owner.end("a", linkWasUp: true)
    #expect(rig.released == 1)
    try rig.pass(.seconds(10))
    #expect(rig.finder.attempts == ["a", "b"])
  }
}

private final class DialerRig {
  let loop = VirtualLoop()
  let finder: HandFinder
  let owner = HandOwner()
  let dialer: Dialer
  private(set) var released = 0

  init(_ wanted: Dialer.Wanted, seesArrivals: Bool = true) throws {
    finder = HandFinder(seesArrivals: seesArrivals)
    dialer = Dialer(finder, for: owner, on: loop, wanted: wanted)
    try dialer.start()
  }

  static func address(_ key: String) -> Address { .local(directory: nil, serial: key) }

  var cable: OpenedCable {
    OpenedCable(Cable(main: LoopbackChannel.makePair(on: loop).left)) { [unowned self] in released += 1 }
  }

  private func accessory(
    _ key: String, identity: String?, protocols: [String]?, trouble: TransportError?
  ) -> FoundAccessory {
    var accessory = FoundAccessory(key: key, identity: identity ?? key, address: Self.address(key))
    accessory.protocols = protocols
    accessory.trouble = trouble
    return accessory
  }

  func arrive(
    _ key: String, identity: String? = nil, protocols: [String]? = nil, trouble: TransportError? = nil
  ) {
    finder.onEvent?(.arrived(accessory(key, identity: identity, protocols: protocols, trouble: trouble)))
  }

  func change(_ key: String, protocols: [String]? = nil) {
    let now = accessory(key, identity: nil, protocols: protocols, trouble: nil)
    finder.onEvent?(.changed(now, from: now))
  }

  func leave(_ key: String) {
    finder.onEvent?(.left(accessory(key, identity: nil, protocols: nil, trouble: nil), reason: "unplugged"))
  }

  func pass(_ time: Duration) throws { try loop.advance(by: time) }
}

/// A medium that lets the test decide when accessories appear, disappear and answer.
final class HandFinder: AccessoryFinder {
  let seesArrivals: Bool
  let pauses = RedialPauses(shortest: .milliseconds(20), longest: .milliseconds(100))
  private(set) var onEvent: ((AccessoryChange) -> Void)?
  private(set) var attempts: [String] = []
  private(set) var cancelled: [String] = []
  private(set) var isStopped = false
  private var pending: [String: (Result<OpenedCable, TransportError>) -> Void] = [:]

  init(seesArrivals: Bool) {
    self.seesArrivals = seesArrivals
  }

  func start(_ onEvent: @escaping (AccessoryChange) -> Void) { self.onEvent = onEvent }

  func stop() { isStopped = true }

  func connect(
    to accessory: FoundAccessory, completion: @escaping (Result<OpenedCable, TransportError>) -> Void
  ) -> any Connecting {
    attempts.append(accessory.key)
    pending[accessory.key] = completion
    return HandAttempt { [unowned self] in
      if pending.removeValue(forKey: accessory.key) != nil { cancelled.append(accessory.key) }
    }
  }

  func answer(_ key: String, _ result: Result<OpenedCable, TransportError>) {
    guard let completion = pending.removeValue(forKey: key) else {
      Issue.record("nothing was asked of \(key)")
      return
    }
    completion(result)
  }
}

final class HandAttempt: Connecting {
  private let give: () -> Void

  init(_ give: @escaping () -> Void) {
    self.give = give
  }

  func cancel() { give() }
}

private final class HandOwner: CableOwner {
  private var endings: [String: (CableOutcome) -> Void] = [:]
  private(set) var reports: [String] = []

  func take(_ cable: Cable, of accessory: FoundAccessory, ended: @escaping (CableOutcome) -> Void) {
    endings[accessory.key] = ended
  }

  func handle(_ report: DialerReport) {
    switch report {
    case .trouble(let reason, let accessory): reports.append("\(accessory.key) \(reason.detail)")
    case .droppedBytes(let count, let accessory): reports.append("\(accessory.key) \(count)")
    case .warning(let text): reports.append(text)
    }
  }

  func end(_ key: String, linkWasUp: Bool, unfinishedAt: String? = nil) {
    endings.removeValue(forKey: key)?(
      CableOutcome(reason: "it hung up", linkWasUp: linkWasUp, unfinishedAt: unfinishedAt))
  }
}
