import TestSupport
import Testing

/// Tests `easim check` over USB/IP. umockdev simulates the device that libusb uses, and is connected to the accessory
/// that `easim run --on usbip:` simulates. The kernel lane runs the same test with a real kernel.
@Suite(.waits, .enabled(if: USBMock.absence == nil, "\(USBMock.absence ?? "")")) struct CheckOnUSBTests {
  /// Cases that depend on bytes rather than on timing, so a busy machine does not affect them.
  private static let cases = [
    "--only", "101,201-211,301,501-502,504-507,601,603,621-638,701-703,712,801", "--pace", "0ms", "--echo", "yes",
    "--timeout", "1m",
  ]

  private func check(_ words: String...) throws -> Program.Remains {
    let bus = try USBBusTests.Bus(["echo"] + words)
    let check = try bus.device().start(["check", "usb:"] + Self.cases).wait()
    #expect(check.err.contains(USBBusTests.nothingLeft), "\(check.err)")
    _ = try bus.interrupt()
    return check
  }

  @Test func aCleanProfileHasNoFinding() throws {
    let check = try check()
    #expect(check.ending == .exit(0), "\(check.out)\(check.err)")
    #expect(check.out.contains(" 0 failed"), "\(check.out)")
  }

  @Test(arguments: [("authentication,wrong", 506), ("session,refuse", 701)])
  func aDefectIsFound(quirk: String, number: Int) throws {
    let check = try check("--quirk", quirk)
    #expect(check.ending == .exit(1), "\(check.out)\(check.err)")
    #expect(check.out.contains("FAILED   \(number)"), "\(check.out)")
    #expect(check.out.contains(" 1 failed,"), "\(check.out)")
  }
}
