import AccessoryControl
import AccessoryCore
import LinuxIO

/// The control protocol at a unix socket of mode 0600: each connection is a client. Connections of other users are refused.
final class ControlSocket {
  /// The most connections at a time.
  static let mostConnections = 1_000

  private let server: ControlServer
  private let loop: any PollingLoop
  private var listener: (any Listener)?
  private var doors: [ObjectIdentifier: DescriptorDoor] = [:]
  private let warn: (String) -> Void

  /// Listens.
  init(
    _ server: ControlServer, path: String, _ shared: SharedOptions, on loop: any PollingLoop,
    warn: @escaping (String) -> Void
  ) throws {
    (self.server, self.loop, self.warn) = (server, loop, warn)
    var options = TransportOptions()
    options.allowsOtherUsers = shared.takesAnyUser
    listener = try Transports.listen(at: .unix(path: path), on: loop, options: options) { [weak self] event in
      self?.handle(event)
    }
  }

  private func handle(_ event: ListenerEvent) {
    switch event {
    case .accepted(let cable, _):
      guard let descriptor = (cable.main as? DescriptorChannel)?.release() else { return }
      let client = server.makeClient()
      let id = ObjectIdentifier(client)
      do {
        let door = try DescriptorDoor(takingSocket: descriptor, for: client, on: loop) { [weak self] in
          self?.doors[id] = nil
        }
        doors[id] = door
        if doors.count > Self.mostConnections {
          warn("closed a connection: \(Self.mostConnections) are open, the maximum")
          door.close("too many connections")
        }
      } catch { warn("a connection could not be served: \(error)") }
    case .refused(let peer, let reason): warn("refused \(peer): \(reason)")
    case .cannotAccept(let error): warn("cannot accept connections now: \(error)")
    case .ended(let error): warn(error.description)
    }
  }

  /// Ends every connection and removes the socket.
  func close() {
    listener?.close()
    listener = nil
    let open = doors
    doors = [:]
    for door in open.values { door.close("easim is exiting") }
  }
}
