import AccessoryCore
import LinuxIO
import Testing

final class Meeting {
  let loop: EpollLoop
  let listener: any Listener
  private(set) var accepted: [(cable: Cable, peer: PeerDescription)] = []
  private(set) var refusals: [String] = []
  private(set) var hindrances: [SystemError] = []
  private(set) var ends: [TransportError] = []

  init(at address: Address, options: TransportOptions = TransportOptions(), on loop: EpollLoop? = nil) throws {
    let loop = try loop ?? EpollLoop()
    let received = ReceivedBytes()
    self.loop = loop
    listener = try Transports.listen(at: address, on: loop, options: options) { received.onEvent?($0) }
    received.onEvent = { [weak self] in self?.handle($0) }
  }

  deinit { listener.close() }

  private func handle(_ event: ListenerEvent) {
    switch event {
    case .accepted(let cable, let peer): accepted.append((cable, peer))
    case .refused(_, let reason): refusals.append(reason)
    case .cannotAccept(let error): hindrances.append(error)
    case .ended(let error): ends.append(error)
    }
  }

  func connect(_ options: TransportOptions = TransportOptions()) throws -> Both {
    let before = accepted.count
    let (cable, peer) = try loop.connect(to: listener.address, options: options).get()
    let cameAbout = loop.run(until: { accepted.count > before }, limit: hangLimit)
    #expect(cameAbout, "nobody was accepted")
    return Both(
      host: cable.main, hostSees: peer, accessory: accepted[before].cable.main, accessorySees: accepted[before].peer)
  }

  struct Both {
    let host: any Channel
    let hostSees: PeerDescription
    let accessory: any Channel
    let accessorySees: PeerDescription

    func close() {
      host.close()
      accessory.close()
    }
  }

  private final class ReceivedBytes {
    var onEvent: ((ListenerEvent) -> Void)?
  }
}

extension EpollLoop {
  func connect(
    to address: Address, options: TransportOptions = TransportOptions(), timeout: Duration = hangLimit
  ) -> Transports.Answer {
    var answer: Transports.Answer?
    Transports.connect(to: address, on: self, options: options, timeout: timeout) { answer = $0 }
    #expect(answer == nil, "the answer came from inside the call")
    run(until: { answer != nil }, limit: hangLimit)
    return answer ?? .failure(.timedOut(address, after: hangLimit))
  }

  func refusal(
    from address: Address, options: TransportOptions = TransportOptions(), timeout: Duration = hangLimit
  ) -> TransportError? {
    switch connect(to: address, options: options, timeout: timeout) {
    case .success((let cable, _)):
      cable.main.close()
      return nil
    case .failure(let error): return error
    }
  }
}
