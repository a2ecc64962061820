import AccessoryCore

/// A service that this process offers on every adapter: BlueZ listens, publishes the record, and hands each connection over
/// as a descriptor. Registered again by itself when BlueZ was restarted; gone when this is dropped or the process ends.
public final class OfferedService {
  /// What happens to the service.
  public enum Event {
    /// A device connected: its object path, and the connection.
    case connected(device: String, BusDescriptor)
    /// BlueZ asks this process to close a device's connection.
    case shallEnd(device: String)
    /// The service is registered and published.
    case registered
    /// The service cannot be offered.
    case failed(BluetoothError)
  }

  private static let managerInterface = "org.bluez.ProfileManager1"
  private static let profileInterface = "org.bluez.Profile1"

  private let blueZ: BlueZ
  private let record: ServiceRecord
  private let path: String
  private let onEvent: (Event) -> Void
  private var registration: RegisteredObject?
  private var isAccepting: () -> Bool

  /// Offers a service, from when BlueZ first answers.
  ///
  /// - Parameters:
  ///   - path: the object of this process that BlueZ calls; one for each service.
  ///   - isAccepting: whether a device that connects now is accepted.
  public init(
    _ record: ServiceRecord, at path: String, by blueZ: BlueZ, isAccepting: @escaping () -> Bool = { true },
    onEvent: @escaping (Event) -> Void
  ) {
    self.blueZ = blueZ
    self.record = record
    self.path = path
    self.isAccepting = isAccepting
    self.onEvent = onEvent
    registration = RegisteredObject(
      at: path, by: blueZ, manager: Self.managerInterface, unregister: "UnregisterProfile"
    ) { [weak self] call in
      self?.handle(call)
    } exported: { [weak self] result in
      switch result {
      case .success: self?.register()
      case .failure(let error): self?.onEvent(.failed(error))
      }
    }
  }

  private func register() {
    blueZ.call(
      "/org/bluez", Self.managerInterface, "RegisterProfile",
      [.objectPath(path), .string(record.service), .properties(record.options)]
    ) { [weak self] answer in
      guard let self else { return }
      switch answer {
      case .success: onEvent(.registered)
      case .failure(let error): onEvent(.failed(error))
      }
    }
  }

  private func handle(_ call: BusCall) {
    guard call.interface.isEmpty || call.interface == Self.profileInterface else { return call.failAsUnknown() }
    switch (call.member, call.arguments.first) {
    case ("NewConnection", .objectPath(let device)):
      guard call.arguments.count >= 2, case .descriptor(let descriptor) = call.arguments[1] else {
        return call.fail("org.bluez.Error.InvalidArguments", "no descriptor")
      }
      guard isAccepting() else { return call.fail("org.bluez.Error.Rejected", "the accessory is not plugged in") }
      call.answer()
      onEvent(.connected(device: device, descriptor))
    case ("RequestDisconnection", .objectPath(let device)):
      call.answer()
      onEvent(.shallEnd(device: device))
    case ("Release", _): call.answer()
    default: call.failAsUnknown()
    }
  }
}
