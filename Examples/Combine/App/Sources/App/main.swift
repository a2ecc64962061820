import CombineOnLinux
import ExternalAccessory

let names = PassthroughSubject<String, Never>()
let printing = names.sink { print("connected: \($0)") }
let connecting = NotificationCenter.default.publisher(for: .EAAccessoryDidConnect).sink { note in
  names.send((note.userInfo?[EAAccessoryKey] as? EAAccessory)?.name ?? "none")
}
// Posts the framework's notification, so that no accessory is needed.
NotificationCenter.default.post(name: .EAAccessoryDidConnect, object: nil)
withExtendedLifetime((printing, connecting)) {}
