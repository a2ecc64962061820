import AccessoryControl
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessorySessions
import IAP2

/// The app inside `easim pipe`, which opens a session for each stream as soon as the accessory offers the protocol.
final class PipeHost: AppHandler, PipeRole {
  weak var streams: PipeStreams?
  /// The exit code, or nil while the command is running. If the exit code is `unreachable`, the caller prints the
  /// message.
  private(set) var verdict: ExitCode?
  /// Keeps a waiting stream whose client disconnects, because the client may already have sent all its bytes.
  let whenClientLeaves = SessionRelay.WhenReaderLeaves.finishInput(whileWaiting: true)

  private let options: PipeOptions
  private let loop: any EventLoop
  private let log: (String) -> Void
  private var isListening: Bool { options.listen != nil }
  /// The accessory and protocol for new sessions, or nil while no session can be opened.
  private var target: (accessory: PublishedAccessory, protocolName: String)?
  private weak var app: AppView?
  private var sawAccessory = false
  private var hadSession = false
  private var waiting: [Waiting] = []

  private struct Waiting {
    let relay: SessionRelay
    let timer: LoopTimer
  }

  init(_ options: PipeOptions, on loop: any EventLoop, log: @escaping (String) -> Void) {
    (self.options, self.loop, self.log) = (options, loop, log)
  }

  // MARK: Streams

  func admit(_ relay: SessionRelay) {
    let timer = loop.schedule(after: options.shared.timeout) { [unowned self, unowned relay] in timeIsOver(for: relay) }
    waiting.append(Waiting(relay: relay, timer: timer))
    openSessions()
  }

  func ended(_ relay: SessionRelay, _ ending: SessionRelay.Ending) -> Bool {
    forget(relay)
    // The next session must wait until the accessory has reconnected, even if the disconnection has not been reported
    // yet.
    if ending.isGone { target = nil }
    let (code, text) = relay.verdict(ending, otherEnd: "the accessory")
    if ending.isGone, options.reconnects {
      log("\(text ?? "the accessory disconnected"); waiting for it")
      admit(relay)
      return true
    }
    if isListening {
      if let text { log("a connection ended: \(text)") }
    } else {
      end(code, text)
    }
    return false
  }

  private func forget(_ relay: SessionRelay) {
    for entry in waiting where entry.relay === relay { entry.timer.cancel() }
    waiting.removeAll { $0.relay === relay }
  }

  private func timeIsOver(for relay: SessionRelay) {
    forget(relay)
    let reason =
      switch (sawAccessory, hadSession) {
      case (false, _): "no accessory connected"
      case (true, true): "the accessory did not come back with a protocol for a session"
      case (true, false): "the accessory offered no protocol for a session"
      }
    if isListening {
      log("a connection ended: \(reason) within \(DurationText.format(options.shared.timeout))")
      streams?.remove(relay)
      return
    }
    if relay.counts.sent + relay.counts.received > 0 {
      end(.gone, "the accessory did not come back within \(DurationText.format(options.shared.timeout))")
    } else if sawAccessory {
      end(.timedOut, "timed out after \(DurationText.format(options.shared.timeout)); \(reason)")
    } else {
      end(.unreachable, nil)
    }
  }

  private func end(_ code: ExitCode, _ text: String?) {
    guard verdict == nil else { return }
    verdict = code
    if let text { log(text) }
  }

  // MARK: Accessory

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    sawAccessory = true
    self.app = app
    // Some accessories connect twice, and offer no protocols the first time.
    guard !accessory.protocols.isEmpty, target == nil else { return }
    do {
      target = (accessory, try ProtocolChoice.choose(options.shared.protocolName, among: accessory.protocols))
      openSessions()
    } catch {
      end(.usage, error.description)
    }
  }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if target?.accessory.connectionID == accessory.connectionID { target = nil }
  }

  private func openSessions() {
    while let (accessory, protocolName) = target, let app, let next = waiting.first {
      forget(next.relay)
      do {
        next.relay.attach(try app.openSession(with: accessory, protocolName: protocolName))
        hadSession = true
      } catch {
        if isListening {
          log("a connection ended: \(error)")
          streams?.remove(next.relay)
        } else {
          end(.checkFailed, error.description)
        }
      }
    }
  }
}
