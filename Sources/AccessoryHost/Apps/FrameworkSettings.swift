/// How Apple's framework reports events to an app, in points where its documentation is silent or systems differ;
/// ``AppRules`` contains the rest. Each setting has a default and the other behaviors that were reported.
public struct FrameworkSettings: Sendable {
  /// What is reported first at a disconnect.
  public enum EndOrder: Sendable, CaseIterable {
    /// The ends of the streams, then the notification.
    case streamsFirst
    /// The notification, then the ends of the streams.
    case notificationFirst
  }

  /// What streams report when their accessory leaves.
  public enum LossEvent: Sendable, CaseIterable {
    /// `endEncountered` on both.
    case endEncountered
    /// `errorOccurred` on both.
    case errorOccurred
    /// Nothing, until the next write fails.
    case silence
  }

  /// The result of a write when there is no room.
  public enum FullWrite: Int, Sendable, CaseIterable {
    /// 0: nothing was accepted.
    case zero = 0
    /// -1, as for an error.
    case minusOne = -1
  }

  /// The order of events after a choice in the picker.
  public enum PickerOrder: Sendable, CaseIterable {
    /// The connect notification, then the completion.
    case connectFirst
    /// The completion, then the connect notification.
    case completionFirst
  }

  /// The order of events at the end of a Wi-Fi configuration.
  public enum ConfigurationOrder: Sendable, CaseIterable {
    /// `didFinishConfiguringAccessory`, then the state `stopped`.
    case finishedFirst
    /// The state `stopped`, then `didFinishConfiguringAccessory`.
    case stoppedFirst
  }

  /// The layout of `EAAccessory.description`, which changes from one generation of iOS to another.
  public enum DescriptionLayout: Sendable, CaseIterable {
    /// iOS 12's.
    case a
    /// The description has a region code.
    case b
    /// The description has no delegate.
    case c
  }

  /// Which comes first at a disconnect: streams or notification.
  public var endOrder = EndOrder.streamsFirst
  /// What streams report when their accessory leaves.
  public var lossEvent = LossEvent.endEncountered
  /// What a write without room returns.
  public var fullWrite = FullWrite.zero
  /// How long a session stays open after the app has released it.
  public var lifetime = SessionLifetime.Rule.heldOrOpen
  /// The order of a picker's completion and the connect.
  public var pickerOrder = PickerOrder.connectFirst
  /// The order of the end of a configuration and the state.
  public var configurationOrder = ConfigurationOrder.finishedFirst
  /// The layout of descriptions.
  public var layout = DescriptionLayout.b
  /// How many bytes an output stream holds between the app and the wire: the most that one write takes. Small and odd,
  /// because no message has this size and many are longer: a write whose result the app ignores loses bytes.
  public var sendBufferSize = 997
  /// How many bytes an input stream holds between the wire and the app.
  public var receiveBufferSize = 64 * 1024

  /// The defaults.
  public init() {}
}

/// When a session that an app has released ends, depending on three objects: the session and its two streams.
///
/// Apps and systems differ. Some apps keep the session object, some only its streams. A session whose streams were
/// not both closed has been reported to block the next one, even when the output stream was never opened.
public struct SessionLifetime: Equatable, Sendable {
  /// When the session ends.
  public enum Rule: Hashable, Sendable {
    /// When the session object is released and each stream was closed or released, opened or not: no app is known to
    /// break with this rule.
    case heldOrOpen
    /// When the session object is released.
    case held
    /// When the object is released and both streams were closed with `close()`, opened or not.
    case closedTwice
  }

  /// One of the two streams.
  public enum Stream: Hashable, Sendable, CaseIterable {
    /// Bytes from the accessory.
    case input
    /// Bytes to the accessory.
    case output
  }

  private let rule: Rule
  private var isHeld = true
  private var closed: Set<Stream> = []
  /// Whether the session has ended.
  public private(set) var isOver = false

  /// A session that was just opened.
  public init(_ rule: Rule = .heldOrOpen) {
    self.rule = rule
  }

  /// The app closed a stream, opened or not. Returns whether the session ends now.
  public mutating func closed(_ stream: Stream) -> Bool {
    closed.insert(stream)
    return settle()
  }

  /// The app released the session object. Returns whether the session ends now.
  public mutating func released() -> Bool {
    isHeld = false
    return settle()
  }

  private mutating func settle() -> Bool {
    guard !isOver, !isHeld else { return false }
    isOver = rule == .held || closed.count == Stream.allCases.count
    return isOver
  }
}
