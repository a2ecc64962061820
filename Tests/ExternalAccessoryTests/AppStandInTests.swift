import AccessoryHost
import ExternalAccessory
import ExternalAccessoryAppStandIns
import ExternalAccessorySimulation
import Testing

/// Tests the UIKit stand-ins while a world controls the app's state.
@MainActor @Suite struct AppStandInTests {
  /// Records notifications about the app's state and about accessories, together with the state that `UIApplication`
  /// reports.
  @MainActor private final class Diary {
    private(set) var words: [String] = []
    private var observers: [any NSObjectProtocol] = []

    init() {
      for (name, word) in [
        (UIApplication.willResignActiveNotification, "will resign"),
        (UIApplication.didEnterBackgroundNotification, "in background"),
        (UIApplication.willEnterForegroundNotification, "will enter"),
        (UIApplication.didBecomeActiveNotification, "active"),
        (.EAAccessoryDidConnect, "connect"), (.EAAccessoryDidDisconnect, "disconnect"),
      ] {
        observers.append(
          NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) { [weak self] _ in
            MainActor.assumeIsolated {
              self?.words.append("\(word), \(UIApplication.shared.applicationState)")
            }
          })
      }
      EAAccessoryManager.shared().registerForLocalNotifications()
    }

    func close() { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
  }

  @Test(arguments: [AppState.background, .suspended])
  func withoutTheModeTheAppLeavesAndThenLosesItsAccessories(state: AppState) async throws {
    try await withSimulatedWorld { world in
      let diary = Diary()
      defer { diary.close() }
      try await world.plugIn("echo")
      world.move(to: state)
      await world.settle()
      #expect(
        diary.words == [
          "connect, active", "will resign, active", "in background, background", "disconnect, background",
        ])
      world.move(to: .foreground)
      await world.settle()
      #expect(diary.words.suffix(3) == ["will enter, background", "connect, inactive", "active, active"])
    }
  }

  @Test func whatWaitedForASuspendedAppComesBeforeItIsActive() async throws {
    try await withSimulatedWorld(.with { $0.backgroundModes = ["external-accessory"] }) { world in
      let diary = Diary()
      defer { diary.close() }
      world.move(to: .suspended)
      try await world.plugIn("echo")
      world.move(to: .foreground)
      await world.settle()
      #expect(
        diary.words == [
          "will resign, active", "in background, background", "will enter, background", "connect, inactive",
          "active, active",
        ])
    }
  }

  @Test func betweenBackgroundAndSuspensionNothingIsSaid() async throws {
    try await withSimulatedWorld { world in
      world.move(to: .background)
      await world.settle()
      let diary = Diary()
      defer { diary.close() }
      world.move(to: .suspended)
      world.move(to: .background)
      await world.settle()
      #expect(diary.words == [])
      #expect(UIApplication.shared.applicationState == .background)
    }
    try await withSimulatedWorld { _ in
      #expect(UIApplication.shared.applicationState == .active, "the life of an app ends with its world")
    }
  }

  @Test func namesAndValuesAreApples() {
    #expect(UIApplication.willResignActiveNotification.rawValue == "UIApplicationWillResignActiveNotification")
    #expect(UIApplication.didEnterBackgroundNotification.rawValue == "UIApplicationDidEnterBackgroundNotification")
    #expect(UIApplication.willEnterForegroundNotification.rawValue == "UIApplicationWillEnterForegroundNotification")
    #expect(UIApplication.didBecomeActiveNotification.rawValue == "UIApplicationDidBecomeActiveNotification")
    #expect(UIApplication.State.background.rawValue == 2)
  }
}
