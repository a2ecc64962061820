import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import Certificates
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct MediumTableTests {
  private static let usb = ["usb:", "usbip:127.0.0.1:3240", "gadget:"]

  private func device(on loop: any EventLoop) -> Device {
    Device(settings: DeviceSettings(authenticator: StubAuthenticator(seed: 1)), on: loop) { _ in }
  }

  @Test(arguments: Address.Kind.allCases) func everyKindOfAddressHasAMediumInAProgramWithHardware(
    kind: Address.Kind
  ) throws {
    let example = [
      Address.Kind.local: "local:", .unix: "unix:/a", .tcp: "tcp:[::1]:7", .pty: "pty:/a", .serial: "serial:/a",
      .usb: "usb:", .usbip: "usbip:[::1]:7", .gadget: "gadget:", .bt: "bt:",
    ]
    let address = try Address(parsing: try #require(example[kind]))
    #expect(try MediumTable.linked[address].kinds.contains(kind))
  }

  @Test(arguments: usb) func withoutHardwareEveryUseOfUSBNamesTheProductToAdd(text: String) throws {
    let (address, loop) = (try Address(parsing: text), try EpollLoop())
    let profile = try ProfileLibrary().profile("echo")
    #expect(throws: TransportError.noMedium(address)) { try MediumTable.standard.look(at: address) }
    #expect(throws: TransportError.noMedium(address)) {
      try MediumTable.standard.makeDialer(to: address, for: device(on: loop), on: loop)
    }
    #expect(throws: TransportError.noMedium(address)) {
      try PortMaker(.standard, PortContext(on: loop)).makePort(at: address, for: profile)
    }
  }

  @Test func aHostCannotConnectWhereSimulatedAccessoriesAppear() throws {
    let loop = try EpollLoop()
    for text in ["usbip:127.0.0.1:3240", "gadget:"] {
      let address = try Address(parsing: text)
      #expect(throws: TransportError.simulatorsOnly(address)) {
        try MediumTable.linked.makeDialer(to: address, for: device(on: loop), on: loop)
      }
      #expect(throws: TransportError.simulatorsOnly(address)) { try MediumTable.linked.look(at: address) }
    }
  }

  @Test func aSimulatedAccessoryCannotAppearWhereRealOnesAre() throws {
    let maker = PortMaker(.linked, PortContext(on: try EpollLoop()))
    let profile = try ProfileLibrary().profile("echo")
    #expect(throws: TransportError.hostsOnly(.usb(.any))) { try maker.makePort(at: .usb(.any), for: profile) }
  }

  @Test func whatCanNeverBeConnectedToIsRefusedBeforeAnythingIsTried() throws {
    let (address, loop) = (Address.tcp(host: "192.0.2.1", port: 7), try EpollLoop())
    #expect(throws: TransportError.remoteNotAllowed(address)) {
      try MediumTable.standard.makeDialer(to: address, for: device(on: loop), on: loop)
    }
  }

  @Test func anAccessoryInALocalDirectoryHasTheSerialNumberOfItsProfile() throws {
    let maker = PortMaker(.standard, PortContext(on: try EpollLoop()))
    let profile = try ProfileLibrary().profile("echo")
    let error = #expect(throws: TransportError.self) {
      try maker.makePort(at: .local(directory: "/b", serial: "S1"), for: profile)
    }
    #expect("\(try #require(error))".contains("did you mean local:/b#?"))
  }

  @Test func accessoriesOfOneProgramShareTheirLocalDirectory() throws {
    let folder = TemporaryFolder()
    let maker = PortMaker(.standard, PortContext(on: try EpollLoop()))
    let local = Address.local(directory: folder.file("local"), serial: nil)
    for number in 1...3 {
      var profile = try ProfileLibrary().profile("echo")
      profile.identity.serialNumber = "S\(number)"
      let port = try maker.makePort(at: local, for: profile, number: number)
      port.show(PortAppearance(profile, offering: []))
      #expect(port.place == "local:\(folder.file("local"))#S\(number)")
    }
  }

  /// To add a medium, a type that conforms to `Medium` and one line in the table are enough.
  @Test func aNewMediumIsAConformanceAndALine() throws {
    struct EmptyMedium: Medium {
      let kinds = [Address.Kind.usb]
      func look(at address: Address) -> Sighting? { Sighting(accessories: []) }
    }
    var table = MediumTable.standard
    table.add(EmptyMedium())
    let loop = try EpollLoop()
    #expect(try table.look(at: .usb(.any))?.accessories == [])
    #expect(throws: TransportError.simulatorsOnly(.usb(.any)), "what it leaves out is refused") {
      try table.makeDialer(to: .usb(.any), for: device(on: loop), on: loop)
    }
    #expect(throws: TransportError.hostsOnly(.usb(.any))) {
      try PortMaker(table, PortContext(on: loop)).makePort(at: .usb(.any), for: ProfileLibrary().profile("echo"))
    }
  }
}
