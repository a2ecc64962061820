package import AccessoryHost

/// What Apple's documents leave open, or what systems do differently, beyond ``AppRules``; each point with what is
/// built by default and what else was seen.
package struct RealmSettings: Sendable {
  /// What is told first when an accessory goes.
  package enum EndOrder: Sendable {
    /// The streams that end, then the notification.
    case streamsFirst
    /// The notification, then the streams.
    case notificationFirst
  }

  /// What streams say when their accessory goes.
  package enum LossEvent: Sendable {
    /// `endEncountered` on both.
    case endEncountered
    /// `errorOccurred` on both.
    case errorOccurred
    /// Nothing, until the next write fails.
    case silence
  }

  /// What a write returns when there is no room.
  package enum FullWrite: Int, Sendable {
    /// 0: nothing was taken.
    case zero = 0
    /// -1, as for an error.
    case minusOne = -1
  }

  /// The order in which a picker's choice is told.
  package enum PickerOrder: Sendable {
    /// The connect notification, then the completion.
    case connectFirst
    /// The completion, then the connect notification.
    case completionFirst
  }

  /// The order in which the end of a configuration is told.
  package enum ConfigurationOrder: Sendable {
    /// `didFinishConfiguringAccessory`, then the state `stopped`.
    case finishedFirst
    /// The state, then the end.
    case stoppedFirst
  }

  /// The layout of `EAAccessory.description`.
  package enum DescriptionLayout: Sendable {
    /// iOS 12's.
    case a
    /// With a region code.
    case b
    /// Without a delegate.
    case c
  }

  /// Streams or notification first.
  package var endOrder = EndOrder.streamsFirst
  /// What streams say when their accessory goes.
  package var lossEvent = LossEvent.endEncountered
  /// What a write without room returns.
  package var fullWrite = FullWrite.zero
  /// How long a session lives that the app let go of.
  package var lifetime = SessionLifetime.Rule.heldOrOpen
  /// A picker's completion and the connect.
  package var pickerOrder = PickerOrder.connectFirst
  /// The end of a configuration and the state.
  package var configurationOrder = ConfigurationOrder.finishedFirst
  /// The layout of descriptions.
  package var layout = DescriptionLayout.b
  /// How many bytes a stream holds each way between the app and the wire.
  package var bufferSize = 64 * 1024

  /// The defaults.
  package init() {}
}
