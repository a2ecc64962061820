import AccessoryCore
import IAP2
import Testing

@testable import AccessoryHost

@Suite struct ReconnectionTests {
  /// The policy, a clock, and what is there.
  struct Scene {
    var policy: Reconnection
    var now = Instant.origin
    var present: [PublishedAccessory] = []
    var log: [String] = []

    init(serial: String? = nil) { policy = Reconnection(protocolName: "com.a", serial: serial) }

    mutating func note(_ action: Reconnection.Action) {
      switch action {
      case .nothing: break
      case .connect(let accessory): log.append("\(seconds) connect \(accessory.connectionID)")
      case .giveUp(let attempts): log.append("\(seconds) give up after \(attempts)")
      }
    }

    var seconds: Int { Int(now.nanoseconds / 1_000_000_000) }

    mutating func arrive(_ accessory: PublishedAccessory) {
      present.append(accessory)
      note(policy.arrived(accessory, now: now))
    }

    mutating func leave(_ accessory: PublishedAccessory) {
      present.removeAll { $0 == accessory }
      note(policy.left(accessory, now: now))
    }

    /// Lets time pass; every attempt at a session fails.
    mutating func pass(_ duration: Duration) {
      let end = now + duration
      while let deadline = policy.deadline, deadline <= end {
        now = deadline
        note(policy.handleTimeout(present, now: now))
        note(policy.failed(now: now))
      }
      now = end
    }
  }

  func accessory(_ id: Int, serial: String = "S1", _ protocols: String...) -> PublishedAccessory {
    var identification = Identification()
    identification.serialNumber = serial
    identification.protocols = protocols.map { ExternalAccessoryProtocol(id: 1, name: $0) }
    return PublishedAccessory(
      identification, connectionID: id, offersProtocols: true, certificate: CertificateSizes())
  }

  @Test func theAccessoryIsTakenAtOnceWhenItComesAndWhenItComesBack() {
    var scene = Scene()
    let (first, second) = (accessory(7, "com.a"), accessory(8, "com.a"))
    scene.arrive(first)
    scene.policy.opened(first)
    #expect(scene.policy.serial == "S1" && scene.policy.isConnected)
    scene.leave(first)
    #expect(!scene.policy.isConnected)
    scene.pass(.milliseconds(4_000))
    scene.arrive(second)
    #expect(scene.log == ["0 connect 7", "4 connect 8"])
    scene.policy.opened(second)
    #expect(scene.policy.deadline == nil, "success ends the waiting")
  }

  @Test func withoutItAnAttemptIsMadeEveryThreeSecondsAndAtMostTen() {
    var scene = Scene()
    let first = accessory(7, "com.a")
    scene.arrive(first)
    scene.policy.opened(first)
    scene.leave(first)
    scene.pass(.seconds(29))
    #expect(scene.log == ["0 connect 7"])
    #expect(scene.policy.deadline == Instant(nanoseconds: 30_000_000_000))
    scene.pass(.seconds(1_000))
    #expect(scene.log == ["0 connect 7", "30 give up after 10"])
    #expect(scene.policy.deadline == nil)
    scene.note(scene.policy.becameActive(scene.present, now: scene.now))
    #expect(scene.log.count == 2, "given up is given up")
    scene.arrive(accessory(8, "com.a"))
    #expect(scene.log.last == "1029 connect 8", "but for an arrival")
  }

  @Test func aSessionThatFailsIsTriedAgainAndCounts() {
    var scene = Scene()
    let there = accessory(7, "com.a")
    scene.arrive(there)
    scene.note(scene.policy.failed(now: scene.now))
    scene.pass(.seconds(100))
    #expect(
      scene.log == ["0 connect 7"] + (1...10).map { "\($0 * 3) connect 7" } + ["30 give up after 10"])
  }

  @Test func aSessionThatEndsWhileTheAccessoryStaysIsOpenedAgain() {
    var scene = Scene()
    let there = accessory(7, "com.a")
    scene.arrive(there)
    scene.policy.opened(there)
    scene.policy.ended(now: scene.now)
    scene.pass(.seconds(3))
    #expect(scene.log == ["0 connect 7", "3 connect 7"])
  }

  @Test func onlyTheRememberedAccessoryIsTaken() {
    var scene = Scene(serial: "S2")
    scene.arrive(accessory(7, "com.a"))
    #expect(scene.log == [])
    scene.arrive(accessory(8, serial: "S2", "com.a"))
    #expect(scene.log == ["0 connect 8"])
    scene.policy.forget()
    #expect(scene.policy.serial == nil)
  }

  @Test func theArrivalOfAnotherAccessoryDoesNotEndTheWaiting() {
    var scene = Scene()
    let mine = accessory(7, "com.a")
    scene.arrive(mine)
    scene.policy.opened(mine)
    scene.leave(mine)
    scene.arrive(accessory(8, serial: "S2", "com.a"))
    #expect(scene.policy.deadline == Instant(nanoseconds: 3_000_000_000))
    scene.leave(accessory(8, serial: "S2", "com.a"))
    #expect(scene.policy.deadline == Instant(nanoseconds: 3_000_000_000))
  }

  @Test func anAppearanceWithoutTheProtocolIsNoArrival() {
    var scene = Scene()
    let first = accessory(7, "com.a")
    scene.arrive(first)
    scene.policy.opened(first)
    scene.leave(first)
    let empty = accessory(8)
    scene.arrive(empty)
    scene.leave(empty)
    scene.arrive(accessory(9, "com.a"))
    #expect(scene.log == ["0 connect 7", "0 connect 9"])
  }

  @Test func becomingActiveLooksAtOnce() {
    var scene = Scene(serial: "S1")
    scene.note(scene.policy.becameActive([], now: scene.now))
    #expect(scene.policy.deadline == nil, "nothing was lost, so nothing is waited for")
    scene.note(scene.policy.becameActive([accessory(7, "com.a")], now: scene.now))
    #expect(scene.log == ["0 connect 7"])
    scene.policy.opened(accessory(7, "com.a"))
    scene.note(scene.policy.becameActive([accessory(7, "com.a")], now: scene.now))
    #expect(scene.log.count == 1, "connected is connected")
    scene.leave(accessory(7, "com.a"))
    scene.pass(.seconds(1))
    scene.note(scene.policy.becameActive([accessory(8, "com.a")], now: scene.now))
    #expect(scene.log.last == "1 connect 8")
  }

  @Test func anAccessoryThatLeavesBeforeItsSessionIsOpenIsWaitedFor() {
    var scene = Scene()
    let there = accessory(7, "com.a")
    scene.arrive(there)
    scene.leave(there)
    #expect(scene.policy.deadline == Instant(nanoseconds: 3_000_000_000))
    scene.note(scene.policy.failed(now: scene.now))
    #expect(scene.log == ["0 connect 7"], "the failure of a session that nobody waits for any more is no attempt")
  }
}
