import ExternalAccessory
import Foundation

/// Set this to your accessory's protocol, and declare the same protocol in the app's Info.plist.
let protocolName = "com.example.protocol"

/// The log of the current probe: each line has the time in seconds, the thread, and what happened.
final class ProbeLog: @unchecked Sendable {
  static let shared = ProbeLog()
  private let lock = NSLock()
  private let begin = Date()
  private var list: [String] = []
  /// Objects that are retained until the app ends: observers, sessions, delegates.
  var kept: [Any] = []

  func add(_ text: String) {
    let thread = Thread.isMainThread ? "main" : "other"
    lock.withLock { list.append(String(format: "%8.3f %@ ", Date().timeIntervalSince(begin), thread) + text) }
    print(text)
  }

  var text: String { lock.withLock { list.joined(separator: "\n") } }
}

func log(_ text: String) { ProbeLog.shared.add(text) }
func keep(_ object: Any) { ProbeLog.shared.kept.append(object) }
func later(_ seconds: Double, _ body: @escaping () -> Void) {
  nonisolated(unsafe) let body = body
  DispatchQueue.main.asyncAfter(deadline: .now() + seconds) { body() }
}

var manager: EAAccessoryManager { .shared() }
var wanted: EAAccessory? { manager.connectedAccessories.first { $0.protocolStrings.contains(protocolName) } }

/// Describes an accessory in one line, including the address of the object.
func line(_ accessory: EAAccessory) -> String {
  let object = ObjectIdentifier(accessory).hashValue
  return "\(accessory.name) id=\(accessory.connectionID) connected=\(accessory.isConnected) "
    + "protocols=\(accessory.protocolStrings) object=\(object)"
}

/// Logs each notification, together with the list of accessories at that moment.
func observe() {
  for name in [Notification.Name.EAAccessoryDidConnect, .EAAccessoryDidDisconnect] {
    keep(
      NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { note in
        let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory
        log(
          "\(name.rawValue): \(accessory.map(line) ?? "none") object is manager=\((note.object as AnyObject?) === manager) "
            + "selected=\(note.userInfo?[EAAccessorySelectedKey] != nil) list=\(manager.connectedAccessories.map(\.connectionID))"
        )
      })
  }
}
