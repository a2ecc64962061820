import Glibc
import Testing

@testable import AccessoryUSB

@Suite struct GadgetFolderTests {
  let tree = GadgetTree()
  let shape = USBAccessoryShape(manufacturer: "Lawaken", name: "Glasses", serial: "A1")

  @Test func theLayoutIsWhatTheKernelWantsInItsOrder() {
    #expect(
      GadgetLayout(shape, instance: "easim-7-1").steps == [
        .file("idVendor", "0x1209"), .file("idProduct", "0x0001"), .file("bcdDevice", "0x0100"),
        .file("bcdUSB", "0x0200"), .newerFile("max_speed", "high-speed"), .folder("strings/0x409"),
        .file("strings/0x409/manufacturer", "Lawaken"), .file("strings/0x409/product", "Glasses"),
        .file("strings/0x409/serialnumber", "A1"), .folder("configs/c.1"), .file("configs/c.1/bmAttributes", "0xc0"),
        .file("configs/c.1/MaxPower", "100"), .folder("functions/ffs.easim-7-1"),
        .link("configs/c.1/ffs.easim-7-1", to: "functions/ffs.easim-7-1"),
      ])
  }

  @Test func aFullSpeedAccessoryIsHeldAtFullSpeed() {
    var slow = shape
    slow.speed = .full
    #expect(GadgetLayout(slow, instance: "x").steps.contains(.newerFile("max_speed", "full-speed")))
  }

  @Test func aStringIsCutAtItsLongestWithoutTearingACharacter() {
    var long = shape
    long.name = String(repeating: "李", count: 43)
    long.serial = "two\nlines"
    let steps = GadgetLayout(long, instance: "x").steps
    #expect(steps.contains(.file("strings/0x409/product", String(repeating: "李", count: 42))))
    #expect(steps.contains(.file("strings/0x409/serialnumber", "twolines")))
    #expect(GadgetLayout.tooLong(long) == [long.name])
    #expect(GadgetLayout.tooLong(shape) == [])
  }

  /// Returns the folders that configfs creates along with a gadget. The test must create these folders itself, because
  /// it does not use configfs but an ordinary folder.
  func make(_ layout: GadgetLayout) throws {
    let steps: [GadgetLayout.Step] = ["strings", "configs", "functions"].map { .folder($0) } + layout.steps
    try tree.gadget("g").make(
      GadgetLayout(
        steps: steps.filter { step in
          // Writing to a file does not create it. In configfs, the kernel creates these files.
          if case .file = step { false } else { true }
        }))
  }

  @Test func aGadgetIsMadeBoundTakenAndRemoved() throws {
    // As with an older kernel, there is no file max_speed.
    try make(GadgetLayout(shape, instance: "x"))
    tree.write("\n", to: "config/usb_gadget/g/UDC")
    let gadget = tree.gadget("g")
    #expect(tree.has("config/usb_gadget/g/configs/c.1/ffs.x"))
    #expect(gadget.controller == nil)
    #expect(gadget.bind(to: "dummy_udc.0") == 0)
    #expect(gadget.controller == "dummy_udc.0")
    #expect(gadget.remove())
    #expect(!tree.has("config/usb_gadget/g"))
  }

  @Test func whatCannotBeMadeWholeIsNotLeftInPieces() throws {
    let layout = GadgetLayout(steps: [.folder("configs"), .file("idVendor", "0x1209")])
    #expect(throws: GadgetError.refused("write '0x1209' to \(tree.path)/config/usb_gadget/g/idVendor", code: ENOENT)) {
      try tree.gadget("g").make(layout)
    }
    #expect(!tree.has("config/usb_gadget/g"))
  }

  @Test func aMissingFunctionFSIsNamedWithItsModule() {
    // Without the functions folder, mkdir fails just as it does if the kernel finds no module.
    let error = #expect(throws: GadgetError.self) {
      try tree.gadget("g").make(GadgetLayout(steps: [.folder("functions/ffs.x")]))
    }
    #expect(error == .noFunctionFS)
    #expect(error?.description == "this kernel has no FunctionFS: \(KernelModule.functionFS.remedy)")
    #expect(!tree.has("config/usb_gadget/g"))
  }
}
