/// How Apple's framework tells an app what the device knows, where its documents leave that open or systems differ: what
/// is beyond ``AppRules``. Each point with what is built by default and what else was seen.
public struct FrameworkSettings: Sendable {
  /// What is told first when an accessory goes.
  public enum EndOrder: Sendable, CaseIterable {
    /// The streams that end, then the notification.
    case streamsFirst
    /// The notification, then the streams.
    case notificationFirst
  }

  /// What streams say when their accessory goes.
  public enum LossEvent: Sendable, CaseIterable {
    /// `endEncountered` on both.
    case endEncountered
    /// `errorOccurred` on both.
    case errorOccurred
    /// Nothing, until the next write fails.
    case silence
  }

  /// What a write returns when there is no room.
  public enum FullWrite: Int, Sendable, CaseIterable {
    /// 0: nothing was taken.
    case zero = 0
    /// -1, as for an error.
    case minusOne = -1
  }

  /// The order in which a picker's choice is told.
  public enum PickerOrder: Sendable, CaseIterable {
    /// The connect notification, then the completion.
    case connectFirst
    /// The completion, then the connect notification.
    case completionFirst
  }

  /// The order in which the end of a configuration is told.
  public enum ConfigurationOrder: Sendable, CaseIterable {
    /// `didFinishConfiguringAccessory`, then the state `stopped`.
    case finishedFirst
    /// The state, then the end.
    case stoppedFirst
  }

  /// The layout of `EAAccessory.description`, which changes from one generation of iOS to another.
  public enum DescriptionLayout: Sendable, CaseIterable {
    /// iOS 12's.
    case a
    /// With a region code.
    case b
    /// Without a delegate.
    case c
  }

  /// Streams or notification first.
  public var endOrder = EndOrder.streamsFirst
  /// What streams say when their accessory goes.
  public var lossEvent = LossEvent.endEncountered
  /// What a write without room returns.
  public var fullWrite = FullWrite.zero
  /// How long a session lives that the app let go of.
  public var lifetime = SessionLifetime.Rule.heldOrOpen
  /// A picker's completion and the connect.
  public var pickerOrder = PickerOrder.connectFirst
  /// The end of a configuration and the state.
  public var configurationOrder = ConfigurationOrder.finishedFirst
  /// The layout of descriptions.
  public var layout = DescriptionLayout.b
  /// How many bytes a stream holds each way between the app and the wire.
  public var bufferSize = 64 * 1024

  /// The defaults.
  public init() {}
}
