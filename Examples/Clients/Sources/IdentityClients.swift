import ExternalAccessory

/// Ends its session when an accessory with its connection ID disconnects, and only then.
nonisolated class IdentityClient: Client, @unchecked Sendable {
  private var discovery: Discovery?
  private let session = Guarded<MainLoopSession?>(nil)
  private let received = Guarded(Data())

  required init(_ protocolName: String) {
    discovery = Discovery(protocolName) { [weak self] accessory in
      guard let self, session.with({ $0 == nil }) else { return }
      let made = MainLoopSession(accessory, protocolName) { [weak self] in self?.handle($0, $1) }
      session.with { $0 = made }
    } disconnected: { [weak self] accessory in
      guard let self, let mine = session.with({ $0?.connectionID }) else { return }
      if isMine(accessory.connectionID, mine) { close() }
    }
  }

  func isMine(_ gone: Int, _ mine: Int) -> Bool { gone == mine }

  private func handle(_ session: MainLoopSession, _ event: Stream.Event) {
    switch event {
    case .hasSpaceAvailable: session.writeOnce("still here")
    case .hasBytesAvailable: if let data = session.input?.readAvailable() { received.with { $0 += data } }
    default: break
    }
  }

  private func close() {
    let old = session.with { session -> MainLoopSession? in
      defer { session = nil }
      return session
    }
    old?.close()
  }

  /// Whether the client has a session.
  var isConnected: Bool { session.with { $0 != nil } }

  var reply: String { received.with { String(decoding: $0, as: UTF8.self) } }

  func stop() {
    discovery?.stop()
    close()
  }
}

/// A client with a common bug: any disconnect ends its session, even that of another accessory.
nonisolated final class CarelessClient: IdentityClient, @unchecked Sendable {
  override func isMine(_ gone: Int, _ mine: Int) -> Bool { true }
}
