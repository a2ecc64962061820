import AccessoryCore
import Glibc
import LinuxIO

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
