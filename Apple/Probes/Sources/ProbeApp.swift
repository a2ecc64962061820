#if canImport(SwiftUI)
  import SwiftUI

  /// Shows a list of the probes, and the log.
  @main struct ProbeApp: App {
    private static let probes: [(String, () -> Void)] = [
      ("Registration", probeRegistration), ("Notifications", probeNotifications), ("Flicker", probeFlicker),
      ("Suspension", probeSuspension), ("Process", probeProcess), ("Sessions", probeSessions),
      ("Sharing", probeSharing),
      ("Streams", probeStreams), ("Writes", probeWrites), ("Ends", probeEnds), ("Picker", probePicker),
      ("WiFi", probeWiFi),
    ]
    @State private var text = ""

    var body: some Scene {
      WindowGroup {
        VStack {
          List(Self.probes, id: \.0) { probe in Button(probe.0) { probe.1() } }
          ScrollView { Text(text).font(.caption.monospaced()) }
          ShareLink("Share", item: text)
        }
        .onReceive(Timer.publish(every: 1, on: .main, in: .common).autoconnect()) { _ in text = ProbeLog.shared.text }
      }
    }
  }
#endif
