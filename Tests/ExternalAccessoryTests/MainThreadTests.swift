import ExternalAccessory
import ExternalAccessorySimulation
import TestSupport
import Testing

/// Tests behavior N7 in docs/external-accessory.md as apps see it: `Thread.isMainThread` in notifications, delegate
/// calls and stream events under Swift Testing, where the main thread has ended. Also tests apps that wait for the main
/// queue.
@Suite(.waits) struct MainThreadTests {
  /// A client, modeled on one in the field, that updates its user interface on whatever thread it is called on.
  private final class Client: NSObject, StreamDelegate, EAAccessoryDelegate, @unchecked Sendable {
    private(set) var seen: [String] = []
    private var observers: [any NSObjectProtocol] = []
    private var session: EASession?

    override init() {
      super.init()
      for (name, word) in [
        (Notification.Name.EAAccessoryDidConnect, "connect"), (.EAAccessoryDidDisconnect, "disconnect"),
      ] {
        observers.append(
          NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [unowned self] note in
            update(word)
            guard word == "connect", let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
            accessory.delegate = self
            session = EASession(accessory: accessory, forProtocol: "com.example.echo")
            session?.inputStream?.delegate = self
            session?.inputStream?.schedule(in: .main, forMode: .default)
            session?.inputStream?.open()
          })
      }
      manager.registerForLocalNotifications()
    }

    func stop() {
      observers.forEach(NotificationCenter.default.removeObserver)
      session?.inputStream?.close()
      session?.outputStream?.close()
    }

    func accessoryDidDisconnect(_ accessory: EAAccessory) { update("delegate") }
    func stream(_ stream: Stream, handle event: Stream.Event) { update("stream \(event.rawValue)") }

    private func update(_ what: String) {
      if Thread.isMainThread {
        seen.append(what)
      } else {
        DispatchQueue.main.sync { seen.append("\(what), waited for") }
      }
    }
  }

  @Test func whatTheAppGetsComesOnTheMainThread() async throws {
    try await withSimulatedWorld { world in
      let client = Client()
      let echo = try await world.plugIn("echo")
      await world.unplug(echo)
      client.stop()
      #expect(client.seen == ["connect", "stream 1", "stream 16", "disconnect", "delegate"])
    }
  }

  @Test func anotherThreadIsNotTheMainThread() async throws {
    try await withSimulatedWorld { world in
      // The semaphore ensures that the two threads do not run at the same time.
      nonisolated(unsafe) var answers: [Bool] = []
      let recorder = EventRecorder { _ in
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          answers.append(Thread.isMainThread)
          done.signal()
        }
        done.wait()
      }
      manager.registerForLocalNotifications()
      try await world.plugIn("echo")
      #expect(answers == [false])
      withExtendedLifetime(recorder) {}
    }
  }

  // The thread sanitizer has a `dispatch_sync` of its own, which is called instead of easim's.
  @Test(.enabled(if: Sanitizer.used != .thread))
  func waitingForTheMainQueueOnItIsNamedBeforeTheProcessEnds() throws {
    let result = try TestBundle.run("SelfWaiters/anObserverWaitsForItself", ["SWIFT_BACKTRACE": "enable=no"])
    #expect(result.status != 0)
    #expect(
      result.output.contains(
        "DispatchQueue.main.sync was called on the main queue at MainThreadTests.swift:\(SelfWaiters.line) in "
      ), "\(result.output)")
  }
}

/// The tests in this suite end their process. Only ``MainThreadTests`` runs this suite.
@Suite(.waits, .enabled(if: TestBundle.isInner)) struct SelfWaiters {
  static let line = #line + 2

  private static func waitForTheMainQueue() { DispatchQueue.main.sync {} }

  @Test func anObserverWaitsForItself() async throws {
    try await withSimulatedWorld { world in
      let recorder = EventRecorder { _ in
        Self.waitForTheMainQueue()
      }
      manager.registerForLocalNotifications()
      try await world.plugIn("echo")
      withExtendedLifetime(recorder) {}
    }
  }
}
