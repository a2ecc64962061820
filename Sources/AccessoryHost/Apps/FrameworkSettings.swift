public import AccessoryProfiles

/// How Apple's framework reports events to an app. These settings cover only points on which Apple's documentation is
/// silent or systems differ. Each setting has a default, and alternatives observed in the field. ``AppRules`` contains
/// the remaining settings.
public struct FrameworkSettings: Sendable {
  /// Which comes first when an accessory disconnects: the notification or the end of the streams.
  public enum EndOrder: Sendable, CaseIterable {
    /// The streams report their end before the notification is posted.
    case streamsFirst
    /// The notification is posted before the streams report their end.
    case notificationFirst
  }

  /// What streams report when their accessory disconnects.
  public enum LossEvent: Sendable, CaseIterable {
    case endEncountered
    case errorOccurred
    /// The streams report nothing until a write fails.
    case silence
  }

  /// What a write returns when the buffer is full.
  public enum FullWrite: Int, Sendable, CaseIterable {
    /// The write returns 0.
    case zero = 0
    /// The write returns -1, as it does for an error.
    case minusOne = -1
  }

  /// The order of events after the user chooses an accessory in the picker.
  public enum PickerOrder: Sendable, CaseIterable {
    /// The connect notification comes first, followed by the completion.
    case connectFirst
    /// The completion comes first, followed by the connect notification.
    case completionFirst
  }

  /// The order of events at the end of a Wi-Fi configuration.
  public enum ConfigurationOrder: Sendable, CaseIterable {
    /// `didFinishConfiguringAccessory` comes first, followed by the state `stopped`.
    case finishedFirst
    /// The state `stopped` comes first, followed by `didFinishConfiguringAccessory`.
    case stoppedFirst
  }

  /// The layout of `EAAccessory.description`, which differs between versions of iOS.
  public typealias DescriptionLayout = AccessoryDescription.Generation

  /// Which comes first when an accessory disconnects: the notification or the end of the streams.
  public var endOrder = EndOrder.streamsFirst
  /// What streams report when their accessory disconnects.
  public var lossEvent = LossEvent.endEncountered
  /// What a write returns when the buffer is full.
  public var fullWrite = FullWrite.zero
  /// How long a session stays open after the app has released it.
  public var lifetime = SessionLifetime.Rule.heldOrOpen
  /// The order of the picker's completion and the connect notification.
  public var pickerOrder = PickerOrder.connectFirst
  /// The order of the events at the end of a Wi-Fi configuration.
  public var configurationOrder = ConfigurationOrder.finishedFirst
  /// The layout of `EAAccessory.description`.
  public var layout = DescriptionLayout.b
  /// How many bytes an output stream buffers between the app and the wire. This buffer limits how many bytes a single
  /// write accepts. The default buffer is smaller than many messages. An app that ignores the result of a write
  /// therefore loses bytes.
  public var sendBufferSize = 997
  /// How many bytes an input stream buffers between the wire and the app.
  public var receiveBufferSize = 64 * 1024

  /// Creates the default settings.
  public init() {}
}

/// Determines when to close a session that the app has released. Three objects keep a session open: the session object
/// and the session's two streams.
///
/// Some apps retain the session object, and some retain only its streams. According to reports, a session can block the
/// next one unless both of its streams are closed, even if the output stream was never opened.
public struct SessionLifetime: Equatable, Sendable {
  /// The condition that ends a session.
  public enum Rule: Hashable, Sendable {
    /// The session object was released, and each stream was closed or released. Streams that were never opened must
    /// also be closed or released. No app is known to fail under this rule.
    case heldOrOpen
    case held
    /// The session object was released, and `close()` was called on both streams, including those that were never
    /// opened.
    case closedTwice
  }

  /// One of the two streams.
  public enum Stream: Hashable, Sendable, CaseIterable {
    /// The stream of bytes that come from the accessory.
    case input
    /// The stream of bytes that go to the accessory.
    case output
  }

  private let rule: Rule
  private var isHeld = true
  private var closed: Set<Stream> = []
  /// Whether the session has ended.
  public private(set) var isOver = false

  /// Creates the lifetime of a session that has just been opened.
  public init(_ rule: Rule = .heldOrOpen) {
    self.rule = rule
  }

  /// Records that the app closed a stream, whether or not the stream was open. Returns true if this call ends the
  /// session.
  public mutating func closed(_ stream: Stream) -> Bool {
    closed.insert(stream)
    return settle()
  }

  /// Records that the app released the session object. Returns true if this call ends the session.
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
