import AccessoryCore
import LinuxIO

struct LocalMedium: Medium {
  let kinds = [Address.Kind.local]
  let capacity = PortCapacity.many
  let knowsSerialNumbers = true

  func makeFinder(for address: Address, on loop: any PollingLoop, options: TransportOptions) -> any AccessoryFinder {
    let (directory, serial) = Self.parts(address)
    return LocalFinder(directory, serial: serial, on: loop, options: options)
  }

  func look(at address: Address) throws -> Sighting? {
    let (directory, serial) = Self.parts(address)
    let (found, problems) = try directory.look()
    return Sighting(
      accessories: found.filter { serial == nil || $0.serial == serial },
      problems: problems.map { "ignoring a card: \($0)" })
  }

  func openPorts(at address: Address, _ context: PortContext) throws -> PortFactory {
    guard case .local(let path, let serial) = address, let serial else {
      let (directory, loop) = (Self.parts(address).0, context.loop)
      try directory.make()
      directory.sweep()
      return { _, _ in LocalPort(directory, on: loop) }
    }
    let other = path.map { "local:\($0)#" } ?? "local: (or, for a folder, local:\(serial)#)"
    throw TransportError.unusable(
      address, "the profile sets the serial number; did you mean \(other)?")
  }

  private static func parts(_ address: Address) -> (LocalDirectory, serial: String?) {
    guard case .local(let path, let serial) = address else {
      preconditionFailure("\(address) is not in a local directory")
    }
    return (LocalDirectory(path), serial)
  }
}

/// Watches the cards in a local directory and claims cables. An accessory can be used by only one host at a time. While
/// one host is using an accessory, other hosts wait for it to release its claim.
final class LocalFinder: AccessoryFinder {
  let seesArrivals = true
  let pauses = RedialPauses(shortest: .milliseconds(50), longest: .seconds(1))

  private let directory: LocalDirectory
  private let serial: String?
  private let loop: any PollingLoop
  private let options: TransportOptions
  private var watcher: LocalWatcher?

  init(_ directory: LocalDirectory, serial: String?, on loop: any PollingLoop, options: TransportOptions) {
    self.directory = directory
    self.serial = serial
    self.loop = loop
    self.options = options
  }

  func start(_ onEvent: @escaping (AccessoryChange) -> Void) throws {
    let watcher = LocalWatcher(directory, on: loop) { [serial] change in
      if serial == nil || change.accessory?.serial ?? serial == serial { onEvent(change) }
    }
    self.watcher = watcher
    try watcher.start()
  }

  func stop() { watcher?.stop() }

  func connect(
    to accessory: FoundAccessory, completion: @escaping (Result<OpenedCable, TransportError>) -> Void
  ) throws(TransportError) -> any Connecting {
    let address = accessory.address
    guard let entry = LocalEntry(accessory.key, in: directory) else { throw .left(address) }
    let outcome: LocalClaim.Outcome
    do { outcome = try LocalClaim.make(for: entry) } catch { throw .system(address, error) }
    let claim: LocalClaim
    switch outcome {
    case .granted(let granted): claim = granted
    case .inUse(let pid): throw .inUse(address, pid: pid)
    case .gone: throw .left(address)
    }
    return try Transports.connect(
      toSocketAt: entry.socketPath, of: address, on: loop, options: options, timeout: .seconds(5)
    ) { result in
      switch result {
      case .success(let found): completion(.success(OpenedCable(found.cable) { claim.release() }))
      case .failure(let error):
        // If the accessory was unplugged a moment ago, the watcher will report that.
        claim.release()
        completion(.failure(error))
      }
    }
  }
}

extension FoundAccessory {
  /// Creates the description of an accessory from its card.
  package init(_ card: LocalCard, of entry: LocalEntry) {
    let shown = card.appearance
    self.init(key: entry.name, identity: shown.serial, address: entry.directory.address(of: shown.serial))
    (name, manufacturer, model) = (shown.name, shown.manufacturer, shown.model)
    (serial, protocols) = (shown.serial, shown.protocols)
    self.card = card
  }
}
