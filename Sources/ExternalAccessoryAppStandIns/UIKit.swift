public import Foundation

/// A stand-in for UIKit's `UIApplication`. The stand-in stores the app's state, and posts notifications when the state
/// changes. No screen is simulated.
///
/// In a test, the app's state follows `SimulatedWorld.move(to:)`. In a program without a world, the app is always
/// active and no notifications are posted.
///
/// ```swift
/// NotificationCenter.default.addObserver(
///   forName: UIApplication.didBecomeActiveNotification, object: nil, queue: .main
/// ) { _ in lookForAccessories() }
/// ```
@MainActor open class UIApplication: NSObject {
  /// The state of an app.
  public enum State: Int, Sendable {
    /// The app is in the foreground.
    case active = 0
    /// The app is between foreground and background.
    case inactive = 1
    /// The app is in the background.
    case background = 2
  }

  /// The app.
  public static let shared = UIApplication()

  /// The state of the app.
  public private(set) var applicationState = State.active

  /// The app is about to leave the foreground, but is still active.
  public nonisolated static let willResignActiveNotification = Notification.Name(
    "UIApplicationWillResignActiveNotification")
  /// The app is in the background. Unless the app declares the background mode, its accessories disconnect next.
  public nonisolated static let didEnterBackgroundNotification = Notification.Name(
    "UIApplicationDidEnterBackgroundNotification")
  /// The app is about to return to the foreground. Connect and disconnect notifications that were held back are
  /// delivered next.
  public nonisolated static let willEnterForegroundNotification = Notification.Name(
    "UIApplicationWillEnterForegroundNotification")
  /// The app is in the foreground, and its accessories are connected.
  public nonisolated static let didBecomeActiveNotification = Notification.Name(
    "UIApplicationDidBecomeActiveNotification")

  // MARK: Calls from a world

  package enum Step: Sendable {
    case willResignActive
    case didEnterBackground
    case willEnterForeground
    case didBecomeActive
  }

  /// Posts the notification for a state change. A notification with "will" in its name is posted before the state
  /// changes.
  package func take(_ step: Step) {
    switch step {
    case .willResignActive:
      post(Self.willResignActiveNotification)
      applicationState = .inactive
    case .didEnterBackground:
      applicationState = .background
      post(Self.didEnterBackgroundNotification)
    case .willEnterForeground:
      post(Self.willEnterForegroundNotification)
      applicationState = .inactive
    case .didBecomeActive:
      applicationState = .active
      post(Self.didBecomeActiveNotification)
    }
  }

  /// Sets the state to active without a notification, when a world ends.
  package func reset() { applicationState = .active }

  private func post(_ name: Notification.Name) { NotificationCenter.default.post(name: name, object: self) }
}

/// A stand-in for UIKit's `UIViewController`, without a view.
///
/// `EAWiFiUnconfiguredAccessoryBrowser.configureAccessory(_:withConfigurationUIOn:)` takes a view controller. Apple's
/// systems show the configuration on that view controller. In this package nothing is shown, and the world decides the
/// result.
@MainActor open class UIViewController: NSObject {}
