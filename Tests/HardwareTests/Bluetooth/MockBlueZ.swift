import AccessoryCore
import CSystemd
import Glibc
import LinuxIO

@testable import AccessoryBluetooth

/// A mock of the parts of BlueZ that easim uses: adapters, devices, registered services, and an agent.
final class MockBlueZ {
  struct Service: Equatable {
    var client: String
    var path: String
    var uuid: String
    var channel: UInt8
  }

  private(set) var bus: MessageBus?
  private let loop: EpollLoop
  var adapters: [String: [String: BusValue]] = [:]
  var devices: [String: [String: BusValue]] = [:]
  private(set) var services: [Service] = []
  private(set) var agent: (client: String, path: String)?
  private(set) var calls: [String] = []
  var failures: [String: (name: String, message: String)] = [:]
  // Both closures receive the mock as an argument. A closure that captured the mock's lab instead would keep the lab
  // and the bus process alive forever.
  var onPair: ((_ mock: MockBlueZ, _ device: String, _ answer: @escaping (Bool) -> Void) -> Void)?
  var onScan: ((_ mock: MockBlueZ) -> Void)?
  private var exported: Set<String> = []

  /// - Parameter replaces: whether to take the name over from another mock, like a daemon that starts before the old
  ///   one has exited.
  init(_ place: MessageBus.Place, on loop: EpollLoop, replaces: Bool = false) throws {
    self.loop = loop
    let bus = try MessageBus(place, on: loop) { _ in }
    self.bus = bus
    // Flag 1 replaces the owner of the name, and flag 2 allows this mock to be replaced.
    var result: Int32 = 0
    // A mock that has disconnected may keep the name until the bus notices. Each attempt is one round trip on the bus.
    // The limit only prevents the test from hanging.
    for _ in 0..<20_000 {
      result = sd_bus_request_name(bus.raw, "org.bluez", replaces ? 3 : 2)
      if result != -EEXIST { break }
    }
    precondition(result >= 0, "the name is taken: \(result)")
    for (name, address) in [("hci0", "00:AA:01:00:00:00"), ("hci1", "00:AA:01:00:00:01")] {
      adapters["/org/bluez/\(name)"] = [
        "Address": .string(address), "Alias": .string("machine"), "Powered": .bool(true),
        "Discoverable": .bool(false), "Pairable": .bool(false), "DiscoverableTimeout": .uint32(180),
      ]
    }
    try export("/")
    try export("/org/bluez")
    for path in adapters.keys { try export(path) }
  }

  func leave() {
    bus = nil
    services = []
  }

  // MARK: Test control

  func path(_ adapter: String, _ address: String) -> String {
    "/org/bluez/\(adapter)/dev_" + address.split(separator: ":").joined(separator: "_")
  }

