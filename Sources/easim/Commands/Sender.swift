import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

/// The app inside `easim send`: waits for its protocol, sends once, and judges what comes back.
final class Sender: AppHandler {
  /// How it ended; nil while it goes on.
  private(set) var verdict: ExitCode?
  /// Whether any accessory appeared at all.
  private(set) var sawAccessory = false

  private let payload: [UInt8]
  private let expectation: Exchange.Expectation
  private let wanted: String?
  private let loop: any EventLoop
  private let report: (TimelineEvent) -> Void
  private var exchange: Exchange?
  private var session: Session?
  private var publication: Int?
  private var isClosed = false

  init(
    _ payload: [UInt8], expecting expectation: Exchange.Expectation, protocolName: String?, on loop: any EventLoop,
    report: @escaping (TimelineEvent) -> Void
  ) {
    self.payload = payload
    self.expectation = expectation
    wanted = protocolName
    self.loop = loop
    self.report = report
  }

  /// Gives up, or is done: closes the session, if there is one, so that the accessory hears of it before the cable
  /// goes. What comes of that is no verdict any more.
  func close() {
    isClosed = true
    session?.close()
  }

  /// How far it has come, for a message when it has to stop.
  var progress: String {
    guard sawAccessory else { return "no accessory connected" }
    guard let exchange else { return "the accessory offered no protocol to open a session on" }
    let (sent, received) = exchange.progress
    return "\(sent) of \(payload.count) bytes were sent and \(received) were received"
  }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    sawAccessory = true
    // During the first half of a flicker there is nothing to open: the next connect brings the protocols.
    guard !accessory.protocols.isEmpty, exchange == nil else { return }
    guard let name = choose(from: accessory.protocols) else { return }
    do {
      let session = try app.openSession(with: accessory, protocolName: name)
      self.session = session
      publication = accessory.connectionID
      let exchange = Exchange(payload, expecting: expectation) { [unowned self] outcome in finish(outcome) }
      self.exchange = exchange
      exchange.start(on: session)
    } catch {
      end(.checkFailed, error.description)
    }
  }

  private func choose(from offered: [String]) -> String? {
    do {
      return try ProtocolChoice.choose(wanted, among: offered)
    } catch {
      end(.usage, error.description)
      return nil
    }
  }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard verdict == nil, accessory.connectionID == publication else { return }
    end(.gone, "the accessory disconnected; \(progress)")
  }

  private func finish(_ outcome: Exchange.Outcome) {
    switch outcome {
    case .verified where expectation == .none:
      // Sent is not delivered: done when the accessory has acknowledged all of it.
      waitForAcknowledgement(outcome.description)
    case .verified: end(.done, outcome.description)
    case .different, .excess: end(.checkFailed, outcome.description)
    case .ended(let end, _, _):
      self.end(isGone(end) ? .gone : .checkFailed, outcome.description)
    }
  }

  private func isGone(_ end: SessionEnd) -> Bool {
    switch end {
    case .channelEnded, .linkDown: true
    default: false
    }
  }

  private func waitForAcknowledgement(_ text: String) {
    guard verdict == nil, let session else { return }
    switch session.end {
    case nil where session.unacknowledged > 0:
      loop.schedule(after: .milliseconds(1)) { [weak self] in self?.waitForAcknowledgement(text) }
    case nil: end(.done, "\(text), all acknowledged")
    // Closed behind the last byte is all right; the link acknowledges what a refused session drops as well.
    case .closedByAccessory where session.unacknowledged == 0: end(.done, "\(text), all acknowledged")
    case let sessionEnd?:
      end(
        isGone(sessionEnd) ? .gone : .checkFailed,
        "\(text), and the session ended before all were acknowledged: \(sessionEnd)")
    }
  }

  private func end(_ code: ExitCode, _ text: String) {
    guard verdict == nil, !isClosed else { return }
    verdict = code
    report(TimelineEvent(time: loop.now, side: .app, kind: .result(passed: code == .done, text)))
  }
}
