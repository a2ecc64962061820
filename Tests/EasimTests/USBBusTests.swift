import Glibc
import TestSupport
import Testing

/// Tests easim at both ends of a USB cable. The host's libusb uses a device that umockdev simulates. umockdev is
/// connected to the USB/IP server of `easim run`, and takes the place of a kernel's virtual host controller. The kernel
/// lane runs the same tests with a real kernel.
@Suite(.waits, .enabled(if: USBMock.absence == nil, "\(USBMock.absence ?? "")")) struct USBBusTests {
  let place = TemporaryFolder()

  static let frames = "com.example.camera.frames"
  static let native: [UInt8] = [0xFF, 0xF0, 0x01]
  static let sidePair: [[UInt8]] = [[7, 5, 0x83, 2, 0x00, 0x02, 0], [7, 5, 0x03, 2, 0x00, 0x02, 0]]

  /// The camera has an iAP2 interface and an interface for frames. String 5 is the name of the interface for frames.
  static let camera = cameraNamed(5)

  static func cameraNamed(_ name: UInt8, _ more: [UInt8]...) -> [UInt8] {
    USBMock.device
      + USBMock.configuration(
        1,
        [
          USBMock.interface(0, [0xFF, 0xF0, 0x00], USBTests.pair), USBMock.interface(1, native, name: name),
          USBMock.interface(1, alternate: 1, native, sidePair, name: name),
        ] + more)
  }

  final class Bus {
    let program: Program
    private let port: String

    convenience init(_ words: String...) throws { try self.init(words) }

    init(_ words: [String]) throws {
      program = try Program(["run"] + words + ["--on", "usbip:127.0.0.1:0"])
      let line = try program.line("plugged in at usbip:127.0.0.1:")
      port = String(line.split(separator: ":")[2].prefix { $0.isNumber })
    }

    func device(_ descriptors: [UInt8] = USBMock.plain) -> USBMock {
      USBMock(descriptors: descriptors, options: ["--usbip", port, "--report"])
    }

    func interrupt() throws -> Program.Remains {
      program.send(SIGINT)
      return try program.wait()
    }
  }

  static let nothingLeft = "left: 0 transfers, 0 claims"

  // MARK: Native transport

  @Test func aSessionOfNativeTransportGoesOverItsOwnEndpoints() throws {
    let bus = try Bus("camera")
    let send = try bus.device(Self.camera)
      .run("send", "usb:", "--protocol", Self.frames, "--10k", "--expect", "echo", "--transcript", place.file("wire"))
    #expect(send.ending == .exit(0), "\(send.err)")
    #expect((send.out + send.err).contains("10000 bytes sent, EADemo's pattern came back"))
    #expect(send.err.contains(Self.nothingLeft), "\(send.err)")
    let wire = String(decoding: try #require(place.bytes("wire")), as: UTF8.self)
    #expect(wire.contains("D SIDE \(Self.frames) 10000 bytes"), "\(wire)")
    #expect(!wire.contains("session=1 EA00"), "the link was asked for it: \(wire)")
    #expect(try bus.interrupt().err.contains("1 session was served, 20000 bytes in all"))
  }

  @Test func besideItTheLinkCarriesTheOtherProtocol() throws {
    let bus = try Bus("camera")
    let send = try bus.device(Self.camera)
      .run("send", "usb:", "--protocol", "com.example.camera.control", "--10k", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.err)")
  }

  /// The user opens, closes and reopens a session. Each time, the host selects the alternate setting.
  @Test func theConsoleOpensAndClosesSessionsOfNativeTransport() throws {
    let bus = try Bus("camera")
    let script =
      "open \(Self.frames)\nstring hello\nwait 5\n10k\nwait 10005\nclose\nopen \(Self.frames)\nstring x\nwait 1\nquit\n"
    place.write(Array(script.utf8), to: "lines")
    let shell = ["sh", "-c", "exec \(BuiltProducts.easim) console usb: <\(place.file("lines"))"]
    let console = try bus.device(Self.camera).start(program: shell).wait()
    #expect(console.ending == .exit(0), "\(console.err)")
    #expect(
      console.outLines.dropFirst() == [
        "session open on \(Self.frames)", "sent 5 bytes", "sent 5 bytes, received 5 bytes", "sent 10000 bytes",
        "✓ 10,000 bytes came back as sent", "sent 10005 bytes, received 10005 bytes",
        "session on \(Self.frames) ended: the device closed it; sent 10005 bytes, received 10005 bytes",
        "session 2 open on \(Self.frames)", "sent 1 byte", "sent 1 byte, received 1 byte",
        "session 2 on \(Self.frames) ended: the device closed it; sent 1 byte, received 1 byte",
      ])
    #expect(console.err.contains(Self.nothingLeft), "\(console.err)")
  }

  @Test func anAccessoryThatClosesASessionOfNativeTransportIsHeard() throws {
    let bus = try Bus("camera", "--quirk", "session,close,delay=50ms")
    let burst = try bus.device(Self.camera).run("burst", "usb:", "--protocol", Self.frames, "--for", "30s")
    #expect(burst.ending != .exit(0))
    #expect((burst.out + burst.err).contains("the accessory closed it"), "\(burst.out)\(burst.err)")
  }

  @Test func unplugInASessionOfNativeTransportIsExitCodeFive() throws {
    let bus = try Bus("camera")
    let burst = try bus.device(Self.camera).start(["burst", "usb:", "--protocol", Self.frames, "--for", "60s"])
    try bus.program.line("session 0 open on \(Self.frames)")
    bus.program.send(SIGKILL)
    let remains = try burst.wait()
    #expect(remains.ending == .exit(5), "\(remains.out)\(remains.err)")
    #expect(remains.err.contains(Self.nothingLeft), "\(remains.err)")
  }

  @Test func ctrlCInASessionOfNativeTransportGivesEverythingBack() throws {
    let bus = try Bus("camera")
    let program = [
      "sh", "-c", "\(BuiltProducts.easim) burst usb: --protocol \(Self.frames) --for 60s & echo pid $!; wait $!",
    ]
    let burst = try bus.device(Self.camera).start(program: program)
    let pid = try #require(Int32(try burst.line("pid ").dropFirst(4)))
    try bus.program.line("session 0 open on \(Self.frames)")
    kill(pid, SIGINT)
    let remains = try burst.wait()
    #expect(remains.out.contains("stopped by Ctrl-C"), "\(remains.out)\(remains.err)")
    #expect(remains.err.contains(Self.nothingLeft), "\(remains.err)")
    try bus.program.line("session 0 ended")
  }

  /// Neither of these native-transport interfaces is named after a protocol. The second interface refers to string 9,
  /// which does not exist.
  @Test func anInterfaceWithoutTheProtocolsNameIsNoneOfIts() throws {
    let other = [
      USBMock.interface(2, Self.native, name: 9),
      USBMock.interface(
        2, alternate: 1, Self.native, [[7, 5, 0x84, 2, 0x00, 0x02, 0], [7, 5, 0x04, 2, 0x00, 0x02, 0]], name: 9),
    ]
    let bus = try Bus("camera")
    let words = ["send", "usb:", "--protocol", Self.frames, "--10k", "--expect", "echo", "--timeout", "2s"]
    let named = try bus.device(Self.cameraNamed(5, other[0], other[1])).start(words).wait()
    #expect(named.ending == .exit(0), "\(named.err)")
    let nameless = try bus.device(Self.cameraNamed(0, other[0], other[1])).start(words).wait()
    #expect(nameless.ending != .exit(0))
    let told = nameless.out + nameless.err
    #expect(told.contains("no interface FF/F0/01 of that name with a pair of bulk endpoints"), "\(told)")
  }

  @Test func theOnlyInterfaceOfNativeTransportNeedsNoName() throws {
    let bus = try Bus("camera")
    let send = try bus.device(Self.cameraNamed(0))
      .run("send", "usb:", "--protocol", Self.frames, "--10k", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.err)")
  }

  // MARK: Profiles, quirks, faults, scenarios

  @Test func theFlickerIsAnUnplugAndAReplug() throws {
    let bus = try Bus("lawk-view", "--quirk", "flicker,empty=20ms,gap=20ms")
    let send = try bus.device().run("send", "usb:", "--10k", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.err)")
    let told = send.out + send.err
    #expect(told.contains("[no protocols]") && told.contains("the accessory was unplugged"), "\(told)")
  }

  @Test func faultsAtBothEndsAreGotOver() throws {
    let bus = try Bus("echo", "--fault", "split,size=100")
    let burst = try bus.device().run("burst", "usb:", "--count", "3", "--fault", "latency,delay=5ms")
    #expect(burst.ending == .exit(0), "\(burst.err)")
    #expect(burst.out.contains("3 bursts of 10,000 bytes, echo verified byte for byte"), "\(burst.out)")
  }

  /// These cases depend on bytes rather than on timing, so a busy machine does not affect them.
  @Test(arguments: [[], ["--quirk", "session,refuse"]]) func aCheckFindsWhatIsWrong(quirk: [String]) throws {
    let bus = try Bus(["echo"] + quirk)
    let cases = ["--only", "101,201-211,301,501-502,504-507,601,603,621-638,701-703,712,801"]
    let words = ["check", "usb:", "--pace", "0ms", "--echo", "yes", "--timeout", "1m"] + cases
    let check = try bus.device().start(words).wait()
    #expect(check.err.contains(Self.nothingLeft), "\(check.err)")
    #expect(check.ending == .exit(quirk.isEmpty ? 0 : 1), "\(check.out)\(check.err)")
    #expect(check.out.contains(quirk.isEmpty ? " 0 failed" : "FAILED   701"), "\(check.out)")
  }

  /// Plays scenarios that begin immediately and take a few seconds, all of them at the same time. Like the tests on
  /// sockets, this test does not run under a sanitizer.
  @Test(.enabled(if: Sanitizer.used == nil)) func scenariosArePlayedByTwoProcesses() throws {
    let names = ["flicker", "pulled-in-the-open-delay", "session-closed-by-the-accessory", "stale-bytes"]
    let pairs = try names.map { name in
      let bus = try Bus("--scenario", name)
      return (name, bus, try bus.device().start(["scenario", "run", name, "--at", "usb:", "--timeout", "60s"]))
    }
    for (name, bus, device) in pairs {
      let device = try device.wait()
      #expect(device.ending == .exit(0), "\(name)\n\(device.out)\(device.err)")
      let accessory = try bus.program.wait()
      #expect(accessory.ending == .exit(0), "\(name)\n\(accessory.out)\(accessory.err)")
      #expect(accessory.err.contains("\(name) was played completely"), "\(accessory.err)")
    }
  }
}
