import ExternalAccessory

/// A client that has a separate thread for each session, with the streams on `RunLoop.current`, as Apple's engineers
/// recommend.
nonisolated final class ThreadClient: NSObject, Client, StreamDelegate, @unchecked Sendable {
  private var discovery: Discovery?
  private let received = Guarded(Data())
  private let isOver = Guarded(false)

  init(_ protocolName: String) {
    super.init()
    discovery = Discovery(protocolName) { [weak self] accessory in
      guard let session = EASession(accessory: accessory, forProtocol: protocolName) else { return }
      Thread.detachNewThread { [weak self] in
        for stream in [session.inputStream, session.outputStream] as [Stream?] {
          stream?.delegate = self
          stream?.schedule(in: .current, forMode: .default)
          stream?.open()
        }
        while self?.isOver.with({ $0 }) == false, session.inputStream?.streamStatus != .atEnd {
          _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.05))
        }
        for stream in [session.inputStream, session.outputStream] as [Stream?] {
          stream?.remove(from: .current, forMode: .default)
          stream?.close()
        }
      }
    } disconnected: { _ in
    }
  }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    if event == .hasBytesAvailable, let input = stream as? InputStream {
      received.with { $0 += input.readAvailable() }
    } else if event == .openCompleted, let output = stream as? OutputStream {
      _ = output.write("on a thread")
    }
  }

  var reply: String { received.with { String(decoding: $0, as: UTF8.self) } }

  func stop() {
    discovery?.stop()
    isOver.with { $0 = true }
  }
}
