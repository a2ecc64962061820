/// An object of this process that BlueZ calls. It is exported and registered each time the service starts, and unregistered when
/// this is released. Calls from any other program are refused, because their connections need not be Bluetooth connections.
final class RegisteredObject {
  private let blueZ: BlueZ
  private let path: String
  private let manager: String
  private let unregister: String
  private let answer: (BusCall) -> Void
  private let exported: (Result<Void, BluetoothError>) -> Void
  private var object: BusObject?
  private var observer: BlueZ.Observer?

  /// Exports the object as soon as BlueZ answers, and again after each restart.
  ///
  /// - Parameters:
  ///   - path: one for each object of this process.
  ///   - manager: the interface of BlueZ that registers such objects.
  ///   - unregister: its method that removes the registration.
  ///   - answer: receives the calls of BlueZ.
  ///   - exported: called each time the object can be registered, or could not be exported.
  init(
    at path: String, by blueZ: BlueZ, manager: String, unregister: String, answer: @escaping (BusCall) -> Void,
    exported: @escaping (Result<Void, BluetoothError>) -> Void
  ) {
    (self.path, self.blueZ, self.manager, self.unregister) = (path, blueZ, manager, unregister)
    (self.answer, self.exported) = (answer, exported)
    observer = blueZ.observe { [unowned self] news in
      switch news {
      case .available: export()
      case .unavailable: withdraw()
      default: break
      }
    }
    if blueZ.state == .available { export() }
  }

  deinit {
    guard let object else { return }
    // When the process ends, BlueZ removes the registration by itself.
    blueZ.call("/org/bluez", manager, unregister, [.objectPath(path)]) { _ in }
    blueZ.bus?.withdraw(object)
  }

  private func withdraw() {
    if let object { blueZ.bus?.withdraw(object) }
    object = nil
  }

  private func export() {
    // Once each time the service starts.
    guard object == nil, let bus = blueZ.bus else { return }
    do {
      object = try bus.export(path) { [weak self] call in
        guard let self, call.sender == blueZ.owner else {
          return call.fail("org.freedesktop.DBus.Error.AccessDenied", "only BlueZ may call this")
        }
        answer(call)
      }
    } catch {
      return exported(.failure(BluetoothError(error)))
    }
    exported(.success(()))
  }
}
