// EADemo without its windows: waits for an accessory that offers a protocol, sends a string, hex bytes or 10K, and
// counts what comes back.
//
//   easim run echo                                            in one terminal
//   EADemoClient com.example.echo string "Hello"              in another
//   EADemoClient com.example.echo hex 0102ff
//   EADemoClient com.example.echo 10k
import ExternalAccessory

let arguments = CommandLine.arguments.dropFirst()
guard let wanted = arguments.first, arguments.count >= 2 else {
  print("usage: EADemoClient PROTOCOL string TEXT | hex BYTES | 10k")
  exit(2)
}
let kind = arguments.dropFirst().first ?? ""
let text = arguments.dropFirst(2).first ?? ""
let payload: Data
switch kind {
case "string": payload = Data(text.utf8)
case "hex":
  payload = Data(
    stride(from: 0, to: text.count - 1, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) })
default: payload = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0) })
}

let controller = EADSessionController()
var received = Data()

func connect(_ accessory: EAAccessory) {
  print("connected: \(accessory.name) \(accessory.protocolStrings)")
  guard controller.accessory == nil, accessory.protocolStrings.contains(wanted) else { return }
  controller.setupController(for: accessory, withProtocolString: wanted)
  guard controller.openSession() else {
    print("no session")
    exit(1)
  }
  controller.write(payload)
}

let center = NotificationCenter.default
_ = center.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: .main) { note in
  if let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory { connect(accessory) }
}
_ = center.addObserver(forName: .EAAccessoryDidDisconnect, object: nil, queue: .main) { note in
  if let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory { print("disconnected: \(accessory.name)") }
}
_ = center.addObserver(forName: .sessionDataReceived, object: controller, queue: nil) { _ in
  received.append(controller.readData(controller.readBytesAvailable) ?? Data())
  guard received.count >= payload.count else { return }
  print(received == payload ? "\(received.count) bytes came back as they were sent" : "other bytes came back")
  controller.closeSession()
  exit(received == payload ? 0 : 1)
}
EAAccessoryManager.shared().registerForLocalNotifications()
let attached = EAAccessoryManager.shared().connectedAccessories
if attached.isEmpty { print("No Accessories Connected") }
for accessory in attached { connect(accessory) }
RunLoop.main.run()
