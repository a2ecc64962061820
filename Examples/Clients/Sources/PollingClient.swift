import ExternalAccessory

/// A client without a delegate or run loop: its own queue checks the streams every few milliseconds.
nonisolated final class PollingClient: Client, @unchecked Sendable {
  private var discovery: Discovery?
  private let received = Guarded(Data())
  private let isOver = Guarded(false)
  private let queue = DispatchQueue(label: "polling client")

  init(_ protocolName: String) {
    discovery = Discovery(protocolName) { [weak self] accessory in
      guard let self, let session = EASession(accessory: accessory, forProtocol: protocolName) else { return }
      session.inputStream?.open()
      session.outputStream?.open()
      poll(session, Array("polled".utf8))
    } disconnected: { _ in
    }
  }

  private func poll(_ session: EASession, _ unsent: [UInt8]) {
    queue.asyncAfter(deadline: .now() + .milliseconds(2)) { [weak self] in
      guard let self, let input = session.inputStream, let output = session.outputStream else { return }
      var left = unsent
      if !left.isEmpty, output.hasSpaceAvailable {
        left.removeFirst(max(0, output.write(left, maxLength: left.count)))
      }
      while input.hasBytesAvailable { received.with { $0 += input.readAvailable(atMost: 128) } }
      if isOver.with({ $0 }) || input.streamStatus == .atEnd {
        input.close()
        output.close()
      } else {
        poll(session, left)
      }
    }
  }

  var reply: String { received.with { String(decoding: $0, as: UTF8.self) } }

  func stop() {
    discovery?.stop()
    isOver.with { $0 = true }
  }
}
