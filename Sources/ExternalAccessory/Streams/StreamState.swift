internal import AccessoryHost
import Foundation

/// The state of one stream of a session: its status, and the next event for its delegate.
///
/// ```
///             open()             openCompleted                  close()
///   notOpen ─────────▶ opening ────────────────▶ open ─────────────────────▶ closed
///                         │ errorOccurred         ▲      (from any phase)
///                         └───────────────────────┘
/// ```
///
/// Two other values are independent of the phase: whether there is something to read or room to write (``Readiness``),
/// and how the stream ended (``Ending``). As on Apple's systems, the delegate receives:
///
/// - `openCompleted` once;
/// - `hasBytesAvailable` once when bytes arrive, and again after each read that leaves some bytes unread;
/// - `hasSpaceAvailable` once, and again only after a write;
/// - `endEncountered` once (on an input stream, only after everything has been read), or `errorOccurred` once;
/// - nothing before `open()` and nothing after `close()`.
///
/// An event stays pending until ``take(_:)`` is called, however late the app sets a delegate or opens the stream.
struct StreamState {
  private enum Phase: Equatable {
    case notOpen
    /// `open()` was called, but the delegate has not received `openCompleted` yet.
    case opening
    case open
    case closed
  }

  private enum Readiness: Equatable {
    case none
    case due
    case told
  }

  private enum Ending: Equatable {
    case none
    case due(Stream.Event)
    case told(Stream.Event)
  }

  private let direction: SessionLifetime.Stream
  private var phase = Phase.notOpen
  private var readiness = Readiness.none
  private var ending = Ending.none
  /// The error with which reads and writes fail. The error may be set before the delegate is notified, because writes
  /// fail as soon as the accessory is gone.
  private(set) var error: (any Error)?

  init(_ direction: SessionLifetime.Stream) { self.direction = direction }

  /// The status as `Stream` reports it. The status changes when the stream ends, even if no delegate is set.
  var status: Stream.Status {
    switch phase {
    case .notOpen: .notOpen
    case .closed: .closed
    case .opening, .open: error != nil ? .error : isAtEnd ? .atEnd : .open
    }
  }

  var dueEvent: Stream.Event? {
    switch phase {
    case .notOpen, .closed: return nil
    case .opening: return ending == .due(.errorOccurred) ? .errorOccurred : .openCompleted
    case .open:
      if direction == .input, readiness == .due { return .hasBytesAvailable }
      switch ending {
      case .due(.errorOccurred): return .errorOccurred
      case .due(let event): return isAtEnd ? event : nil
      case .told: return nil
      case .none: return direction == .output && readiness == .due && error == nil ? .hasSpaceAvailable : nil
      }
    }
  }

  /// Whether the stream has ended and, if it is an input stream, all its bytes have been read.
  private var isAtEnd: Bool {
    switch ending {
    case .due(.endEncountered), .told(.endEncountered): direction == .output || readiness == .none
    default: false
    }
  }

  // MARK: Events

  mutating func open() {
    if phase == .notOpen { phase = .opening }
  }

  /// Closes the stream, because the app closed or released it. Returns true the first time the stream is closed.
  mutating func close() -> Bool {
    guard phase != .closed else { return false }
    phase = .closed
    return true
  }

  mutating func becomeReady() {
    if readiness == .none { readiness = .due }
  }

  /// Records that the app has read or written. `isReady` states whether there are more bytes to read or there is more
  /// room to write.
  mutating func wasUsed(isReady: Bool) { readiness = isReady ? .due : .none }

  mutating func end() {
    if ending == .none { ending = .due(.endEncountered) }
  }

  /// Records that the stream has failed. If `isEvent` is set, the delegate gets an event. If `isEvent` is not set, only
  /// the status and `error` show the failure.
  mutating func fail(_ reason: any Error, isEvent: Bool) {
    guard phase != .closed else { return }
    if error == nil { error = reason }
    if isEvent, ending == .none { ending = .due(.errorOccurred) }
  }

  /// Records that `event` is now being delivered to the delegate.
  mutating func take(_ event: Stream.Event) {
    switch event {
    case .openCompleted: phase = .open
    case .hasBytesAvailable, .hasSpaceAvailable: readiness = .told
    default:
      phase = .open
      ending = .told(event)
    }
  }
}

/// Detects a stream whose run loops have never handled an event, and records when its first event began to wait.
struct LoopWatch {
  /// The number of seconds within which a thread must start its run loop after scheduling a stream in it.
  static let patience = 2.0

  private(set) var since: Date?
  private var isOver = false

  /// Records that an event is waiting. Returns true if no event was already waiting and no event has ever been handled.
  mutating func begin() -> Bool {
    guard since == nil, !isOver else { return false }
    since = Date()
    return true
  }

  mutating func end() {
    since = nil
    isOver = true
  }

  mutating func stop() { since = nil }
}