  @discardableResult
  func addDevice(_ adapter: String, _ address: String, paired: Bool = true, services: [String]) throws -> String {
    let path = path(adapter, address)
    devices[path] = [
      "Alias": .string("device \(address)"), "Paired": .bool(paired), "Trusted": .bool(paired),
      "UUIDs": .array(of: "s", services.map { .string($0) }),
    ]
    try export(path)
    emit("/", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded", [.objectPath(path), interfaces(path)])
    return path
  }

  /// Pairs the two adapters: hci0 belongs to the host, and hci1 to the accessory.
  func pairAdapters() throws {
    try addDevice("hci0", "00:AA:01:00:00:01", services: [AccessoryService.accessory])
    try addDevice("hci1", "00:AA:01:00:00:00", services: [AccessoryService.device])
  }

  func removeDevice(_ path: String) {
    devices[path] = nil
    emit(
      "/", "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved",
      [.objectPath(path), .array(of: "s", [.string("org.bluez.Device1")])])
  }

  func set(_ path: String, _ name: String, _ value: BusValue) {
    let interface: String
    if adapters[path] != nil {
      adapters[path]?[name] = value
      interface = "org.bluez.Adapter1"
    } else {
      devices[path]?[name] = value
      interface = "org.bluez.Device1"
    }
    emit(
      path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
      [.string(interface), .properties([name: value]), .array(of: "s", [])])
  }

  func service(_ channel: UInt8) -> Service? { services.first { $0.channel == channel } }

  func connect(_ service: Service, from device: String, _ descriptor: Int32) {
    bus?.call(
      service.client, service.path, "org.bluez.Profile1", "NewConnection",
      [.objectPath(device), .descriptor(BusDescriptor(taking: descriptor)), .properties([:])]
    ) { _ in }
  }

  func requestDisconnection(_ service: Service, of device: String) {
    bus?.call(service.client, service.path, "org.bluez.Profile1", "RequestDisconnection", [.objectPath(device)]) { _ in
    }
  }

  func ask(_ member: String, _ arguments: [BusValue], answer: @escaping (MessageBus.Answer) -> Void) {
    guard let agent else { return answer(.failure(.closed("no agent"))) }
    bus?.call(agent.client, agent.path, "org.bluez.Agent1", member, arguments, completion: answer)
  }

  private func emit(_ path: String, _ interface: String, _ member: String, _ values: [BusValue]) {
    guard let raw = bus?.raw else { return }
    var message: OpaquePointer?
    guard sd_bus_message_new_signal(raw, &message, path, interface, member) >= 0, let message else { return }
    try? append(values, to: message)
    sd_bus_send(raw, message, nil)
    sd_bus_message_unref(message)
  }

  private func interfaces(_ path: String) -> BusValue {
    let isAdapter = adapters[path] != nil
    let properties = isAdapter ? adapters[path] : devices[path]
    return .array(
      of: "{sa{sv}}",
      [.entry(.string(isAdapter ? "org.bluez.Adapter1" : "org.bluez.Device1"), .properties(properties ?? [:]))])
  }

  // MARK: Calls

  private func export(_ path: String) throws {
    guard exported.insert(path).inserted else { return }
    try bus?.export(path) { [unowned self] in answer($0) }
  }

  private func answer(_ call: BusCall) {
    if call.interface == "org.freedesktop.DBus.Peer" { return call.answer() }
    let subject = call.path.split(separator: "/").last.map(String.init) ?? "/"
    var detail = ""
    if call.member == "Set", call.arguments.count == 3 {
      detail = " \(call.arguments[1].text ?? "")=\(call.arguments[2].plain)"
    }
    calls.append("\(subject) \(call.member)\(detail)")
    if let failure = failures[call.member] { return call.fail(failure.name, failure.message) }
    switch call.member {
    case "GetManagedObjects":
      let paths = (Array(adapters.keys) + Array(devices.keys)).sorted()
      call.answer([.array(of: "{oa{sa{sv}}}", paths.map { .entry(.objectPath($0), interfaces($0)) })])
    case "RegisterProfile": register(call)
    case "UnregisterProfile":
      services.removeAll { $0.client == call.sender && $0.path == call.arguments.first?.text }
      call.answer()
    case "RegisterAgent":
      agent = (call.sender, call.arguments.first?.text ?? "")
      call.answer()
    case "UnregisterAgent":
      agent = nil
      call.answer()
    case "Set":
      let value = call.arguments[2].unwrapped
      call.answer()
      set(call.path, call.arguments[1].text ?? "", value)
    case "StartDiscovery":
      call.answer()
      onScan?(self)
    case "Pair":
      let finish = { [unowned self] (isPaired: Bool) in
        if isPaired {
          set(call.path, "Paired", .bool(true))
          call.answer()
        } else {
          call.fail("org.bluez.Error.AuthenticationRejected", "")
        }
      }
      if let onPair { onPair(self, call.path, finish) } else { finish(true) }
    case "RemoveDevice":
      call.answer()
      removeDevice(call.arguments.first?.text ?? "")
    case "RequestDefaultAgent", "SetDiscoveryFilter", "StopDiscovery", "CancelPairing": call.answer()
    default: call.failAsUnknown()
    }
  }

  private func register(_ call: BusCall) {
    guard call.arguments.count == 3, let path = call.arguments[0].text, let uuid = call.arguments[1].text,
      let options = call.arguments[2].dictionary, let channel = options["Channel"]?.number
    else { return call.fail("org.bluez.Error.InvalidArguments", "") }
    guard !services.contains(where: { $0.uuid == uuid }) else {
      return call.fail("org.bluez.Error.NotPermitted", "UUID already registered")
    }
    services.append(Service(client: call.sender, path: path, uuid: uuid, channel: UInt8(clamping: channel)))
    call.answer()
  }
}

/// Sockets between the adapters of a ``MockBlueZ``. A connection reaches whichever process offers a service on that
/// channel.
final class MockSockets: BluetoothSockets, @unchecked Sendable {
  // Used only on the event loop.
  private let loop: EpollLoop
  weak var blueZ: MockBlueZ?
  var failures: [Int32] = []
  private(set) var dialled = 0
  private var answering: [Responder] = []

