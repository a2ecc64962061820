import AccessoryCore
import LinuxIO
import Testing

/// Tests the error messages that all media share.
@Suite struct TransportErrorTests {
  static func reasons(_ address: Address) -> [TransportError] {
    [
      .notAStream(address), .noMedium(address), .simulatorsOnly(address), .hostsOnly(address),
      .nobodyThere(address, "x"), .inUse(address, pid: 1), .inUse(address, pid: nil),
      .timedOut(address, after: .seconds(2)), .remoteNotAllowed(address), .notPermitted(address, "x", fix: "y"),
      .otherUser(address, "x"),
      .unusable(address, "x"), .noLink(address, "x"),
      .unfinished(address, links: 2, last: "AA00", "x"), .left(address), .failed(address, "x"),
      .system(address, SystemError("connect", code: 5)),
    ]
  }

  static let addresses = [
    "local:S1", "unix:/tmp/a.sock", "tcp:127.0.0.1:7000", "pty:/tmp/a", "serial:/dev/ttyS9", "usb:1-2",
    "usbip:127.0.0.1:3240", "gadget:dummy_udc.0",
  ]

  @Test(arguments: addresses) func everySentenceNamesItsAddressAndIsItsOwn(text: String) throws {
    let address = try Address(parsing: text)
    let reasons = Self.reasons(address)
    for reason in reasons {
      #expect(reason.description.contains(text))
      #expect(reason.address == address)
    }
    #expect(Set(reasons.map(\.description)).count == reasons.count)
  }

  /// The wording depends on the medium: no program "listens" on a serial line.
  @Test(arguments: [
    ("unix:/tmp/a.sock", "no accessory listens at unix:/tmp/a.sock: No such file or directory"),
    ("tcp:127.0.0.1:7000", "no accessory listens at tcp:127.0.0.1:7000: No such file or directory"),
    ("pty:/tmp/a", "no accessory at pty:/tmp/a: No such file or directory"),
    ("usb:1-2", "no accessory at usb:1-2: No such file or directory"),
    (
      "serial:/dev/ttyS9",
      "serial:/dev/ttyS9 cannot be opened: No such file or directory; is the adapter plugged in?"
    ),
  ]) func nobodyThereIsSaidInTheMediumsOwnWords(text: String, sentence: String) throws {
    let address = try Address(parsing: text)
    #expect(TransportError.nobodyThere(address, "No such file or directory").description == sentence)
  }

  @Test func aMediumThatIsNotLinkedSaysWhichLineToAdd() throws {
    let text = TransportError.noMedium(.usb(.any)).description
    #expect(text.contains(#".product(name: "ExternalAccessoryHardware", package: "easim")"#), "\(text)")
  }

  /// A dialer tries again if waiting can help, and gives up if it cannot.
  @Test func onlySomeReasonsMayPassByThemselves() {
    #expect(
      Self.reasons(.usb(.any)).filter { !$0.mayPass } == [
        .notAStream(.usb(.any)), .noMedium(.usb(.any)), .simulatorsOnly(.usb(.any)), .hostsOnly(.usb(.any)),
        .remoteNotAllowed(.usb(.any)), .otherUser(.usb(.any), "x"), .unusable(.usb(.any), "x"),
      ])
  }
}
