import AccessoryCore
import LinuxIO

/// Unix sockets, TCP, pseudo terminals and serial lines. Each address belongs to one accessory, and only a connection
/// shows whether the accessory is present.
struct StreamMedium: Medium {
  let kinds = [Address.Kind.unix, .tcp, .pty, .serial]
  let capacity = PortCapacity.one

  func makeFinder(
    for address: Address, on loop: any PollingLoop, options: TransportOptions
  ) throws
    -> any AccessoryFinder
  {
    try Transports.check(address, options: options)
    return StreamFinder(address, on: loop, options: options)
  }

  func openPorts(at address: Address, _ context: PortContext) -> PortFactory {
    { _, _ in ListeningPort(at: address, on: context.loop, options: context.options) }
  }
}

/// Assumes that an accessory is at the address, because only an attempt to connect can show whether it is.
private final class StreamFinder: AccessoryFinder {
  let seesArrivals = false
  // These media do not report arrivals, so the pauses must be short enough not to miss a quick reconnect.
  let pauses = RedialPauses(shortest: .milliseconds(20), longest: .milliseconds(500))

  private let address: Address
  private let loop: any PollingLoop
  private let options: TransportOptions

  init(_ address: Address, on loop: any PollingLoop, options: TransportOptions) {
    self.address = address
    self.loop = loop
    self.options = options
  }

  func start(_ onEvent: @escaping (AccessoryChange) -> Void) {
    onEvent(.arrived(FoundAccessory(key: address.description, identity: address.description, address: address)))
  }

  func stop() {}

  func connect(
    to accessory: FoundAccessory, completion: @escaping (Result<OpenedCable, TransportError>) -> Void
  ) -> any Connecting {
    Transports.connect(to: address, on: loop, options: options, timeout: .seconds(5)) { result in
      completion(result.map { OpenedCable($0.cable) })
    }
  }
}
