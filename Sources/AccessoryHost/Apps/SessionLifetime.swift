/// When a session ends that an app has let go of, seen from its three handles: the session object and its two streams.
///
/// Clients disagree, and so do systems: some clients keep the session, some only its streams; and a session whose
/// streams were not both closed has been seen to block the next one, even where the output stream was never opened.
public struct SessionLifetime: Equatable, Sendable {
  /// How long the session's pipe lives.
  public enum Rule: Hashable, Sendable {
    /// While the session object is held or a stream is open: the choice that breaks no client.
    case heldOrOpen
    /// While the session object is held.
    case held
    /// Until the object is let go and both streams were closed, opened or not.
    case closedTwice
  }

  /// One of the two streams.
  public enum Stream: Hashable, Sendable, CaseIterable {
    /// From the accessory.
    case input
    /// To the accessory.
    case output
  }

  private enum StreamState: Equatable {
    case unopened
    case open
    case closed
  }

  private let rule: Rule
  private var isHeld = true
  private var input = StreamState.unopened
  private var output = StreamState.unopened
  /// Whether the pipe is over.
  public private(set) var isOver = false

  /// A session that an app has just been given.
  public init(_ rule: Rule = .heldOrOpen) {
    self.rule = rule
  }

  /// The app opened a stream.
  public mutating func opened(_ stream: Stream) {
    switch stream {
    case .input: if input == .unopened { input = .open }
    case .output: if output == .unopened { output = .open }
    }
  }

  /// The app closed a stream. Returns whether the pipe ends now.
  public mutating func closed(_ stream: Stream) -> Bool {
    switch stream {
    case .input: input = .closed
    case .output: output = .closed
    }
    return settle()
  }

  /// The app let go of the session object. Returns whether the pipe ends now.
  public mutating func released() -> Bool {
    isHeld = false
    return settle()
  }

  private mutating func settle() -> Bool {
    guard !isOver, !isHeld else { return false }
    isOver =
      switch rule {
      case .heldOrOpen: input != .open && output != .open
      case .held: true
      case .closedTwice: input == .closed && output == .closed
      }
    return isOver
  }
}
