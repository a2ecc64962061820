import ExternalAccessory

/// A client that keeps only the streams, and releases the session before it opens them, as do clients that wrap streams
/// in a type of their own.
nonisolated final class StreamsOnlyClient: NSObject, Client, StreamDelegate, @unchecked Sendable {
  private var discovery: Discovery?
  private let streams = Guarded<[Stream]>([])
  private let received = Guarded(Data())

  init(_ protocolName: String) {
    super.init()
    discovery = Discovery(protocolName) { [weak self] accessory in
      guard let self, let session = EASession(accessory: accessory, forProtocol: protocolName) else { return }
      streams.with { $0 = [session.inputStream, session.outputStream].compactMap { $0 } }
      // The session object is released here. The streams are opened in a later turn of the run loop.
      DispatchQueue.main.async { self.open() }
    } disconnected: { [weak self] _ in
      self?.close()
    }
  }

  private func open() {
    for stream in streams.with({ $0 }) {
      stream.delegate = self
      stream.schedule(in: .main, forMode: .default)
      stream.open()
    }
  }

  private func close() {
    let old = streams.with { streams -> [Stream] in
      defer { streams = [] }
      return streams
    }
    for stream in old { stream.close() }
  }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    switch event {
    case .openCompleted: if let output = stream as? OutputStream { _ = output.write("streams alone") }
    case .hasBytesAvailable:
      if let input = stream as? InputStream { received.with { $0 += input.readAvailable() } }
    case .endEncountered, .errorOccurred: close()
    default: break
    }
  }

  var reply: String { received.with { String(decoding: $0, as: UTF8.self) } }

  func stop() {
    discovery?.stop()
    close()
  }
}
