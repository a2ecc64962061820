import ExternalAccessory

/// Sends lines and reads lines. Replies may arrive joined together or split anywhere, so the client collects bytes and
/// extracts whole lines.
nonisolated final class LineClient: Client, @unchecked Sendable {
  private var discovery: Discovery?
  private let session = Guarded<MainLoopSession?>(nil)
  private let lines = Guarded<[String]>([])
  private let buffer = Guarded(Data())

  init(_ protocolName: String) {
    discovery = Discovery(protocolName) { [weak self] accessory in
      guard let self else { return }
      let made = MainLoopSession(accessory, protocolName) { [weak self] in self?.handle($0, $1) }
      session.with { $0 = made }
    } disconnected: { [weak self] _ in
      self?.close()
    }
  }

  private func handle(_ session: MainLoopSession, _ event: Stream.Event) {
    switch event {
    case .hasSpaceAvailable: session.writeOnce("one\ntwo\nthr")
    case .hasBytesAvailable:
      // The client reads three bytes at a time, because the stream sends another event while bytes are left.
      guard let data = session.input?.readAvailable(atMost: 3) else { return }
      let whole = buffer.with { buffer -> [String] in
        buffer += data
        var found: [String] = []
        while let end = buffer.firstIndex(of: 0x0A) {
          found.append(String(decoding: buffer[..<end], as: UTF8.self))
          buffer = Data(buffer[(end + 1)...])
        }
        return found
      }
      let count = lines.with { lines -> Int in
        lines += whole
        return lines.count
      }
      if count == 2, !whole.isEmpty { _ = session.output?.write("ee\n") }
    case .endEncountered, .errorOccurred: close()
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

  var reply: String { lines.with { $0.joined(separator: ",") } }

  func stop() {
    discovery?.stop()
    close()
  }
}
