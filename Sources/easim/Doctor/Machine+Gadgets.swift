import AccessoryUSB

/// Checks for what easim needs to appear as an accessory at this machine's own USB device port. Most machines have no
/// USB device port, so a missing port is only a limitation.
extension Machine {
  static var devicePort: Examination {
    let names = GadgetSystem().controllerNames
    return Examination(
      name: "udc", purpose: "simulated accessories on this machine's USB device port",
      finding: names.isEmpty
        ? limited("no USB port that can act as a device", .noControllers)
        : .works(names.map { "gadget:\($0)" }.joined(separator: ", ")))
  }

  static var gadgets: Examination {
    let finding: Examination.Finding
    do throws(GadgetError) {
      try GadgetSystem().check()
      finding = .works("gadgets through configfs")
    } catch {
      let text =
        switch error {
        case .noConfigFS: "this kernel has no configfs"
        case .notMounted: "configfs is not mounted"
        default: "this kernel has no gadget support"
        }
      finding = limited(text, error)
    }
    return Examination(name: "configfs", purpose: "creating simulated accessories on that port", finding: finding)
  }

  static var functionFS: Examination {
    Examination(
      name: "functionfs", purpose: "carrying the data of these accessories",
      finding: GadgetSystem().hasFunctionFS ? .works("usb_f_fs") : limited("not loaded", .noFunctionFS))
  }

  private static func limited(_ text: String, _ error: GadgetError) -> Examination.Finding {
    error.remedy.map { .limited(text, remedy: $0) } ?? .works(text)
  }
}
