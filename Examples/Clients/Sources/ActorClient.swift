import ExternalAccessory

/// An actor that handles stream events. On Apple's systems it is an `NSObject`; on Linux, an actor that inherits from
/// `NSObject` compiles but does not link, and `StreamDelegate` does not require it.
actor ActorClient: Client, StreamDelegate {
  private nonisolated let received = Guarded(Data())
  private nonisolated let session = Guarded<EASession?>(nil)
  private nonisolated let discovery = Guarded<Discovery?>(nil)

  init(_ protocolName: String) {
    let made = Discovery(protocolName) { [weak self] accessory in
      self?.open(accessory, protocolName)
    } disconnected: {
      [weak self] _ in
      self?.close()
    }
    discovery.with { $0 = made }
  }

  private nonisolated func open(_ accessory: EAAccessory, _ protocolName: String) {
    guard let made = EASession(accessory: accessory, forProtocol: protocolName) else { return }
    session.with { $0 = made }
    for stream in [made.inputStream, made.outputStream] as [Stream?] {
      stream?.delegate = self
      stream?.schedule(in: .main, forMode: .common)
      stream?.open()
    }
  }

  private nonisolated func close() {
    let old = session.with { session -> EASession? in
      defer { session = nil }
      return session
    }
    old?.inputStream?.close()
    old?.outputStream?.close()
  }

  nonisolated func stream(_ stream: Stream, handle event: Stream.Event) {
    // The bytes are read here, while the event is handled, and only the bytes are passed to the actor.
    if event == .hasBytesAvailable, let input = stream as? InputStream {
      let data = input.readAvailable()
      Task { await keep(data) }
    } else if event == .openCompleted, let output = stream as? OutputStream {
      _ = output.write("from an actor")
    } else if event == .endEncountered {
      close()
    }
  }

  private func keep(_ data: Data) { received.with { $0 += data } }

  nonisolated var reply: String { received.with { String(decoding: $0, as: UTF8.self) } }

  nonisolated func stop() {
    discovery.with { $0 }?.stop()
    close()
  }
}