  init(on loop: EpollLoop) { self.loop = loop }

  func isFree(channel: UInt8) -> Bool { blueZ?.service(channel) == nil }

  func connect(
    _ channel: UInt8?, from local: BluetoothDeviceAddress, to remote: BluetoothDeviceAddress
  ) throws(SystemError) -> Int32 {
    if !failures.isEmpty { throw SystemError("connect to \(remote)", code: failures.removeFirst()) }
    var ends: [Int32] = [0, 0]
    let type = channel == nil ? SOCK_SEQPACKET : SOCK_STREAM
    guard
      socketpair(AF_UNIX, Int32(type.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        == 0
    else { throw SystemError("connect to \(remote)", code: errno) }
    guard let channel else {
      answering.append(Responder(ends[1], self, on: loop))
      return ends[0]
    }
    dialled += 1
    guard let blueZ, let service = blueZ.service(channel) else {
      close(ends[0])
      close(ends[1])
      throw SystemError("connect to \(remote)", code: ECONNREFUSED)
    }
    let adapter = blueZ.adapters.first { $0.value["Address"]?.text == remote.description }?.key ?? "/org/bluez/hci0"
    let device = blueZ.path(String(adapter.split(separator: "/").last ?? ""), local.description)
    blueZ.connect(service, from: device, ends[1])
    return ends[0]
  }

  private final class Responder: DescriptorHandler {
    private let descriptor: Int32
    private unowned let sockets: MockSockets
    private var watch: (any DescriptorWatch)?

    init(_ descriptor: Int32, _ sockets: MockSockets, on loop: EpollLoop) {
      self.descriptor = descriptor
      self.sockets = sockets
      watch = try? loop.watch(descriptor, for: .readable, self)
    }

    deinit { close(descriptor) }

    func descriptorReady(_ readiness: Readiness) {
      var packet = [UInt8](repeating: 0, count: 1_024)
      let count = recv(descriptor, &packet, packet.count, 0)
      guard count > 0 else {
        watch?.cancel()
        sockets.answering.removeAll { $0 === self }
        return
      }
      // The two UUIDs differ in their last byte.
      let uuid = packet[8 + 15] == 0xFF ? AccessoryService.accessory : AccessoryService.device
      var records: [UInt8] = [0x35, 0x00]
      if let service = sockets.blueZ?.services.first(where: { $0.uuid == uuid }) {
        records =
          [0x35, 0x13, 0x35, 0x11, 0x09, 0x00, 0x04, 0x35, 0x0C, 0x35, 0x03, 0x19, 0x01, 0x00]
          + [0x35, 0x05, 0x19, 0x00, 0x03, 0x08, service.channel]
      }
      let answer =
        [0x07, packet[1], packet[2], 0, UInt8(records.count + 3), 0, UInt8(records.count)] + records + [0x00]
      _ = answer.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
  }
}

extension BusValue {
  fileprivate var plain: String {
    switch unwrapped {
    case .bool(let truth): truth ? "yes" : "no"
    case .integer(let number, _): "\(number)"
    default: text ?? "?"
    }
  }
}
