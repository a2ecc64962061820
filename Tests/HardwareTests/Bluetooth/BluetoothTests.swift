import AccessoryCables
import AccessoryCore
import Foundation
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryBluetooth
@testable import AccessoryHardware

/// Tests both roles with a mock of BlueZ on a private D-Bus.
@Suite(.waits) struct BluetoothTests {
  @Test func aHostDialsAnAccessoryThatItIsPairedWith() throws {
    let pair = try LabPair()
    pair.connect()
    #expect(pair.accessory.log.warnings == [])
  }

  @Test func theFlickerIsADisconnectAndAReconnectOnOneBond() throws {
    let pair = try LabPair(quirks: "flicker,empty=5ms,gap=5ms")
    pair.wait(for: ["connect []", "disconnect []"] + LabPair.whole)
    #expect(
      pair.lab.blueZ.calls.count { $0 == "bluez RegisterProfile" } == 2, "one for each role; none for the replug")
  }

  @Test func anAccessoryDialsItsHost() throws {
    let lab = try BluetoothLab()
    try lab.blueZ.addDevice("hci0", "00:AA:01:00:00:01", services: [])
    try lab.blueZ.addDevice("hci1", "00:AA:01:00:00:00", services: [AccessoryService.device])
    let host = try LabHost(lab, at: .init(adapter: "hci0", device: BluetoothDeviceAddress("00:AA:01:00:00:01")))
    let dials = Address.BluetoothSelector(adapter: "hci1", dials: BluetoothDeviceAddress("00:AA:01:00:00:00"))
    let accessory = try LabAccessory(lab, at: dials)
    lab.run(until: { host.log.appearances == LabPair.whole }, "\(host.log.appearances) \(accessory.log.warnings)")
  }

  @Test func whenBothDialOneLinkSurvives() throws {
    let lab = try BluetoothLab()
    try lab.blueZ.pairAdapters()
    let dials = Address.BluetoothSelector(adapter: "hci1", dials: BluetoothDeviceAddress("00:AA:01:00:00:00"))
    let accessory = try LabAccessory(lab, at: dials)
    let host = try LabHost(lab)
    lab.run(until: { host.log.appearances == LabPair.whole }, "\(host.log.appearances) \(accessory.log.warnings)")
    lab.settle()
    #expect(host.log.appearances == LabPair.whole)
    #expect(lab.sockets.dialled <= 3, "nothing is tried again and again")
  }

  /// After a restart, BlueZ's registrations are lost. The connection survives, because it belongs to the kernel.
  @Test(arguments: ["meanwhile nothing", "BlueZ restarts", "another BlueZ takes over"])
  func anAccessoryThatComesBackIsConnectedAgain(event: String) throws {
    let pair = try LabPair()
    pair.connect()
    switch event {
    case "BlueZ restarts": try pair.lab.restartService()
    case "another BlueZ takes over": try pair.lab.replaceService()
    default: break
    }
    pair.lab.run(until: { pair.lab.blueZ.services.count == 2 }, "\(pair.lab.blueZ.calls)")
    try pair.replug()
  }

  @Test func aDeviceThatIsNotPairedIsANearMissUntilItIs() throws {
    let lab = try BluetoothLab()
    let path = try lab.blueZ.addDevice(
      "hci0", "00:AA:01:00:00:01", paired: false, services: [AccessoryService.accessory])
    let accessory = try LabAccessory(lab, at: .init(adapter: "hci1"))
    let host = try LabHost(lab)
    lab.run(until: { host.dialer.trouble != nil })
    #expect(
      host.dialer.trouble?.description
        == "bt:hci0#00:AA:01:00:00:01 cannot be used: the device is not paired with this machine; pair it: "
        + "easim pair bt:00:AA:01:00:00:01")
    lab.blueZ.set(path, "Paired", .bool(true))
    lab.run(until: { host.log.appearances == LabPair.whole }, "\(host.log.appearances) \(accessory.log.warnings)")
  }

  @Test func aDeviceThatWasNamedAndIsUnknownIsSaidToBe() throws {
    let lab = try BluetoothLab()
    let host = try LabHost(lab, at: .init(device: BluetoothDeviceAddress("00:AA:01:00:00:09")))
    lab.run(until: { host.dialer.trouble != nil })
    #expect(host.dialer.trouble?.description.hasSuffix("; pair it: easim pair bt:00:AA:01:00:00:09") == true)
  }

  @Test func aBusyChannelIsTriedAgain() throws {
    let pair = try LabPair { $0.sockets.failures = [EBUSY, ECONNRESET, EBUSY] }
    pair.connect()
  }

  @Test func aSettingThatAnotherProgramIsChangingIsSetAgain() throws {
    let lab = try BluetoothLab()
    lab.blueZ.failures["Set"] = ("org.bluez.Error.Busy", "")
    let accessory = try LabAccessory(lab, at: .init(adapter: "hci1"))
    lab.run(until: { lab.blueZ.calls.contains("hci1 Set Discoverable=yes") }, "\(lab.blueZ.calls)")
    lab.blueZ.failures["Set"] = nil
    lab.run(until: { lab.blueZ.adapters["/org/bluez/hci1"]?["Discoverable"] == .bool(true) }, "\(lab.blueZ.calls)")
    #expect(accessory.log.warnings == [])
  }

  @Test func anAdapterThatIsSwitchedOnLaterIsUsedThen() throws {
    let pair = try LabPair { lab in
      lab.settle()
      lab.blueZ.set("/org/bluez/hci0", "Powered", .bool(false))
    }
    pair.lab.run(until: { pair.host.dialer.trouble != nil })
    guard case .notPermitted(_, let why, let fix)? = pair.host.dialer.trouble else {
      Issue.record("\(String(describing: pair.host.dialer.trouble))")
      return
    }
    #expect(why == "the Bluetooth adapter hci0 is off" && fix?.contains("bluetoothctl power on") == true)
    pair.lab.blueZ.set("/org/bluez/hci0", "Powered", .bool(true))
    pair.connect()
  }

  @Test func aSecondAccessoryOnOneBlueZIsToldThatTheServiceIsTaken() throws {
    let lab = try BluetoothLab()
    let first = try LabAccessory(lab, at: .init(adapter: "hci1"))
    lab.run(until: { lab.blueZ.services.count == 1 })
    let second = try LabAccessory(lab, at: .init(adapter: "hci0"))
    lab.run(until: { !second.accessory.isAttached })
    #expect(second.log.warnings.count == 1)
    #expect(second.log.warnings.first?.contains("BlueZ lets only one process offer the service") == true)
    #expect(first.accessory.isAttached)
  }

  @Test func theAdapterIsVisibleUnderTheAccessorysNameAndRestored() throws {
    try adapterIsRestored { lab, accessory in
      let shown = lab.blueZ.adapters["/org/bluez/hci1"]
      #expect(shown?["Alias"]?.text == accessory.accessory.profile.identity.name)
      #expect(shown?["Pairable"]?.truth == true && shown?["DiscoverableTimeout"]?.number == 0)
      #expect(lab.blueZ.adapters["/org/bluez/hci0"]?["Discoverable"]?.truth == false)
    }
  }

  @Test func theFirstNameIsRestoredAlthoughBlueZRemembersTheOther() throws {
    try adapterIsRestored { lab, accessory in
      try lab.restartService()
      lab.run(until: { lab.blueZ.calls.contains("hci1 Set Discoverable=yes") })
      lab.blueZ.set("/org/bluez/hci1", "Powered", .bool(false))
      lab.run(until: { !accessory.log.warnings.isEmpty })
      lab.blueZ.set("/org/bluez/hci1", "Powered", .bool(true))
      lab.run(until: { lab.blueZ.calls.filter { $0 == "hci1 Set Discoverable=yes" }.count == 2 })
    }
  }

  private func adapterIsRestored(after use: (BluetoothLab, LabAccessory) throws -> Void) throws {
    let lab = try BluetoothLab()
    let before = lab.blueZ.adapters["/org/bluez/hci1"]
    do {
      let accessory = try LabAccessory(lab, at: .init(adapter: "hci1"))
      lab.run(until: { lab.blueZ.calls.contains("hci1 Set Discoverable=yes") })
      try use(lab, accessory)
    }
    lab.run(until: { lab.blueZ.services.isEmpty && lab.blueZ.adapters["/org/bluez/hci1"] == before })
  }

  @Test func settingsThatCannotBeRestoredHarmNothing() throws {
    let lab = try BluetoothLab()
    do {
      let accessory = try LabAccessory(lab, at: .init(adapter: "hci1"))
      lab.run(until: { lab.blueZ.calls.contains("hci1 Set Discoverable=yes") })
      lab.blueZ.failures["Set"] = ("org.bluez.Error.NotReady", "Resource Not Ready")
      _ = accessory
    }
    lab.run(until: { lab.blueZ.services.isEmpty })
    lab.settle()
  }

  @Test func twoAddressesOfOneDeviceMakeOneConnection() throws {
    let lab = try BluetoothLab()
    try lab.blueZ.pairAdapters()
    let accessory = try LabAccessory(lab, at: .init(adapter: "hci1"))
    lab.run(until: { lab.blueZ.services.count == 1 })
    let host = BluetoothHost(BlueZ(.address(lab.address), on: lab.loop, sockets: lab.sockets))
    host.start()
    lab.run(until: { host.blueZ.devices.contains { $0.adapter == "hci0" } })
    let device = try #require(host.blueZ.devices.first { $0.adapter == "hci0" })
    var results: [Result<DescriptorChannel, BluetoothError>] = []
    let attempts = [
      host.connect(to: device) { results.append($0) }, host.connect(to: device) { results.append($0) },
    ]
    lab.run(until: { results.count == 2 })
    #expect(results.filter { (try? $0.get()) != nil }.count == 1)
    #expect(lab.sockets.dialled == 1)
    for attempt in attempts { attempt.cancel() }
    for result in results { (try? result.get())?.close() }
    _ = accessory
  }

  @Test func anEndThatBlueZAsksForEndsTheConnection() throws {
    let pair = try LabPair()
    pair.connect()
    let blueZ = pair.lab.blueZ
    let service = try #require(blueZ.services.first { $0.uuid == AccessoryService.accessory })
    blueZ.requestDisconnection(service, of: blueZ.path("hci1", "00:AA:01:00:00:00"))
    pair.lab.run(until: { pair.host.log.appearances.count >= 2 })
    #expect(pair.host.log.appearances.dropFirst().first == "disconnect [\"com.example.echo\"]")
  }

  @Test func aServiceThatDoesNotRunIsSaidAtOnce() throws {
    let lab = try BluetoothLab()
    lab.stopService()
    let seen = try #require(try lab.medium().look(at: .bluetooth(.init())))
    #expect(seen.accessories.isEmpty && seen.problems.count == 1)
    #expect(seen.problems.first?.contains(SystemService.bluetooth.start()) == true)
    let host = try LabHost(lab)
    lab.run(until: { host.dialer.trouble != nil })
    #expect(host.dialer.trouble?.description.contains(SystemService.bluetooth.start()) == true)
    try lab.startService()
    try lab.blueZ.pairAdapters()
    let accessory = try LabAccessory(lab, at: .init(adapter: "hci1"))
    lab.run(
      until: { host.log.appearances == LabPair.whole },
      "\(host.log.appearances) \(accessory.log.warnings) \(host.log.warnings) \(lab.blueZ.calls)")
  }

  @Test func aBusThatDiesIsTrouble() throws {
    let lab = try BluetoothLab()
    let host = try LabHost(lab)
    lab.settle()
    lab.killBus()
    lab.run(until: { host.dialer.trouble != nil })
    #expect(host.dialer.trouble?.detail.hasPrefix("there is no D-Bus system bus") == true)
  }

  @Test func aLookListsAccessoriesAndNearMisses() throws {
    let lab = try BluetoothLab()
    try lab.blueZ.pairAdapters()
    try lab.blueZ.addDevice("hci0", "00:AA:01:00:00:05", paired: false, services: [AccessoryService.accessory])
    try lab.blueZ.addDevice("hci0", "00:AA:01:00:00:06", services: ["0000110b-0000-1000-8000-00805f9b34fb"])
    // The look-up runs on another thread, because it blocks until the mock on this loop has answered.
    let (medium, loop) = (lab.medium(), lab.loop)
    let answer = Locked<Result<Sighting?, any Error>?>(nil)
    Thread.detachNewThread {
      let seen = Result { try medium.look(at: .bluetooth(.init())) }
      answer.withLock { $0 = seen }
      // The empty block wakes the loop, which then finds the answer.
      loop.execute {}
    }
    lab.run(until: { answer.withLock { $0 != nil } })
    let seen = try #require(try answer.withLock { try $0?.get() ?? nil })
    #expect(seen.isRemembered, "only a connection shows who is there")
    #expect(
      seen.accessories.map { "\($0.address) \($0.isNearMiss)" } == [
        "bt:hci0#00:AA:01:00:00:01 false", "bt:hci0#00:AA:01:00:00:05 true",
      ])
  }
}

