import Testing

@testable import IAP2

/// Tests, in virtual time, what is reported about a line that is blocked or that damages bytes.
@Suite struct LineWatchTests {
  private func watch(_ states: [LineState]) -> [String] {
    var watch = LineWatch()
    return states.enumerated().flatMap { second, state in
      watch.look(at: state, now: .milliseconds(Int64(second * 1_000))).map { "\(second) \($0)" }
    }
  }

  private func state(_ change: (inout LineState) -> Void) -> LineState {
    var state = LineState()
    change(&state)
    return state
  }

  @Test func aSlowStepIsReportedOnceAfterFiveSeconds() {
    let slow = state { $0.awaited = "signature (AA03)" }
    #expect(
      watch([LineState()] + Array(repeating: slow, count: 20))
        == ["6 waiting for the accessory's signature (AA03) for 5 s"])
    #expect(watch(Array(repeating: slow, count: 5) + [LineState()] + Array(repeating: slow, count: 5)).isEmpty)
  }

  @Test func bytesThatAreNotAcknowledgedAreCounted() {
    let stuck = state { ($0.unacknowledgedBytes, $0.oldestUnacknowledged) = (312, 0x44) }
    #expect(watch(Array(repeating: stuck, count: 9)) == ["5 312 bytes sent, but none acknowledged for 5 s"])
    let moving = (0..<20).map { number in
      state { ($0.unacknowledgedBytes, $0.oldestUnacknowledged) = (312, UInt8(number / 4)) }
    }
    #expect(watch(moving).isEmpty)
  }

  @Test func aHeaderThatHoldsUpEverythingIsNamed() {
    let held = (0..<8).map { number in
      state { ($0.announcedLength, $0.arrivedOfPacket) = (65_535, 100 * number) }
    }
    #expect(
      watch(held) == [
        "5 a header announces a packet of 65535 bytes, of which only 500 arrived in 5 s; all later bytes wait for the "
          + "rest"
      ])
  }

  @Test func onlyZerosPointToTheSpeed() {
    let zeros = state { $0.paddingBytes = 40 }
    #expect(
      watch(Array(repeating: zeros, count: 7))
        == ["5 only zeros arrive (40 so far): the line's speed may be wrong, or its wires are swapped"])
    let linked = state { ($0.paddingBytes, $0.counters.packetsReceived) = (40, 1) }
    #expect(watch(Array(repeating: linked, count: 7)).isEmpty)
  }

  @Test func damageIsReportedWhenItGrowsEveryTenSeconds() {
    let states = (0..<25).map { second in
      state { ($0.counters.spoiled, $0.counters.retransmissions) = (min(second, 3), second == 24 ? 1 : 0) }
    }
    #expect(
      watch(states) == [
        "1 the line so far: 1 packet with wrong checksums", "11 the line so far: 3 packets with wrong checksums",
        "24 the line so far: 3 packets with wrong checksums, 1 packet sent again",
      ])
    var watch = LineWatch()
    #expect(watch.finish(LineState()) == [])
    #expect(watch.finish(states[24]) == ["the line so far: 3 packets with wrong checksums, 1 packet sent again"])
    #expect(watch.finish(states[24]) == [])
  }

  @Test func aLineWithoutTroubleAndNewDamageIsIdle() {
    var watch = LineWatch()
    func isIdle(_ state: LineState, after seconds: Int) -> Bool {
      _ = watch.look(at: state, now: .origin + .seconds(seconds))
      return watch.isIdle
    }
    #expect(isIdle(LineState(), after: 0))
    #expect(!isIdle(state { $0.awaited = "signature (AA03)" }, after: 1))
    #expect(isIdle(state { $0.counters.spoiled = 1 }, after: 2), "reported at once")
    #expect(!isIdle(state { $0.counters.spoiled = 2 }, after: 3), "to be reported later")
    #expect(isIdle(state { $0.counters.spoiled = 2 }, after: 12))
  }

  @Test func zerosAreReportedAtTheEndAtTheLatest() {
    var watch = LineWatch()
    let zeros = state { $0.paddingBytes = 3 }
    #expect(watch.look(at: zeros, now: .origin) == [])
    #expect(
      watch.finish(zeros) == ["only zeros arrive (3 so far): the line's speed may be wrong, or its wires are swapped"])
  }

  @Test func zerosAreCountedHoweverTheyAreSplit() {
    var scanner = PacketScanner()
    for piece: [UInt8] in [[0, 0, 0], [0], [1, 0, 0, 0xFF], [0x55, 0, 0, 0]] {
      scanner.forEach(in: piece.span.bytes) { _, _ in }
    }
    #expect(scanner.paddingBytes == 4)
    #expect(scanner.finish()?.count == 8)
  }

  @Test func aDevicesStateNamesWhatIsDue() {
    var end = OneEnd.listening()
    let before = end.peer.lineState
    #expect(before.awaited == "detection sequence (FF 55 02 00 EE 10)")
    end.receives("00000000")
    #expect(end.peer.lineState.paddingBytes == 4)
  }
}
