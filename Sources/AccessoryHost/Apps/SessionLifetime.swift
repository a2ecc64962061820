/// When a session that an app has released ends, depending on its three objects: the session and its two streams.
///
/// Apps and systems differ. Some apps keep the session object, some only its streams. A session whose streams were
/// not both closed has been reported to block the next one, even when the output stream was never opened.
public struct SessionLifetime: Equatable, Sendable {
  /// When the session ends.
  public enum Rule: Hashable, Sendable {
    /// When the session object is released and each stream was closed or released, opened or not: no app is known to break
    /// with this.
    case heldOrOpen
    /// When the session object is released.
    case held
    /// When the object is released and both streams were closed by `close()`, opened or not.
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
  /// Whether the session has ended.
  public private(set) var isOver = false

  /// A session that was just opened.
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

  /// The app closed a stream. Returns whether the session ends now.
  public mutating func closed(_ stream: Stream) -> Bool {
    switch stream {
    case .input: input = .closed
    case .output: output = .closed
    }
    return settle()
  }

  /// The app released the session object. Returns whether the session ends now.
  public mutating func released() -> Bool {
    isHeld = false
    return settle()
  }

  private mutating func settle() -> Bool {
    guard !isOver, !isHeld else { return false }
    isOver =
      switch rule {
      case .held: true
      case .heldOrOpen, .closedTwice: input == .closed && output == .closed
      }
    return isOver
  }
}
