/// How Apple's framework reports events to an app, where its documentation does not say or systems differ; ``AppRules``
/// has the rest. Each setting has a default and the other behaviours that were reported.
public struct FrameworkSettings: Sendable {
  /// What is reported first at a disconnect.
  public enum EndOrder: Sendable, CaseIterable {
    /// The ends of the streams, then the notification.
    case streamsFirst
    /// The notification, then the ends of the streams.
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

  /// The result of a write when there is no room.
  public enum FullWrite: Int, Sendable, CaseIterable {
    /// 0: nothing was taken.
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
  /// How long a session stays open after the app has released it.
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
