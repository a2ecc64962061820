// A modern app: Swift 6, with all code on the main actor by default.
import ExternalAccessory

final class Model: NSObject, StreamDelegate, EAAccessoryDelegate {
  private(set) var names: [String] = []
  private var session: EASession?
  private var tokens: [NotificationCenter.ObservationToken] = []

  func start() {
    let manager = EAAccessoryManager.shared()
    tokens.append(
      NotificationCenter.default.addObserver(of: manager, for: .accessoryDidConnect) { [weak self] message in
        self?.connect(message.accessory)
      })
    manager.registerForLocalNotifications()
    for accessory in manager.connectedAccessories { connect(accessory) }
  }

  func connect(_ accessory: EAAccessory) {
    names.append(accessory.name)
    accessory.delegate = self
    guard let first = accessory.protocolStrings.first else { return }
    session = EASession(accessory: accessory, forProtocol: first)
    session?.inputStream?.delegate = self
    session?.inputStream?.schedule(in: .main, forMode: .default)
    session?.inputStream?.open()
  }

  func accessoryDidDisconnect(_ accessory: EAAccessory) { names.removeAll { $0 == accessory.name } }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    guard event == .hasBytesAvailable, let input = stream as? InputStream else { return }
    var buffer = [UInt8](repeating: 0, count: 512)
    names.append("\(input.read(&buffer, maxLength: 512)) bytes")
  }
}

let model = Model()
model.start()
print(model.names)