@Suite(.waits) struct PairingTests {
  private let address = "00:AA:01:00:00:05"

  private final class Log {
    var events: [String] = []
  }

  private func pairing(
    _ lab: BluetoothLab, _ selector: Address.BluetoothSelector, _ log: Log,
    answer: @escaping (PairingAgent.Question) -> Void = { _ in }
  ) -> Pairing {
    let blueZ = BlueZ(.address(lab.address), on: lab.loop, sockets: lab.sockets)
    blueZ.start()
    return Pairing(selector, by: blueZ, capability: "KeyboardDisplay") { event in
      switch event {
      case .found(let device): log.events.append("found \(device.title)")
      case .begun(let device): log.events.append("begun \(device.address)")
      case .paired(let device): log.events.append("paired \(device.address)")
      case .failed(let error): log.events.append("failed: \(error)")
      case .question(let question): answer(question)
      }
    }
  }

  @Test func aDeviceIsTrustedBeforeItIsPaired() throws {
    let lab = try BluetoothLab()
    lab.blueZ.onScan = { blueZ in
      _ = try? blueZ.addDevice("hci0", address, paired: false, services: [AccessoryService.accessory])
    }
    let log = Log()
    let pairing = pairing(lab, .init(device: BluetoothDeviceAddress(address)), log)
    lab.run(until: { log.events.contains("paired \(address)") }, "\(log.events) \(lab.blueZ.calls)")
    #expect(log.events == ["begun \(address)", "paired \(address)"])
    let calls = lab.blueZ.calls
    let trusted = calls.firstIndex { $0.hasSuffix("Set Trusted=yes") }
    let paired = calls.firstIndex { $0.hasSuffix(" Pair") }
    #expect(try #require(trusted) < #require(paired))
    _ = pairing
  }

