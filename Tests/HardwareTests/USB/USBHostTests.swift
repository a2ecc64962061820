import AccessoryCore
import Glibc
import TestSupport
import Testing

@testable import AccessoryUSB

/// Tests the parts of a USB host that work without a device.
@Suite struct USBHostTests {
  var accessory = USBAccessory(
    path: "/sys/devices/usb1/1-2/1-2.4", port: "1-2.4", bus: 1, number: 7, node: "/dev/bus/usb/001/007", vendor: 0x05AC,
    product: 0x0001, serial: "S1", interface: .failure(.nearMiss("it has no endpoints")))

  @Test func anAccessoryIsAddressedByItsPort() {
    #expect("\(accessory.address)" == "usb:1-2.4")
    #expect(accessory.numbers == "05ac:0001")
  }

  @Test(arguments: [
    ("usb:", true), ("usb:05ac:0001", true), ("usb:05ac:0002", false), ("usb:serial=S1", true),
    ("usb:serial=S2", false), ("usb:1-2.4", true), ("usb:1-2", false), ("usb:2-2.4", false),
  ]) func aSelectorMeansWhatItNames(text: String, isMeant: Bool) throws {
    guard case .usb(let selector) = try Address(parsing: text) else {
      Issue.record("\(text) is no address on USB")
      return
    }
    #expect(accessory.isMeant(by: selector) == isMeant)
  }

  @Test func theRuleThatIsShippedIsTheOneThatIsNamed() throws {
    let lines = try Repository.text("Scripts/udev/70-easim.rules").split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(lines == [USBRule.text[...]])
  }

  @Test func noPermissionNamesTheNodeTheRuleAndTheCommand() {
    let text = USBHostError.noPermission(node: accessory.node).description
    #expect(text.contains("no permission to open /dev/bus/usb/001/007"))
    #expect(text.contains(#"ENV{ID_USB_INTERFACES}=="*:fff000:*""#))
    #expect(text.contains("sudo tee /etc/udev/rules.d/70-easim.rules && sudo udevadm control --reload"))
  }

  /// These errors mean that the device node is gone, or that the node no longer belongs to a device.
  @Test(arguments: [
    (ENOENT, USBHostError.gone), (ENODEV, .gone), (ENXIO, .gone), (EBUSY, .claimed),
    (EACCES, .noPermission(node: "/dev/x")), (EIO, .refused("open /dev/x", reason: "Input/output error")),
  ]) func anOpenThatFailsSaysWhatItMeans(code: Int32, error: USBHostError) {
    #expect(USBHostError(openingErrno: code, node: "/dev/x") == error)
  }
}
