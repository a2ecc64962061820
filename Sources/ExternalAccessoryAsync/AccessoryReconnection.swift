import ExternalAccessory

/// A sequence of connections to one accessory. Each time the accessory reconnects or its session ends, the sequence
/// opens another connection.
///
/// ```swift
/// for await connection in AccessoryReconnection(for: "com.example.protocol") {
///   do {
///     for try await bytes in connection.bytes { handle(bytes) }
///   } catch {
///     report(error)
///   }
/// }
/// print("gave up")
/// ```
///
/// The sequence waits indefinitely for the first accessory that offers the protocol, and remembers its serial number.
/// After that, the sequence looks only for the accessory with that serial number. When the loop's body ends, the
/// sequence closes the session and tries to open another:
///
/// - immediately when the accessory connects;
/// - immediately when the app becomes active (`UIApplication.didBecomeActiveNotification`);
/// - otherwise after each `interval`. The sequence ends after `attempts` consecutive attempts have failed to open a
///   session.
///
/// Notifications about other accessories and about connections without protocols (the first half of a flicker) are
/// ignored.
public struct AccessoryReconnection: AsyncSequence, Sendable {
  /// The sequence does not throw.
  public typealias Failure = Never

  private let protocolString: String
  private let serialNumber: String?
  private let interval: Duration
  private let attempts: Int
  private let clock: any Clock<Duration>

  /// Creates a sequence of connections for a protocol.
  ///
  /// - Parameters:
  ///   - protocolString: the protocol to open sessions for.
  ///   - serialNumber: the serial number of the accessory to look for, saved from an earlier connection, or nil to use
  ///     the first accessory found.
  ///   - interval: the time between two attempts.
  ///   - attempts: the number of consecutive failed attempts after which the sequence ends.
  ///   - clock: the clock that measures `interval`.
  public init(
    for protocolString: String, serialNumber: String? = nil, interval: Duration = .seconds(3), attempts: Int = 10,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.protocolString = protocolString
    self.serialNumber = serialNumber
    self.interval = interval
    self.attempts = attempts
    self.clock = clock
  }

  /// Starts watching for accessories.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Opens one connection at a time.
  public struct Iterator: AsyncIteratorProtocol {
    private let sequence: AccessoryReconnection
    /// The serial number of the accessory to look for, once it is known.
    private var serialNumber: String?
    private let watch: Watch
    private var previous: AccessoryConnection?

    fileprivate init(_ sequence: AccessoryReconnection) {
      self.sequence = sequence
      serialNumber = sequence.serialNumber
      watch = Watch(sequence.protocolString)
    }

    /// Closes the previous connection and opens the next. Returns nil after the last attempt, or if the task is
    /// cancelled.
    public mutating func next() async -> AccessoryConnection? {
      // Before the first session, the sequence looks for an accessory once and then waits for one indefinitely.
      var isSearching = previous != nil
      var reason: Watch.Reason? = previous == nil ? .arrival : nil
      var failures = 0
      previous?.close()
      previous = nil
      while !Task.isCancelled {
        if let reason {
          switch reason {
          case .arrival: failures = 0
          case .activation: break
          case .timeout: failures += 1
          }
          if let connection = connect() { return connection }
          if failures >= sequence.attempts { break }
          isSearching = isSearching || wanted != nil
        }
        reason = await watch.next(within: isSearching ? sequence.interval : nil, on: sequence.clock)
      }
      return nil
    }

    private var wanted: EAAccessory? {
      EAAccessoryManager.shared().connectedAccessories.first {
        $0.protocolStrings.contains(sequence.protocolString) && (serialNumber == nil || $0.serialNumber == serialNumber)
      }
    }

    private mutating func connect() -> AccessoryConnection? {
      guard let accessory = wanted,
        let made = try? AccessoryConnection(to: accessory, for: sequence.protocolString)
      else { return nil }
      serialNumber = accessory.serialNumber
      previous = made
      return made
    }
  }
}

private final class Watch: @unchecked Sendable {
  /// The reasons, most important first. If several apply, ``next(within:on:)`` returns the most important reason.
  enum Reason: Comparable {
    case arrival
    case activation
    case timeout
  }

  private let signal = AsyncSignal()
  private let lock = NSLock()
  private var reason: Reason?
  private var observers: [any NSObjectProtocol] = []

  init(_ protocolString: String) {
    let center = NotificationCenter.default
    observers = [
      center.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: nil) { [weak self] note in
        guard let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
        if accessory.protocolStrings.contains(protocolString) { self?.add(.arrival) }
      },
      // The notification's name is a string, because UIKit is not available on every platform that this module
      // supports.
      center.addObserver(
        forName: Notification.Name("UIApplicationDidBecomeActiveNotification"), object: nil, queue: nil
      ) { [weak self] _ in self?.add(.activation) },
    ]
    EAAccessoryManager.shared().registerForLocalNotifications()
  }

  deinit {
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
    EAAccessoryManager.shared().unregisterForLocalNotifications()
  }

  private func add(_ new: Reason) {
    lock.withLock { reason = reason.map { min($0, new) } ?? new }
    signal.send()
  }

  /// Returns the most important reason that has arisen since the last call. If there is no reason, waits for up to
  /// `limit`.
  func next(within limit: Duration?, on clock: any Clock<Duration>) async -> Reason {
    let alarm = limit.map { limit in
      Task { [weak self] in
        try await clock.sleep(for: limit)
        self?.add(.timeout)
      }
    }
    defer { alarm?.cancel() }
    while !Task.isCancelled {
      let found = lock.withLock { () -> Reason? in
        defer { reason = nil }
        return reason
      }
      if let found { return found }
      await signal.wait()
    }
    return .timeout
  }
}