  @Test(arguments: [true, false]) func aNumberIsCompared(_ isRight: Bool) throws {
    let lab = try BluetoothLab()
    let path = try lab.blueZ.addDevice("hci0", address, paired: false, services: [])
    lab.blueZ.onPair = { blueZ, device, finish in
      blueZ.ask("RequestConfirmation", [.objectPath(device), .uint32(1_234)]) { answer in
        if case .success = answer { finish(true) } else { finish(false) }
      }
    }
    let log = Log()
    let pairing = pairing(lab, .init(device: BluetoothDeviceAddress(address)), log) { question in
      guard case .confirmation(let device, let number, let answer) = question else { return }
      log.events.append("\(device == path) \(number)")
      answer(isRight)
    }
    let last = isRight ? "paired \(address)" : "failed: it refused: it rejected the pairing"
    lab.run(until: { log.events.last == last }, "\(log.events)")
    #expect(log.events == ["begun \(address)", "true 1234", last])
    _ = pairing
  }

  @Test func aPINIsGiven() throws {
    let lab = try BluetoothLab()
    try lab.blueZ.addDevice("hci0", address, paired: false, services: [])
    var given: String?
    lab.blueZ.onPair = { blueZ, device, finish in
      blueZ.ask("RequestPinCode", [.objectPath(device)]) { answer in
        given = (try? answer.get())?.first?.text
        finish(true)
      }
    }
    let log = Log()
    let pairing = pairing(lab, .init(device: BluetoothDeviceAddress(address)), log) { question in
      if case .pin(_, let answer) = question { answer("4711") }
    }
    lab.run(until: { log.events.last == "paired \(address)" }, "\(log.events)")
    #expect(given == "4711")
    _ = pairing
  }

