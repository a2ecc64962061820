import AccessoryCore

/// An RFCOMM service that this process offers on every adapter. BlueZ listens for connections, publishes the service
/// record, and passes on each connection as a file descriptor. After BlueZ restarts, the service is registered again.
/// The service disappears when this object is released or the process ends.
final class OfferedService {
  enum Event {
    /// A device, identified by its object path, has connected.
    case connected(device: String, BusDescriptor)
    case closeRequested(device: String)
    case failed(BluetoothError)
  }

  private let isAccepting: () -> Bool
  private let onEvent: (Event) -> Void
  private var registration: RegisteredObject?

  /// Offers a service as soon as BlueZ answers.
  ///
  /// - Parameters:
  ///   - first: the lowest RFCOMM channel to try.
  ///   - path: the path of the object that BlueZ calls, which must be different for each service.
  ///   - isAccepting: returns whether connections should be accepted now.
  init(
    _ uuid: String, fromChannel first: UInt8, at path: String, by blueZ: BlueZ,
    isAccepting: @escaping () -> Bool = { true }, onEvent: @escaping (Event) -> Void
  ) {
    self.isAccepting = isAccepting
    self.onEvent = onEvent
    let channel = (first...30).first { blueZ.sockets.isFree(channel: $0) } ?? first
    registration = RegisteredObject(
      "Profile", at: path, by: blueZ, [.string(uuid), Self.options(uuid, channel)]
    ) { result in
      if case .failure(let error) = result { onEvent(.failed(error)) }
    } onCall: { [weak self] in
      self?.handle($0)
    }
  }

  private func handle(_ call: BusCall) {
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
      onEvent(.closeRequested(device: device))
    case ("Release", _): call.answer()
    default: call.failAsUnknown()
    }
  }

  /// Without `Channel`, BlueZ does not listen. Without the record, BlueZ does not publish the serial port profile,
  /// which many hosts search for.
  static func options(_ uuid: String, _ channel: UInt8) -> BusValue {
    .properties([
      "Name": .string(name), "Role": .string("server"), "Channel": .uint16(UInt16(channel)),
      "ServiceRecord": .string(record(uuid, channel)), "RequireAuthentication": .bool(true),
      "RequireAuthorization": .bool(false),
    ])
  }

  private static let name = "Wireless iAP"

  /// Returns the SDP record in BlueZ's XML format. The record contains the service class, the protocols (L2CAP, and
  /// RFCOMM with the channel), browse group 1002, the languages, version 1.2 of the serial port profile (1101), and the
  /// name.
  static func record(_ uuid: String, _ channel: UInt8) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <record>
      <attribute id="0x0001"><sequence><uuid value="\(uuid)"/></sequence></attribute>
      <attribute id="0x0004"><sequence>
        <sequence><uuid value="0x0100"/></sequence>
        <sequence><uuid value="0x0003"/><uint8 value="\(channel)"/></sequence>
      </sequence></attribute>
      <attribute id="0x0005"><sequence><uuid value="0x1002"/></sequence></attribute>
      <attribute id="0x0006"><sequence>
        <uint16 value="0x656e"/><uint16 value="0x006a"/><uint16 value="0x0100"/>
      </sequence></attribute>
      <attribute id="0x0009"><sequence>
        <sequence><uuid value="0x1101"/><uint16 value="0x0102"/></sequence>
      </sequence></attribute>
      <attribute id="0x0100"><text value="\(name)"/></attribute>
    </record>
    """
  }
}

/// An object in this process whose methods BlueZ calls. The object is exported and registered each time BlueZ starts,
/// and unregistered when it is released. Calls from other programs are refused because those programs could pass in
/// connections that are not Bluetooth connections.
final class RegisteredObject {
  private let kind: String
  private let path: String
  private let blueZ: BlueZ
  private let arguments: [BusValue]
  private let registered: (Result<Void, BluetoothError>) -> Void
  private let onCall: (BusCall) -> Void
  private var object: BusSlot?
  private var observer: BlueZ.Observer?

  /// Registers the object as soon as BlueZ answers, and again each time BlueZ restarts.
  ///
  /// - Parameters:
  ///   - kind: `Profile` or `Agent`, as in the names of BlueZ's interfaces and methods.
  ///   - path: the object's path, which must be unique in this process.
  ///   - arguments: the arguments that follow the path in the call that registers the object.
  ///   - registered: called after each registration, whether or not it succeeded.
  init(
    _ kind: String, at path: String, by blueZ: BlueZ, _ arguments: [BusValue],
    registered: @escaping (Result<Void, BluetoothError>) -> Void, onCall: @escaping (BusCall) -> Void
  ) {
    (self.kind, self.path, self.blueZ, self.arguments) = (kind, path, blueZ, arguments)
    (self.registered, self.onCall) = (registered, onCall)
    observer = blueZ.observe { [unowned self] event in
      switch event {
      case .available: export()
      case .unavailable:
        if let object { blueZ.bus?.withdraw(object) }
        object = nil
      default: break
      }
    }
    if blueZ.state == .available { export() }
  }

  deinit {
    guard let object else { return }
    // BlueZ removes the registration by itself when this process ends.
    call("Unregister\(kind)") { _ in }
    blueZ.bus?.withdraw(object)
  }

  /// Calls a method of the BlueZ manager responsible for this kind of object. The first argument is this object's path.
  func call(
    _ member: String, _ arguments: [BusValue] = [], completion: @escaping (Result<Void, BluetoothError>) -> Void
  ) {
    blueZ.call("/org/bluez", "org.bluez.\(kind)Manager1", member, [.objectPath(path)] + arguments) {
      completion($0.map { _ in })
    }
  }

  private func export() {
    // Once exported, an object is registered again only after BlueZ restarts.
    guard object == nil, let bus = blueZ.bus else { return }
    do {
      object = try bus.export(path) { [weak self] call in
        guard let self, call.sender == blueZ.owner else {
          return call.fail("org.freedesktop.DBus.Error.AccessDenied", "only BlueZ may call this")
        }
        guard call.interface.isEmpty || call.interface == "org.bluez.\(kind)1" else { return call.failAsUnknown() }
        onCall(call)
      }
    } catch {
      return registered(.failure(BluetoothError(error)))
    }
    call("Register\(kind)", arguments) { [weak self] in self?.registered($0) }
  }
}
