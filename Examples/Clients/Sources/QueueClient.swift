import ExternalAccessory

/// A client with a queue of bytes to write. It continues at each `hasSpaceAvailable`, keeps the rest of a short write,
/// and counts how many of its 100,000 bytes came back correctly.
nonisolated final class QueueClient: Client, @unchecked Sendable {
  static let count = 100_000

  private struct State {
    var session: MainLoopSession?
    var unsent: [UInt8] = []
    var confirmed = 0
  }

  private var discovery: Discovery?
  private let state = Guarded(State())

  private static func byte(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: index &* 31) }

  init(_ protocolName: String) {
    discovery = Discovery(protocolName) { [weak self] accessory in
      guard let self else { return }
      state.with { $0 = State(unsent: (0..<Self.count).map(Self.byte)) }
      let made = MainLoopSession(accessory, protocolName) { [weak self] in self?.handle($0, $1) }
      state.with { $0.session = made }
    } disconnected: { [weak self] _ in
      self?.close()
    }
  }

  private func handle(_ session: MainLoopSession, _ event: Stream.Event) {
    switch event {
    case .hasSpaceAvailable:
      state.with { state in
        guard !state.unsent.isEmpty, let output = session.output, output.hasSpaceAvailable else { return }
        let taken = output.write(state.unsent, maxLength: state.unsent.count)
        if taken > 0 { state.unsent.removeFirst(taken) }
      }
    case .hasBytesAvailable:
      guard let data = session.input?.readAvailable(atMost: 4096) else { return }
      state.with { state in
        for byte in data {
          guard byte == Self.byte(state.confirmed) else { return }
          state.confirmed += 1
        }
      }
    case .endEncountered, .errorOccurred: close()
    default: break
    }
  }

  private func close() {
    let old = state.with { state -> MainLoopSession? in
      defer { state.session = nil }
      return state.session
    }
    old?.close()
  }

  var reply: String { "\(state.with { $0.confirmed })" }

  func stop() {
    discovery?.stop()
    close()
  }
}