  @Test func withoutAnAddressWhateverIsFoundIsShown() throws {
    let lab = try BluetoothLab()
    lab.blueZ.onScan = { blueZ in
      _ = try? blueZ.addDevice("hci0", "00:AA:01:00:00:05", paired: false, services: [])
      _ = try? blueZ.addDevice("hci1", "00:AA:01:00:00:06", paired: false, services: [])
    }
    let log = Log()
    let pairing = pairing(lab, .init(adapter: "hci0"), log)
    lab.run(until: { !log.events.isEmpty })
    lab.settle()
    #expect(log.events == ["found device 00:AA:01:00:00:05"], "the other adapter's is not shown")
    pairing.stop()
    lab.run(until: { lab.blueZ.calls.contains("hci0 StopDiscovery") })
  }

  @Test func anAdapterThatIsOffIsSaid() throws {
    let lab = try BluetoothLab()
    lab.blueZ.set("/org/bluez/hci0", "Powered", .bool(false))
    let log = Log()
    let pairing = pairing(lab, .init(adapter: "hci0"), log)
    lab.run(until: { !log.events.isEmpty })
    #expect(log.events.first?.hasPrefix("failed: the Bluetooth adapter hci0 is off") == true)
    _ = pairing
  }

  @Test func aPairingThatFailsSaysWhy() throws {
    let lab = try BluetoothLab()
    try lab.blueZ.addDevice("hci0", address, paired: false, services: [])
    lab.blueZ.failures["Pair"] = ("org.bluez.Error.ConnectionAttemptFailed", "Page Timeout")
    let log = Log()
    let pairing = pairing(lab, .init(device: BluetoothDeviceAddress(address)), log)
    lab.run(until: { log.events.count == 2 })
    #expect(log.events.last == "failed: \(BluetoothError.outOfRange)")
    _ = pairing
  }
}
