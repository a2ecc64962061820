public import AccessoryHost
import ExternalAccessory
import ExternalAccessoryAppStandIns

/// The app's life: what becomes of its accessories and sessions, and, for apps that use `ExternalAccessoryAppStandIns`,
/// what `UIApplication` says of it.
extension SimulatedWorld {
  /// Takes the app to the screen, away from it, or stops it.
  ///
  /// Leaving, `UIApplication` speaks before the accessories go; coming back, they are told of between its two words.
  public func move(to state: AppState) {
    perform { [realm] _ in
      let (wasShown, isShown) = (realm.app.state == .foreground, state == .foreground)
      if wasShown, !isShown {
        tellApp(.willResignActive)
        tellApp(.didEnterBackground)
      }
      if !wasShown, isShown { tellApp(.willEnterForeground) }
      realm.app.move(to: state)
      if !wasShown, isShown { tellApp(.didBecomeActive) }
    }
  }

  /// Where the app is in its life.
  public var appState: AppState { perform { [realm] _ in realm.app.state } }

  private func tellApp(_ step: UIApplication.Step) {
    realm.main.add { MainActor.assumeIsolated { UIApplication.shared.take(step) } }
  }

  /// The app's life in this world is over.
  func endLife() {
    realm.main.add { MainActor.assumeIsolated { UIApplication.shared.beginAnew() } }
  }
}
