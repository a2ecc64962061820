import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessorySessions
import AccessorySimulator
import Certificates
import Glibc
import TestSupport
import Testing

@Suite(.waits) struct LocalDialerTests {
  final class Host {
    let device: Device
    let dialer: Dialer
    private(set) var log = Log()

    final class Log {
      var appearances: [String] = []
      var warnings: [String] = []
    }

    init(_ lab: LocalLab, wanting serial: String? = nil) throws {
      let log = log
      device = Device(
        settings: DeviceSettings(authenticator: StubAuthenticator(seed: 1)), on: lab.loop
      ) { event in
        switch event.kind {
        case .connect, .disconnect:
          log.appearances.append("\(event.kind.name) \(event.subject?.serial ?? "?") \(event.subject?.protocols ?? [])")
        case .warning(let text): log.warnings.append(text)
        default: break
        }
      }
      dialer = try MediumTable.standard.makeDialer(
        to: .local(directory: lab.directory.path, serial: serial), for: device, on: lab.loop)
    }

    func stop() {
      dialer.stop()
      device.unplugAll()
    }
  }

  @Test func onlyTheCableThatIsWantedIsTaken() throws {
    let lab = try LocalLab()
    var visitors: [String] = []
    let accessories = try ["S1", "S2", "S3"].map { serial in
      try lab.accessory(try lab.profile(serial: serial)) { event in
        if case .note(let text) = event.kind, text.hasPrefix("device connected") { visitors.append(serial) }
      }
    }
    for accessory in accessories { try accessory.plugIn() }
    let host = try Host(lab, wanting: "S2")
    try host.dialer.start()
    lab.run(until: { host.log.appearances.count == 1 })
    #expect(visitors == ["S2"])
    #expect(host.device.cableCount == 1)
    host.stop()
    for accessory in accessories { accessory.unplug() }
  }

  @Test func aCableThatAnotherHostHasIsWaitedForAndItsOwnerNamed() throws {
    let lab = try LocalLab()
    let accessory = try lab.accessory(try lab.profile(serial: "S1"))
    try accessory.plugIn()
    let (first, second) = (try Host(lab), try Host(lab))
    try first.dialer.start()
    lab.run(until: { first.log.appearances.count == 1 })
    try second.dialer.start()
    #expect(second.log.warnings == ["local:\(lab.directory)#S1 is in use by pid \(getpid())"])
    #expect(second.dialer.trouble == .inUse(lab.directory.address(of: "S1"), pid: getpid()))
    first.stop()
    lab.run(until: { second.log.appearances.count == 1 })
    #expect(second.log.warnings.count == 1, "said once, however often it was asked for")
    #expect(second.dialer.trouble == nil)
    second.stop()
    accessory.unplug()
  }

  @Test func whenTheDeviceLeavesTheCardShowsTheFlickerThatTheNextOneWillSee() throws {
    let lab = try LocalLab()
    let accessory = try lab.accessory(try lab.profile(serial: "S1", quirks: "flicker,empty=1ms,gap=1ms"))
    try accessory.plugIn()
    let host = try Host(lab)
    try host.dialer.start()
    lab.run(until: { host.log.appearances.count == 3 })
    #expect(try lab.directory.look().accessories.first?.protocols == ["com.example.echo"])
    host.stop()
    lab.run(until: { (try? lab.directory.look().accessories.first?.protocols) == [] })
    accessory.unplug()
    #expect(lab.files == [])
  }
}
