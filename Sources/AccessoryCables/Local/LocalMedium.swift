import AccessoryCore
import AccessoryProfiles
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
      accessories: found.filter { serial == nil || $0.card.serial == serial }.map { FoundAccessory($0) },
      problems: problems.map { "ignoring a card: \($0)" })
  }

  func makePortHub(at address: Address, _ context: PortContext) throws -> any PortHub {
    guard case .local(let path, let serial) = address, let serial else {
      return LocalHub(try LocalPorts(Self.parts(address).0), on: context.loop)
    }
    let other = path.map { "local:\($0)#" } ?? "local: (or, for a folder, local:\(serial)#)"
    throw TransportError.unusable(
      address, "the serial number is set by the profile; did you mean \(other)?")
  }

  private static func parts(_ address: Address) -> (LocalDirectory, serial: String?) {
    guard case .local(let path, let serial) = address else {
      preconditionFailure("\(address) is not in a local directory")
    }
    return (LocalDirectory(path), serial)
  }
}

private final class LocalHub: PortHub {
  private let local: LocalPorts
  private let loop: any PollingLoop

  init(_ local: LocalPorts, on loop: any PollingLoop) {
    self.local = local
    self.loop = loop
  }

  func makePort(for profile: Profile, number: Int) -> any Port { local.makePort(on: loop) }
}

/// Follows the cards in a local directory and claims cables. An accessory has one host at a time. Other hosts wait
/// until that host releases its claim.
final class LocalFinder: AccessoryFinder {
  let seesArrivals = true
  let pauses = RedialPauses(shortest: .milliseconds(50), longest: .seconds(1))

  private let directory: LocalDirectory
  private let serial: String?
  private let loop: any PollingLoop
  private let options: TransportOptions
  private var watcher: LocalWatcher?

  /// Finds all accessories in a local directory, or only the one with this serial number.
  init(_ directory: LocalDirectory, serial: String?, on loop: any PollingLoop, options: TransportOptions) {
    self.directory = directory
    self.serial = serial
    self.loop = loop
    self.options = options
  }

  func start(_ onEvent: @escaping (AccessoryChange) -> Void) throws {
    let serial = serial
    let watcher = LocalWatcher(directory, on: loop) { change in
      if let change = AccessoryChange(change, serial: serial) { onEvent(change) }
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
    return Transports.connect(
      to: .unix(path: entry.socketPath), on: loop, options: options, timeout: .seconds(5)
    ) { result in
      switch result {
      case .success(let found): completion(.success(OpenedCable(found.cable) { claim.release() }))
      case .failure(let error):
        // The accessory may have just been unplugged, which the watcher will report.
        claim.release()
        completion(.failure(error.at(address)))
      }
    }
  }
}

extension FoundAccessory {
  init(_ accessory: LocalAccessory) {
    let card = accessory.card
    self.init(key: accessory.entry.name, identity: card.serial, address: accessory.address)
    name = card.name
    manufacturer = card.manufacturer
    model = card.model
    serial = card.serial
    protocols = card.protocols
    self.card = card
  }
}

extension AccessoryChange {
  /// Converts the change to one of a ``FoundAccessory``; nil if `serial` is given and the accessory has another serial
  /// number.
  fileprivate init?(_ change: LocalWatcher.Change, serial: String?) {
    let subject: LocalAccessory?
    switch change {
    case .arrived(let it), .changed(let it, _), .left(let it, _): subject = it
    case .passed(_, let it): subject = it
    case .warning: subject = nil
    }
    if let serial, let subject, subject.card.serial != serial { return nil }
    switch change {
    case .arrived(let it): self = .arrived(FoundAccessory(it))
    case .changed(let it, let before): self = .changed(FoundAccessory(it), from: FoundAccessory(before))
    case .left(let it, let reason): self = .left(FoundAccessory(it), reason: reason)
    case .passed(_, let it): self = .passed(it.map { FoundAccessory($0) })
    case .warning(let text): self = .warning(text)
    }
  }
}
