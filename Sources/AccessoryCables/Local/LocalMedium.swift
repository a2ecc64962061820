import AccessoryCore
import Glibc
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

/// A port in the local directory. Each attachment has a new name, shared by its socket, lock file and card.
///
/// The socket is created first and the card last, and the files are removed in reverse order. A host that reads a card
/// therefore always finds the socket.
final class LocalPort: Port {
  private let directory: LocalDirectory
  private let loop: any PollingLoop
  private let process = ProcessIdentity.current
  private var letters = LocalEntry.freshAccessoryName()
  private var attachments = 0
  private var appearance: PortAppearance?
  private var plugged: Plugged?

  private struct Plugged {
    let entry: LocalEntry
    let listener: any Listener
    let attachedAt: Int
    let onEvent: (PortEvent) -> Void
  }

  init(_ directory: LocalDirectory, on loop: any PollingLoop) {
    self.directory = directory
    self.loop = loop
  }

  var place: String { directory.address(of: appearance?.serial).description }

  func show(_ appearance: PortAppearance) {
    guard appearance != self.appearance else { return }
    self.appearance = appearance
    guard let plugged else { return }
    do { try plugged.entry.write(LocalCard(appearance, process: process, attachedAt: plugged.attachedAt)) } catch {
      plugged.onEvent(.warning("cannot update its card in the local directory: \(error)"))
    }
  }

  func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    guard let appearance else { preconditionFailure("show() must be called before open() in the local directory") }
    // The directory may have been removed since the last attachment.
    try directory.make()
    let (entry, listener) = try listen(onEvent)
    let plugged = Plugged(entry: entry, listener: listener, attachedAt: Self.microseconds(), onEvent: onEvent)
    do {
      try entry.makeLock()
      try entry.write(LocalCard(appearance, process: process, attachedAt: plugged.attachedAt))
    } catch {
      remove(plugged)
      throw error
    }
    self.plugged = plugged
  }

  func close() {
    guard let plugged else { return }
    self.plugged = nil
    remove(plugged)
  }

  private func remove(_ plugged: Plugged) {
    plugged.entry.remove()
    plugged.listener.close()
  }

  private func listen(_ onEvent: @escaping (PortEvent) -> Void) throws -> (LocalEntry, any Listener) {
    attachments += 1
    for _ in 0..<8 {
      guard let entry = LocalEntry("\(letters)-\(attachments)", in: directory) else {
        preconditionFailure("six letters and a count form a valid name")
      }
      do {
        // Names in a local directory are never reused, so no existing socket needs to be replaced.
        var options = TransportOptions()
        options.locksUnixPath = false
        let listener = try directory.creatingSocket {
          try Transports.listen(at: .unix(path: entry.socketPath), on: loop, options: options) {
            onEvent(PortEvent($0))
          }
        }
        return (entry, listener)
      } catch TransportError.inUse {
        letters = LocalEntry.freshAccessoryName()
      }
    }
    throw TransportError.unusable(directory.address(of: nil), "every name that was tried is already taken")
  }

  private static func microseconds() -> Int {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
  }
}
