import AccessoryCore
import AccessorySessions
import IAP2
import Testing

@testable import AccessorySoak

/// Tests the watches that no other suite tests. Each watch must report the kind of mistake that it is meant to detect.
@Suite struct WatchTests {
  private func event(_ kind: TimelineEvent.Kind, id: Int? = nil, _ protocols: [String] = []) -> TimelineEvent {
    TimelineEvent(
      time: .origin, side: .device, kind: kind,
      subject: .init(name: "A", serial: "1", protocols: protocols, connectionID: id))
  }

  @Test func aConnectWithItsDisconnectIsNoComplaint() {
    var watch = PublicationWatch()
    #expect(watch.saw(event(.connect, id: 7)) == nil)
    #expect(watch.published == [7])
    #expect(watch.saw(event(.disconnect, id: 7)) == nil)
    #expect(watch.published == [])
  }

  @Test func aConnectionIDUsedAgainIsNoticed() {
    var watch = PublicationWatch()
    _ = watch.saw(event(.connect, id: 7))
    _ = watch.saw(event(.disconnect, id: 7))
    #expect(watch.saw(event(.connect, id: 7))?.text == "connection ID 7 was issued before")
  }

  @Test func aDisconnectWithoutItsConnectIsNoticed() {
    var watch = PublicationWatch()
    #expect(watch.saw(event(.disconnect, id: 7))?.text == "disconnect of 7, which is not connected")
  }

  @Test func aSessionOnAProtocolThatIsNotOfferedIsNoticed() {
    var watch = PublicationWatch()
    _ = watch.saw(event(.connect, id: 7))
    let opening = TimelineEvent.Kind.sessionOpen(id: 1, protocolName: "com.example.echo")
    #expect(watch.saw(event(opening, id: 7, ["com.example.echo"])) == nil)
    #expect(watch.saw(event(opening, id: 7)) != nil)
  }

  @Test func whatSomebodyStillHoldsIsALeak() {
    final class Thing {}
    var watch = LeakWatch()
    let kept = Thing()
    do {
      let gone = Thing()
      watch.watch(gone, "gone")
      watch.watch(kept, "kept", 3)
    }
    withExtendedLifetime(kept) { #expect(watch.leaks == ["kept 3"]) }
  }

  @Test func theHashKnowsOrderAndBoundaries() {
    func hash(_ parts: [[UInt8]]) -> UInt64 {
      var hash = RunningHash()
      for part in parts { hash.add(part.span.bytes) }
      return hash.value
    }
    let parts: [[[UInt8]]] = [[[1, 2], [3]], [[1], [2, 3]], [[1, 2, 3]], [[3], [1, 2]], [[0, 1, 2, 3]]]
    let all = parts.map(hash)
    #expect(Set(all).count == all.count)
    #expect(hash([[1, 2, 3]]) == hash([[1, 2, 3]]))
  }

  @Test func aSessionThatKeepsItsBytesToItselfIsAFault() {
    let plan = SoakPlan(seed: 0)
    let session = SoakAccount(accessory: 0, plan, isHostile: plan.isHostile, id: 1, number: 0, linkDowns: 0)
    session.simulator.isOpen = true
    session.device.written = 10
    session.simulator.read = 10
    #expect(session.fault(linkWentDown: false) == nil)
    session.simulator.read = 9
    #expect(session.fault(linkWentDown: false)?.text.contains("some bytes were not delivered") == true)
    session.device.end = .closedByDevice
    #expect(session.fault(linkWentDown: false)?.text.contains("but not for the accessory") == true)
    session.simulator.end = .closedByDevice
    #expect(
      session.isEcho || session.fault(linkWentDown: false)?.text.contains("earlier bytes are missing") == true)
    session.simulator.end = .notRead(bytes: 1)
    #expect(session.fault(linkWentDown: true) == nil)
  }
}
