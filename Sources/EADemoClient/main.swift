// EADemo without its user interface. The program waits for an accessory that offers a protocol, sends a string, hex
// bytes or 10 KB, and counts the bytes that come back.
//
//   easim run echo                                            in one terminal
//   EADemoClient com.example.echo string "Hello"              in another
//   EADemoClient com.example.echo hex 0102ff
//   EADemoClient com.example.echo 10k
import ExternalAccessory

/// Prints a line immediately, so that a program that reads the output through a pipe sees each line at once.
func show(_ line: String) {
  print(line)
  fflush(nil)
}

/// Stands in for EADemo's root view controller.
final class Demo: @unchecked Sendable {
  private let wanted: String
  private let payload: Data
  private let controller = EADSessionController()
  private var received = Data()
  private var observers: [any NSObjectProtocol] = []

  init(_ wanted: String, sending payload: Data) {
    self.wanted = wanted
    self.payload = payload
  }

  func start() {
    let center = NotificationCenter.default
    observers = [
      center.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: .main) { [self] note in
        if let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory { connect(accessory) }
      },
      center.addObserver(forName: .EAAccessoryDidDisconnect, object: nil, queue: .main) { [self] note in
        if let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory { show("disconnected: \(accessory.name)") }
        reportIfNothingIsConnected()
      },
      center.addObserver(forName: .sessionDataReceived, object: controller, queue: nil) { [self] _ in receive() },
    ]
    EAAccessoryManager.shared().registerForLocalNotifications()
    reportIfNothingIsConnected()
    for accessory in EAAccessoryManager.shared().connectedAccessories { connect(accessory) }
  }

  private func reportIfNothingIsConnected() {
    if EAAccessoryManager.shared().connectedAccessories.isEmpty { show("No Accessories Connected") }
  }

  private func connect(_ accessory: EAAccessory) {
    show("connected: \(accessory.name) \(accessory.protocolStrings)")
    guard controller.accessory == nil, accessory.protocolStrings.contains(wanted) else { return }
    controller.setupController(for: accessory, withProtocolString: wanted)
    guard controller.openSession() else {
      show("no session")
      exit(1)
    }
    controller.write(payload)
  }

  private func receive() {
    received.append(controller.readData(controller.readBytesAvailable) ?? Data())
    guard received.count >= payload.count else { return }
    show(received == payload ? "\(received.count) bytes came back unchanged" : "other bytes came back")
    controller.closeSession()
    exit(received == payload ? 0 : 1)
  }
}

let arguments = Array(CommandLine.arguments.dropFirst())
let text = arguments.count > 2 ? arguments[2] : ""
let payload: Data? =
  switch arguments.count > 1 ? arguments[1] : "" {
  case "string": Data(text.utf8)
  case "hex":
    Data(stride(from: 0, to: text.count - 1, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) })
  case "10k": Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0) })
  default: nil
  }
guard let payload, let wanted = arguments.first else {
  show("usage: EADemoClient PROTOCOL string TEXT | hex BYTES | 10k")
  exit(2)
}

let demo = Demo(wanted, sending: payload)
demo.start()
RunLoop.main.run()
