import AccessoryUSB

/// Checks for what easim needs to appear as an accessory at this machine's own USB device port. Most machines have no
/// USB device port, so a missing port is only a limitation.
extension Machine {
  static var devicePort: Examination.Finding {
    let names = GadgetSystem().controllerNames
    return names.isEmpty
      ? limited("no USB port that can act as a device", .noControllers)
      : .works(names.map { "gadget:\($0)" }.joined(separator: ", "))
  }

  static var gadgets: Examination.Finding {
    do throws(GadgetError) {
      try GadgetSystem().check()
      return .works("gadgets through configfs")
    } catch {
      let text =
        switch error {
        case .noConfigFS: "this kernel has no configfs"
        case .notMounted: "configfs is not mounted"
        default: "this kernel has no gadget support"
        }
      return limited(text, error)
    }
  }

  static var functionFS: Examination.Finding {
    GadgetSystem().hasFunctionFS ? .works("usb_f_fs") : limited("not loaded", .noFunctionFS)
  }

  private static func limited(_ text: String, _ error: GadgetError) -> Examination.Finding {
    error.remedy.map { .limited(text, remedy: $0) } ?? .works(text)
  }
}
