import IAP2
import Testing

/// Checks that each mistake by a peer causes an event that shows the bytes, and that correct bytes after the mistake
/// are understood.
@Suite struct BadInputTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    /// A control message sent to a device that is waiting for identification.
    let message: String
    let shown: String
    var testDescription: String { name }
  }

  static let deep: String = (0..<200).reduce("") { inner, _ in Sheet.parameter(10, inner) }

  static let cases = [
    Case(
      name: "a length that lies", message: Sheet.message(0x1D01, "000c0000 4142"),
      shown: "a parameter claims 12 bytes, but only 6 are left, at byte 0: 00 0c 00 00 41 42"),
    Case(
      name: "a length of nothing", message: Sheet.message(0x1D01, "00000000"),
      shown: "a parameter claims 0 bytes, at byte 0: 00 00 00 00"),
    Case(
      name: "a message longer than it says", message: Sheet.message(0x4E01) + "deadbeef",
      shown: "the control session carries 4 bytes that are not the beginning of a message: de ad be ef"),
    Case(
      name: "text that is not UTF-8", message: Sheet.message(0x1D01, "00070000fffe00"),
      shown: "parameter 0 is not UTF-8, at byte 0: ff fe 00"),
    Case(
      name: "groups without end", message: Sheet.message(0x1D01, deep),
      shown: "parameter 0 (protocol number) is missing, at byte 0: (nothing)"),
    Case(
      name: "a certificate message without one", message: Sheet.message(0xAA01), shown: "AA01 AuthenticationCertificate"
    ),
    Case(
      name: "a status of the wrong size", message: Sheet.message(0xEA03, "0005000001" + "0005000100"),
      shown: "EA03 StatusExternalAccessoryProtocolSession: parameter 0 has 1 bytes instead of 2, at byte 0: 01"),
    Case(
      name: "bytes that begin no message", message: "c0ffee",
      shown: "the control session carries 3 bytes that are not the beginning of a message: c0 ff ee"),
  ]

  @Test(arguments: cases)
  func theEventShowsTheBytesAndTheLinkGoesOn(_ one: Case) {
    var end = OneEnd.device {
      $0.order = .identificationFirst
      $0.rejectionLimit = 100
    }
    _ = end.told()
    end.receives(Sheet.packet(0x40, 1, 1, session: 1, one.message))
    let told = end.told()
    #expect(told.contains { Self.texts($0).contains { $0.contains(one.shown) } }, "\(told)")
    end.receives(Sheet.packet(0x40, 2, 2, session: 1, Sheet.message(0x1D01, Sheet.identification)))
    #expect(end.peer.identification == .example)
  }

  private static func texts(_ event: PeerEvent) -> [String] {
    switch event {
    case .malformed(let text): [text]
    case .identified(let judged): judged.verdict.errors.map(\.reason)
    default: []
    }
  }

  @Test func garbageOnTheChannelIsReportedWithItsBytes() {
    var end = OneEnd.device()
    _ = end.told()
    end.receives("c0ffee", Sheet.packet(0x40, 0, 1))
    let told = end.told()
    #expect(told.count == 1)
    guard case .skipped(let bytes)? = told.first else { return }
    #expect(bytes.description == "3 bytes that belong to no packet: c0 ff ee")
  }

  /// Users can specify any duration, so even the longest possible one must not cause an overflow.
  @Test func theLongestTimesThereAreAreTimes() {
    var end = OneEnd.device {
      $0.answerTimeout = Milliseconds(.max)
      $0.link.synchronizationPeriod = Milliseconds(.max)
      $0.link.detectionPeriod = Milliseconds(.max)
    }
    end.receives(Sheet.packet(0x40, 0, 1))
    #expect(end.peer.core.deadline == Instant(nanoseconds: .max))
    #expect(Instant(nanoseconds: -5) + Milliseconds(.min) == Instant(nanoseconds: .min))
    #expect(Instant(nanoseconds: 7) + 2 == Instant(nanoseconds: 2_000_007))
  }
}
