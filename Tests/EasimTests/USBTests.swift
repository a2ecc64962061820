import Glibc
import TestSupport
import Testing

/// Tests `usb:` addresses as users type them. The real libusb and libudev see a device that umockdev simulates. The
/// simulated device's endpoints are connected to `easim run`.
@Suite(.waits, .enabled(if: USBMock.absence == nil, "\(USBMock.absence ?? "")")) struct USBTests {
  let place = TemporaryFolder()

  // MARK: Descriptors

  static let iAP: [UInt8] = [0xFF, 0xF0, 0x00]
  static let keyboard = USBMock.interface(0, [0x03, 0x01, 0x01], [[0x07, 0x05, 0x83, 0x03, 0x08, 0x00, 0x0A]])
  static let pair = [USBMock.bulkIn, USBMock.bulkOut]

  static func shape(_ interfaces: [UInt8]...) -> [UInt8] {
    USBMock.device + USBMock.configuration(1, interfaces)
  }

  /// Accessories whose descriptors are structured differently.
  static let accessories: [(name: String, descriptors: [UInt8])] = [
    ("high speed", USBMock.plain),
    ("a keyboard beside it", shape(keyboard, USBMock.interface(1, iAP, pair))),
    ("in an alternate setting", shape(USBMock.interface(0, iAP), USBMock.interface(0, alternate: 1, iAP, pair))),
    (
      "in another configuration",
      USBMock.device + USBMock.configuration(1, [keyboard])
        + USBMock.configuration(2, [USBMock.interface(0, iAP, pair)])
    ),
  ]

  @Test(arguments: accessories) func everyShapeOfAccessoryIsListedAndIdentifiesItself(
    name: String, descriptors: [UInt8]
  ) throws {
    let list = try USBMock(descriptors: descriptors).run("list", "usb:")
    #expect(list.ending == .exit(0), "\(name): \(list.err)")
    #expect(list.out == "usb:1-2  Mock Accessory  Mock Works  1209:0001  MOCK-1  iAP2\n", "\(name)")
    let accessory = try Accessory(on: .unix, in: place)
    let info = try USBMock(descriptors: descriptors, options: ["--socket", place.file("glasses.sock")])
      .run("info", "usb:1209:0001")
    #expect(info.ending == .exit(0), "\(name): \(info.err)")
    #expect(info.out.contains("serialNumber: 040025380108A000608"))
    try accessory.interrupt()
  }

  /// Devices that narrowly fail to qualify as accessories, and the reasons that easim reports.
  static let nearMisses: [(descriptors: [UInt8], reason: String)] = [
    (shape(USBMock.interface(0, iAP, [USBMock.bulkIn])), "(interface 0 is FF/F0/00 and has no bulk OUT endpoint)"),
    (
      Array(USBMock.plain.dropLast(7)),
      "(its descriptors cannot be read: byte 18: the configuration claims 32 bytes, but only 25 follow)"
    ),
  ]

  @Test(arguments: nearMisses) func aNearMissIsListedWithItsReason(descriptors: [UInt8], reason: String) throws {
    let list = try USBMock(descriptors: descriptors).run("list", "usb:")
    #expect(list.ending == .exit(3))
    #expect(list.out.hasSuffix("  \(reason)\n"), "\(list.out)")
    let info = try USBMock(descriptors: descriptors).run("info", "usb:", "--timeout", "1s")
    #expect(info.ending == .exit(3))
    #expect(info.err.contains(reason.dropFirst().dropLast()), "\(info.err)")
  }

  /// Possible answers of a device that is asked for the name of a native transport: nothing, too little, a different
  /// kind of descriptor, half a character, more than was requested, or a wrong length.
  static let names: [[UInt8]] = [
    [], [0x04], [0x02, 0x03], [0x04, 0x02, 0x61, 0x00], [0x03, 0x03, 0x61], [0x04, 0x03, 0x00, 0xD8],
    [0xFF, 0x03] + [UInt8](repeating: 0x61, count: 1_000), [0xFF, 0x03, 0x61, 0x00], [0x00, 0x03, 0x61, 0x00],
  ]

  @Test(arguments: names) func aStringThatLiesHarmsNobody(answer: [UInt8]) throws {
    let accessory = try Accessory(on: .unix, in: place)
    let hex = answer.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let device = USBMock(
      descriptors: USBBusTests.camera, options: ["--socket", place.file("glasses.sock"), "--string", hex])
    let info = try device.run("info", "usb:")
    #expect(info.ending == .exit(0), "\(info.err)")
    try accessory.interrupt()
  }

  @Test func anAccessoryWithoutStringsIsCalledByItsNumbers() throws {
    let list = try USBMock(options: ["--no-strings"]).run("list", "usb:")
    #expect(list.ending == .exit(0), "\(list.err)")
    #expect(list.out.hasPrefix("usb:1-2  USB device 1209:0001  "), "\(list.out)")
  }

  @Test func aStringWithoutEndIsNoMoreThanALongLine() throws {
    let serial = String(repeating: "9", count: 3_000)
    let list = try USBMock(options: ["--serial", serial]).run("list", "usb:")
    #expect(list.ending == .exit(0), "\(list.err)")
    #expect(list.out.split(separator: "\n").count == 1)
  }

  /// The serial number, written in the mock's format, contains a line break and an escape sequence that turns a
  /// terminal's text red.
  @Test func aStringIsOneLineAndGivesNoOrdersToATerminal() throws {
    let list = try USBMock(options: ["--serial", #"A\nB\033[31mC"#]).run("list", "usb:")
    #expect(list.out == "usb:1-2  Mock Accessory  Mock Works  1209:0001  A\u{FFFD}B\u{FFFD}[31mC  iAP2\n")
  }

  @Test func whatIsNoAccessoryIsNotListed() throws {
    let list = try USBMock(descriptors: Self.shape(Self.keyboard)).run("list", "usb:")
    #expect(list.ending == .exit(3))
    #expect(list.out == "")
    #expect(list.err.contains("No Accessories Connected (looked at USB)"))
  }

  @Test(arguments: [
    ("usb:1-2", 0), ("usb:serial=MOCK-1", 0), ("usb:1209:0001", 0), ("usb:1-3", 3), ("usb:serial=X", 3),
  ]) func anAddressMeansTheDeviceItNames(address: String, code: Int32) throws {
    #expect(try USBMock().run("list", address).ending == .exit(code))
  }

  // MARK: Coming and going

  @Test(arguments: [[], ["--twice"]]) func anArrivalIsToldOnceAndSoIsAnUnplugging(announced: [String]) throws {
    let watch = try USBMock(options: announced + ["--plug-after", "50", "--unplug-after", "200"])
      .run("watch", "usb:", "--json", until: "\"event\":\"detach\"")
    let events = try EventLines(watch.out)
    #expect(events.names == ["attach", "detach"])
    #expect(events.events.first?["on"]?.text == "usb:1-2")
  }

  @Test func anAccessoryThatVanishesWhileItIsOpenedIsAsIfItHadNeverBeen() throws {
    let info = try USBMock(options: ["--vanish"]).run("info", "usb:", "--timeout", "500ms")
    #expect(info.ending == .exit(3), "\(info.out)\(info.err)")
  }

  /// Unplugging counts as a normal disconnect in every phase: detection, negotiation, authentication and sessions.
  @Test(arguments: [1, 7, 30, 100, 400, 900, 3_000, 9_900]) func unplugAtAnyMomentIsAnUnplug(bytes: Int) throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try mock("--unplug-at", "\(bytes)", "--report")
      .run("send", "usb:", "--10k", "--expect", "echo", "--timeout", "1s")
    #expect([.exit(3), .exit(5)].contains(send.ending), "\(send.ending)\n\(send.err)")
    #expect((send.out + send.err).contains("the accessory was unplugged"), "\(send.err)")
    #expect(send.err.contains("left: 0 transfers, 0 claims"), "\(send.err)")
    try accessory.interrupt()
  }

  // MARK: Transfers

  /// Each device behaves in its own way, which determines how the command ends and what it reports.
  @Test(arguments: [
    (["--plug-after", "100"], 0, "EADemo's pattern came back"),
    (["--report"], 0, "usb_mock: 4 reads at once; left: 0 transfers, 0 claims"),
    (["--driver"], 0, "usb_mock: the kernel's driver has it again"),
    (["--stale", "40000"], 0, "dropped 40000 bytes of an earlier session from usb:1-2"),
    (["--fail", "in:\(EPROTO):3000:1000"], 5, "a transfer failed on the wire, 5 times in a row"),
    (["--fail", "out:\(EPROTO):3000:1000"], 5, "a transfer failed on the wire, 5 times in a row"),
  ]) func whatADeviceDoesIsDealtWithAndTold(options: [String], code: Int32, text: String) throws {
    let accessory = try Accessory(on: .unix, in: place)
    let device = USBMock(options: ["--socket", place.file("glasses.sock")] + options)
    let send = try device.run("send", "usb:", "--10k", "--expect", "echo")
    #expect(send.ending == .exit(code), "\(send.err)")
    #expect((send.out + send.err).contains(text), "\(send.out)\(send.err)")
    try accessory.interrupt()
  }

  /// A single transfer fails with the kernel's error code for a stall, an error on the wire, or babble. The bytes that
  /// have already been transferred count. No byte is lost or repeated.
  @Test(
    arguments: ["in", "out"],
    [(EPIPE, 100), (EPROTO, 100), (EOVERFLOW, 100), (EPIPE, 0), (EILSEQ, 0), (ETIME, 0), (EOVERFLOW, 0)])
  func aTransferThatFailsLosesNothing(direction: String, failure: (code: Int32, part: Int)) throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try mock("--fail", "\(direction):\(failure.code):3000", "--part", "\(failure.part)")
      .run("send", "usb:", "--10k", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.err)")
    #expect((send.out + send.err).contains("10000 bytes sent, EADemo's pattern came back"))
    try accessory.interrupt()
  }

  /// The accessory splits its packets into several transfers, with empty transfers between them.
  @Test(arguments: [("7", bytes: "1000"), ("512", bytes: "10000")])
  func howAnAccessoryCutsItsTransfersDoesNotMatter(size: String, bytes: String) throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try mock("--split", size).run("send", "usb:", "--size", bytes, "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.err)")
    try accessory.interrupt()
  }

  @Test func aClaimByAnotherProgramIsTheReason() throws {
    let info = try USBMock(options: ["--claimed"]).run("info", "usb:", "--timeout", "1s")
    #expect(info.ending == .exit(3))
    #expect(info.err.contains("usb:1-2 is in use by another process"), "\(info.err)")
    let list = try USBMock(options: ["--claimed"]).run("list", "usb:")
    #expect(list.out.contains("(in use by another process)"), "\(list)")
  }

  @Test func theDoctorCountsWhatCanBeUsed() throws {
    #expect(try USBMock().run("doctor").out.contains(", 1 accessory\n"))
    #expect(try USBMock(options: ["--claimed"]).run("doctor").out.contains(", 0 accessories\n"))
  }

  /// Root may open every device, so the test switches to another user.
  @Test(.enabled(if: getuid() == 0, "only root can become somebody else"))
  func aDeviceThatMayNotBeOpenedIsToldWithTheRule() throws {
    let mine = place.file("easim")
    _ = try Program(path: "/bin/cp", [BuiltProducts.easim, mine]).wait()
    let device = USBMock(options: ["--forbidden"])
    let somebody = ["setpriv", "--reuid=65534", "--clear-groups", mine]
    let list = try device.start(program: somebody + ["list", "usb:"]).wait()
    #expect(list.ending == .exit(3))
    #expect(list.out.contains("(no permission to open /dev/bus/usb/001/005)"))
    #expect(list.err.contains("sudo tee /etc/udev/rules.d/70-easim.rules"), "\(list.err)")
    let doctor = try device.start(program: somebody + ["doctor"]).wait()
    #expect(
      doctor.out.contains("found Mock Accessory, but opening /dev/bus/usb/001/005 is not permitted"), "\(doctor.out)")
  }

  // MARK: Apps

  @Test func anUnchangedProgramMeetsAnAccessoryOnUSB() throws {
    let accessory = try Accessory(on: .unix, in: place)
    // The program exits during a notification, while its accessory is connected and its session is open. Nothing leaks.
    let program = [
      "env", "EASIM_LOCAL=\(place.path)", "EASIM_ENDPOINTS=usb:", "ASAN_OPTIONS=detect_leaks=0",
      BuiltProducts.program("EADemoClient"), "com.lawaken.iap2", "10k",
    ]
    let demo = try mock().start(program: program).wait()
    #expect(demo.ending == .exit(0), "\(demo.err)")
    #expect(demo.out.contains("connected: 李未可 View AI眼镜 [\"com.lawaken.iap2\"]"), "\(demo.out)")
    #expect(demo.out.contains("10000 bytes came back unchanged"), "\(demo.out)")
    try accessory.interrupt()
  }

  /// A program prints on standard error why it cannot use an accessory on USB.
  @Test func aProgramIsToldWhyAnAccessoryOnUSBIsNotItsOwn() throws {
    let program = [
      "env", "EASIM_LOCAL=\(place.path)", "EASIM_ENDPOINTS=usb:", BuiltProducts.program("EADemoClient"),
      "com.lawaken.iap2", "10k",
    ]
    let demo = try USBMock(options: ["--claimed"]).start(program: program)
    try demo.line("No Accessories Connected")
    demo.send(SIGTERM)
    let remains = try demo.wait()
    #expect(remains.err.contains("ExternalAccessory: usb:1-2 is in use by another process"), "\(remains.err)")
  }

  private func mock(_ options: String...) -> USBMock {
    USBMock(options: ["--socket", place.file("glasses.sock")] + options)
  }
}
