import LinuxIO
import TestSupport
import Testing

@testable import AccessoryUSB

/// Tests what a machine needs to act as a USB device, how easim reports missing parts and their fixes, and how easim
/// removes what killed processes left behind.
@Suite struct GadgetSystemTests {
  // MARK: Controllers

  @Test func theOnlyControllerNeedsNoName() throws {
    let tree = GadgetTree(controllers: ["fe980000.usb"])
    #expect(try tree.system.controller(nil) == "fe980000.usb")
    #expect(try tree.system.controller("fe980000.usb") == "fe980000.usb")
  }

  @Test(arguments: [
    ("dummy_udc.7", "there is no USB device controller 'dummy_udc.7'; this machine has dummy_udc.0, dummy_udc.1"),
    (nil, "there are several USB device controllers; choose one of: gadget:dummy_udc.0, gadget:dummy_udc.1"),
  ]) func aControllerThatIsNotThereAndSeveralAreToldWithTheirNames(name: String?, problem: String) {
    let tree = GadgetTree(controllers: ["dummy_udc.0", "dummy_udc.1"])
    let error = #expect(throws: GadgetError.self) { try tree.system.controller(name) }
    #expect(error?.description == problem)
  }

  @Test(arguments: [nil, "dummy_udc.0"]) func aMachineWithoutADevicePortIsToldWhatToDo(name: String?) {
    let tree = GadgetTree(controllers: [])
    let error = #expect(throws: GadgetError.self) { try tree.system.controller(name) }
    #expect(error?.description.contains("no USB port that can act as a device") == true)
    #expect(error?.description.hasSuffix(KernelModule.dummyController.remedy) == true)
  }

  @Test func aControllerOfAnotherGadgetIsNotTakenFromIt() throws {
    let tree = GadgetTree()
    tree.makeGadget("printer", controller: "dummy_udc.0")
    let error = #expect(throws: GadgetError.self) { try tree.system.checkFree("dummy_udc.0", for: "easim-1-1-1") }
    #expect(error == .taken("dummy_udc.0", by: .gadget("printer")))
    #expect(error?.description.hasSuffix("echo | sudo tee /sys/kernel/config/usb_gadget/printer/UDC") == true)
    try tree.system.checkFree("dummy_udc.0", for: "printer")
    try tree.system.checkFree("dummy_udc.1", for: "easim-1-1-1")
  }

  @Test func aControllerOfAModuleIsNotTakenFromIt() throws {
    let tree = GadgetTree()
    tree.write("g_ether\n", to: "udc/dummy_udc.0/function")
    let error = #expect(throws: GadgetError.self) { try tree.system.checkFree("dummy_udc.0", for: "easim-1-1-1") }
    #expect(error?.description.hasSuffix("sudo modprobe -r g_ether") == true)
    tree.write("\n", to: "udc/dummy_udc.0/function")
    try tree.system.checkFree("dummy_udc.0", for: "easim-1-1-1")
  }

  // MARK: The kernel

  @Test func eachThingThatAKernelLacksIsNamed() throws {
    let whole = GadgetTree()
    try whole.system.check()
    let tree = GadgetTree(hasGadgets: false)
    #expect(throws: GadgetError.noConfigFS) { try tree.system.check() }
    tree.makeFolder("config")
    #expect(throws: GadgetError.notMounted(tree.system.configfs)) { try tree.system.check() }
    tree.write("none \(tree.path) configfs rw 0 0\nnone \(tree.system.configfs) tmpfs rw 0 0\n", to: "mounts")
    #expect(throws: GadgetError.notMounted(tree.system.configfs)) { try tree.system.check() }
    tree.write("proc /proc proc rw 0 0\nnone \(tree.system.configfs) configfs rw 0 0\n", to: "mounts")
    #expect(throws: GadgetError.noGadgets) { try tree.system.check() }
    #expect(!tree.system.hasFunctionFS)
    tree.makeFolder("module/usb_f_fs")
    #expect(tree.system.hasFunctionFS)
  }

  @Test func everyErrorWithARemedySaysItInItsSentence() {
    let errors: [GadgetError] = [
      .noControllers, .noConfigFS, .notMounted("/sys/kernel/config"), .noGadgets, .noFunctionFS,
    ]
    for error in errors { #expect(error.description.hasSuffix(error.remedy ?? "nothing")) }
    #expect(
      GadgetError.noController("x", existing: []).description.hasSuffix(GadgetError.noControllers.description))
    #expect(GadgetError.notRoot.description == "creating a gadget needs root: run the command with sudo")
  }

  /// easim suggests loading a module only if the running kernel has that module; otherwise, the command would fail.
  @Test func aModuleIsLoadedOnlyWhereTheKernelHasIt() {
    let place = TemporaryFolder()
    let without = "use a kernel with CONFIG_USBIP_VHCI_HCD: this one has no module vhci-hcd"
    #expect(KernelModule.virtualHost.remedy(in: place.path) == without)
    place.write("kernel/drivers/usb/usbip/usbip-core.ko.xz:\nkernel/fs/xvhci-hcd.ko:\n", to: "modules.dep")
    #expect(KernelModule.virtualHost.remedy(in: place.path) == without)
    place.write("kernel/drivers/usb/usbip/vhci_hcd.ko.xz: kernel/usbip-core.ko.xz\n", to: "modules.dep")
    #expect(KernelModule.virtualHost.remedy(in: place.path) == "sudo modprobe vhci-hcd")
  }

  // MARK: The sweep

  @Test func aNameSaysWhoseGadgetItIs() {
    let owner = ProcessIdentity(pid: 4711, startTime: 123_456)
    #expect(owner.gadget(2) == "easim-4711-123456-2")
    #expect(ProcessIdentity(gadget: "easim-4711-123456-2") == owner)
  }

  @Test(arguments: [
    "easim", "easim-1-2", "easim-1-2-3-4", "easim--1-2-3", "easim-0-2-3", "easim-+1-2-3", "easim-01-2-3", "easim-1-2-x",
    "Easim-1-2-3", "printer-1-2-3", "easim-99999999999-2-3", "",
  ]) func anotherNameIsNobodyOfOurs(name: String) {
    #expect(ProcessIdentity(gadget: name) == nil)
  }

  @Test func onlyWhatOurDeadLeftIsRemoved() {
    let tree = GadgetTree()
    for name in ["easim-1-10-1", "easim-2-20-1", "easim-2-20-2", "easim-2-21-1", "printer", "easim-copy"] {
      tree.makeGadget(name)
    }
    for part in ["strings/0x409", "configs/c.1/strings", "functions/ffs.easim-2-1"] {
      tree.makeFolder("config/usb_gadget/easim-2-20-1/\(part)")
    }
    let living = [ProcessIdentity(pid: 1, startTime: 10), ProcessIdentity(pid: 2, startTime: 21)]
    let swept = tree.system.sweep(isRunning: living.contains, opening: tree.open)
    #expect(swept == ["easim-2-20-1", "easim-2-20-2"])
    #expect(tree.system.gadgets.names == ["easim-1-10-1", "easim-2-21-1", "easim-copy", "printer"])
    #expect(GadgetTree(hasGadgets: false).system.sweep { _ in false } == [])
  }
}
