import AccessoryCore
import AccessoryTransports
import AccessoryUSB
import ChannelSuite

/// How a simulated accessory comes to be on this machine's USB, and how it goes.
protocol AccessoryEnd: AnyObject {
  /// Shows it to the kernel. `hear` gets the cable of each program that begins to use it.
  func plugIn(_ hear: @escaping (Cable) -> Void) throws
  /// Pulls the plug, on the host's side of it where there are two.
  func pull()
  /// Leaves nothing behind.
  func tearDown()
}

/// Why there is no pair of ends to run a check on.
struct RigError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Two ends of one USB cable on one loop. The left one is the host's, through libusb; the host learns of the accessory
/// from libudev.
final class USBRig {
  /// An emulated processor that others use as well takes its time.
  static let hangLimit = Duration.seconds(60)

  private let loop: EpollLoop
  private let accessory: any AccessoryEnd
  private var here: [String: USBAccessory] = [:]
  private lazy var devices = USBDevices(on: loop) { [unowned self] change in
    switch change {
    case .arrived(let accessory), .changed(let accessory, _): here[accessory.path] = accessory
    case .left(let accessory): here[accessory.path] = nil
    }
  }
  /// The accessory's end of the cable that the host opened last.
  private var cable: Cable?

  private init(_ loop: EpollLoop, _ accessory: any AccessoryEnd) {
    self.loop = loop
    self.accessory = accessory
  }

  /// A factory for the channel suite.
  static func factory(
    _ name: String, traits: ChannelFactory.Traits,
    _ makeAccessory: @escaping @Sendable (EpollLoop) throws -> any AccessoryEnd
  ) -> ChannelFactory {
    ChannelFactory(name, traits: traits) { try connected(on: try EpollLoop(), makeAccessory) }
  }

  /// A factory for `DeathSuite`. The channel is the host's; the accessory closes it or is unplugged, which look the same to the
  /// host, and in both cases unread bytes are lost.
  static func deathFactory(
    _ name: String, _ makeAccessory: @escaping @Sendable (EpollLoop) throws -> any AccessoryEnd
  ) -> DeathFactory {
    DeathFactory(
      name, deaths: [.close, .cut], forgetsUnread: true, closing: .lost("the accessory was unplugged")
    ) {
      let loop = try EpollLoop()
      let rig = try connected(on: loop, makeAccessory)
      return DeathRig(
        channel: rig.left, other: ChannelledEnd(rig.right, cut: rig.cut), run: rig.run,
        turns: {
          let before = loop.turns
          _ = loop.run(until: { false }, limit: .milliseconds(50))
          return loop.turns - before
        }, tearDown: rig.dispose)
    }
  }

  private static func connected(
    on loop: EpollLoop, _ makeAccessory: (EpollLoop) throws -> any AccessoryEnd
  ) throws -> ChannelRig {
    let rig = USBRig(loop, try makeAccessory(loop))
    do {
      return try rig.connect()
    } catch {
      rig.tearDown()
      throw error
    }
  }

  private func connect() throws -> ChannelRig {
    try devices.start()
    guard here.isEmpty else { throw RigError("there is an accessory already: \(here.keys)") }
    try accessory.plugIn { [unowned self] in cable = $0 }
    try wait("the kernel found the accessory usable") { usable != nil }
    guard let usable else { throw RigError("the accessory went again") }
    var opened: Result<USBCable, USBHostError>?
    USBOpening(usable, on: loop) { opened = $0 }
    try wait("the accessory was opened") { opened != nil }
    let left = try opened?.get().cable.main
    // A gadget notices the program only when the kernel reports that its first reads have completed.
    try wait("the accessory heard of the program that opened it") { cable != nil }
    guard let left, let right = cable?.main else { throw RigError("there is no cable") }
    return ChannelRig(
      left: left, right: right, cut: { [accessory] in accessory.pull() },
      run: { [loop] in loop.run(until: $0, limit: Self.hangLimit) }, tearDown: { [self] in tearDown() })
  }

  /// An accessory that has its configuration: before it has, no interface can be claimed.
  private var usable: USBAccessory? {
    here.values.first { $0.trouble == nil && $0.activeConfiguration != nil }
  }

  private func wait(_ what: String, until condition: () -> Bool) throws(RigError) {
    guard loop.run(until: condition, limit: Self.hangLimit) else {
      throw RigError("it never came about that \(what); on USB: \(Array(here.values))")
    }
  }

  /// The device is given back and gone before the next check begins.
  private func tearDown() {
    _ = loop.run(until: { USBHost.isIdle }, limit: Self.hangLimit)
    accessory.pull()
    accessory.tearDown()
    _ = loop.run(until: { here.isEmpty }, limit: Self.hangLimit)
    devices.stop()
  }
}
