public import Foundation

/// The app, as far as code that talks to accessories asks about it: where it is in its life, and word of that.
///
/// This is a stand-in, not UIKit: nothing is on a screen. In a test it follows the life that the world gives the app;
/// in a program without a world it stays active for ever, and nothing is posted.
///
/// ```swift
/// NotificationCenter.default.addObserver(
///   forName: UIApplication.didBecomeActiveNotification, object: nil, queue: .main
/// ) { _ in lookForAccessories() }
/// ```
@MainActor open class UIApplication: NSObject {
  /// Where an app is in its life.
  public enum State: Int, Sendable {
    /// On the screen.
    case active = 0
    /// On its way to the screen, or away from it.
    case inactive = 1
    /// Not on the screen.
    case background = 2
  }

  /// The app.
  public static let shared = UIApplication()

  /// Where it is.
  public private(set) var applicationState = State.active

  /// It is about to leave the screen, and active still.
  public nonisolated static let willResignActiveNotification = Notification.Name(
    "UIApplicationWillResignActiveNotification")
  /// It has left the screen. Without the background mode it hears next that its accessories went.
  public nonisolated static let didEnterBackgroundNotification = Notification.Name(
    "UIApplicationDidEnterBackgroundNotification")
  /// It is about to come to the screen. What waited to be told of accessories comes next.
  public nonisolated static let willEnterForegroundNotification = Notification.Name(
    "UIApplicationWillEnterForegroundNotification")
  /// It is on the screen, and its accessories are there.
  public nonisolated static let didBecomeActiveNotification = Notification.Name(
    "UIApplicationDidBecomeActiveNotification")

  // MARK: From a world

  /// One step of its life.
  package enum Step: Sendable {
    case willResignActive
    case didEnterBackground
    case willEnterForeground
    case didBecomeActive
  }

  /// Takes a step. What is about to happen has not happened yet for those who are told.
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

  /// Is active, and nobody is told: a world is over, and so is the app's life in it.
  package func beginAnew() { applicationState = .active }

  private func post(_ name: Notification.Name) { NotificationCenter.default.post(name: name, object: self) }
}
