import ExternalAccessory

/// A session on the main run loop, shared by clients that handle its bytes differently.
nonisolated final class MainLoopSession: NSObject, StreamDelegate, @unchecked Sendable {
  let connectionID: Int
  private let session: EASession
  private let hasWritten = Guarded(false)
  private let heard: @Sendable (MainLoopSession, Stream.Event) -> Void

  init?(
    _ accessory: EAAccessory, _ protocolName: String,
    _ heard: @escaping @Sendable (MainLoopSession, Stream.Event) -> Void
  ) {
    guard let made = EASession(accessory: accessory, forProtocol: protocolName) else { return nil }
    (session, connectionID, self.heard) = (made, accessory.connectionID, heard)
    super.init()
    for stream in [made.inputStream, made.outputStream] as [Stream?] {
      stream?.delegate = self
      stream?.schedule(in: .main, forMode: .default)
      stream?.open()
    }
  }

  var input: InputStream? { session.inputStream }
  var output: OutputStream? { session.outputStream }

  /// Writes a text only once, although another event reports room after each write.
  func writeOnce(_ text: String) {
    let isFirst = hasWritten.with { hasWritten -> Bool in
      defer { hasWritten = true }
      return !hasWritten
    }
    if isFirst { _ = output?.write(text) }
  }

  func stream(_ stream: Stream, handle event: Stream.Event) { heard(self, event) }

  func close() {
    for stream in [session.inputStream, session.outputStream] as [Stream?] {
      stream?.close()
      stream?.remove(from: .main, forMode: .default)
      stream?.delegate = nil
    }
  }
}
