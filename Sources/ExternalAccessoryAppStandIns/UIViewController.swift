public import Foundation

/// What `EAWiFiUnconfiguredAccessoryBrowser.configureAccessory(_:withConfigurationUIOn:)` is given: on Apple's systems the
/// system's dialogue opens on it. Here the world answers, and nothing is shown.
///
/// This is a stand-in, not UIKit: there is no view in it.
@MainActor open class UIViewController: NSObject {}
