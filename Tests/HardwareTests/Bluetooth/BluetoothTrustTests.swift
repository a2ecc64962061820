import AccessoryCore
import TestSupport
import Testing

@testable import AccessoryBluetooth

/// Tests what devices in range and other programs on the system bus can do.
@Suite(.waits) struct BluetoothTrustTests {
  @Test func aHostThatConnectsAgainReplacesItsDeadConnection() throws {
    let lab = try BluetoothLab()
    try lab.blueZ.pairAdapters()
    let accessory = try LabAccessory(lab, at: .init(adapter: "hci1"))
    let (first, second) = (try RawHost(), try RawHost())
    try first.connect(lab, from: "00:AA:01:00:00:00")
    lab.run(until: { first.hasDetection })
    // The first connection is still open, as it is after Bluetooth has been turned off on the host with rfkill.
    try second.connect(lab, from: "00:AA:01:00:00:00")
    lab.run(until: { second.hasDetection })
    lab.run(until: { first.isClosed })
    _ = accessory
  }

  @Test func whileOneHostIsServedAnotherIsTurnedAwayAtOnce() throws {
    let lab = try BluetoothLab()
    try lab.blueZ.pairAdapters()
    let accessory = try LabAccessory(lab, at: .init(adapter: "hci1"))
    let (first, second) = (try RawHost(), try RawHost())
    try first.connect(lab, from: "00:AA:01:00:00:00")
    lab.run(until: { first.hasDetection })
    try second.connect(lab, from: "00:AA:01:00:00:07")
    lab.run(until: { second.isClosed })
    #expect(!first.isClosed && !second.hasDetection)
    _ = accessory
  }

  @Test func onlyBlueZMayHandOverConnectionsAndAsk() throws {
    let lab = try BluetoothLab()
    try lab.blueZ.pairAdapters()
    let accessory = try LabAccessory(lab, at: .init(adapter: "hci1"))
    lab.run(until: { lab.blueZ.services.count == 1 && lab.blueZ.agent != nil })
    let service = try #require(lab.blueZ.services.first)
    let stranger = try MessageBus(.address(lab.address), on: lab.loop) { _ in }
    let device: BusValue = .objectPath(lab.blueZ.path("hci1", "00:AA:01:00:00:00"))
    let host = try RawHost()
    var refusals: [String] = []
    let onEvent = { (answer: MessageBus.Answer) in
      guard case .failure(.remote(let name, _)) = answer else { return refusals.append("\(answer)") }
      refusals.append(name)
    }
    stranger.call(
      service.client, service.path, "org.bluez.Profile1", "NewConnection",
      [device, .descriptor(host.near), .properties([:])], completion: onEvent)
    let agent = try #require(lab.blueZ.agent)
    stranger.call(agent.client, agent.path, "org.bluez.Agent1", "RequestPinCode", [device], completion: onEvent)
    lab.run(until: { refusals.count == 2 })
    #expect(refusals == Array(repeating: "org.freedesktop.DBus.Error.AccessDenied", count: 2))
    #expect(!host.hasDetection)
    _ = accessory
  }

  @Test func aPairedDeviceMayUseTheAccessorysServiceAndNoOther() throws {
    let lab = try BluetoothLab()
    let accessory = try LabAccessory(lab, at: .init(adapter: "hci1"))
    lab.run(until: { lab.blueZ.agent != nil })
    var answers: [Bool] = []
    for service in [AccessoryService.accessory.uppercased(), "0000110a-0000-1000-8000-00805f9b34fb"] {
      let device: BusValue = .objectPath(lab.blueZ.path("hci1", "00:AA:01:00:00:07"))
      lab.blueZ.ask("AuthorizeService", [device, .string(service)]) { answer in
        if case .success = answer { answers.append(true) } else { answers.append(false) }
      }
    }
    lab.run(until: { answers.count == 2 })
    #expect(answers == [true, false])
    _ = accessory
  }

  @Test func anAccessoryThatDialsAgainReplacesItsDeadConnection() throws {
    let lab = try BluetoothLab()
    // BlueZ knows none of the accessory's services, so only the accessory can connect.
    try lab.blueZ.addDevice("hci0", "00:AA:01:00:00:01", services: [])
    let host = try LabHost(lab, at: .init(adapter: "hci0", device: BluetoothDeviceAddress("00:AA:01:00:00:01")))
    let (first, second) = (try RawHost(), try RawHost())
    try first.connect(lab, from: "00:AA:01:00:00:01", to: AccessoryService.device, on: "hci0")
    lab.run(until: { host.device.cableCount == 1 })
    try second.connect(lab, from: "00:AA:01:00:00:01", to: AccessoryService.device, on: "hci0")
    lab.run(until: { first.isClosed })
    lab.run(until: { host.device.cableCount == 1 })
    #expect(!second.isClosed)
  }
}
