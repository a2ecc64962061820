import AccessoryCore
import AccessoryUSB
import ChannelSuite
import LinuxIO

extension ChannelFactory {
  /// The accessory as a FunctionFS gadget on this machine's only device port (dummy_hcd). When an accessory closes, it
  /// is unplugged, so the bytes that the host has not requested yet are lost.
  static let gadget = USBRig.factory("FunctionFS gadget", traits: [.leftCloseDelivers, .canBeCut]) {
    try GadgetEnd(on: $0)
  }
}

extension DeathFactory {
  /// The factory for channels at the host's end. Unplugging the accessory simulates its death.
  static let gadget = USBRig.deathFactory("FunctionFS gadget") { try GadgetEnd(on: $0) }
}

private final class GadgetEnd: AccessoryEnd {
  private var gadget: Gadget?

  init(on loop: EpollLoop) throws {
    gadget = try Gadget(
      USBAccessoryShape(manufacturer: "easim", name: "the channel suite", serial: "SUITE-1"), controller: nil,
      number: 1, on: loop
    ) { print("the gadget says: \($0)") }
  }

  func plugIn(_ onEvent: @escaping (Cable) -> Void) throws {
    try gadget?.plugIn { news in
      if case .cable(let cable) = news { onEvent(cable) }
    }
  }

  func pull() { gadget?.unplug() }

  func tearDown() { gadget = nil }
}
