import AccessoryCore
import AccessoryUSB
import ChannelSuite
import LinuxIO

protocol AccessoryEnd: AnyObject {
  func plugIn(_ onEvent: @escaping (Cable) -> Void) throws
  func pull()
  func tearDown()
}

struct RigError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Two ends of one USB cable on one loop. The left end belongs to the host, which uses libusb. libudev reports the
/// accessory to the host.
final class USBRig {
  /// The time limit for one check. The limit is long, because an emulated processor that is shared with other guests is
  /// slow.
  static let hangLimit = Duration.seconds(60)
  static let tearDownLimit = Duration.seconds(20)
  /// The time within which an accessory must notice that a program is using it.
  private static let hearing = Duration.milliseconds(500)

  private let loop: EpollLoop
  private let end: Instant
  private let accessory: any AccessoryEnd
  private var here: [String: USBAccessory] = [:]
  private lazy var devices = USBDevices(on: loop) { [unowned self] change in
    switch change {
    case .arrived(let accessory), .changed(let accessory, _): here[accessory.path] = accessory
    case .left(let accessory): here[accessory.path] = nil
    }
  }
  private var cable: Cable?

  private init(_ loop: EpollLoop, _ accessory: any AccessoryEnd) {
    self.loop = loop
    self.accessory = accessory
    end = loop.now + Self.hangLimit
  }

  static func factory(
    _ name: String, traits: ChannelFactory.Traits,
    _ makeAccessory: @escaping @Sendable (EpollLoop) throws -> any AccessoryEnd
  ) -> ChannelFactory {
    ChannelFactory(name, traits: traits) { try connected(on: try EpollLoop(), makeAccessory) }
  }

  /// Creates a factory for `DeathSuite`. The channel under test is the host's. To the host, closing the accessory looks
  /// the same as unplugging it. Closing and unplugging both lose unread bytes.
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
    let (left, right) = try open(usable)
    return ChannelRig(
      left: left, right: right, cut: { [accessory] in accessory.pull() },
      run: { [self] in run(until: $0) }, tearDown: { [self] in tearDown() })
  }

  /// Opens the accessory. Returns the host's end and the accessory's end.
  ///
  /// A gadget notices a program when the program reads the gadget's probes. When a device is opened, easim reads until
  /// the accessory has been silent for 10 ms, but on a busy machine the probes may arrive later. A real host would
  /// continue to read. Here, many checks begin with a channel that has not been started and therefore does not read, so
  /// the device is opened again until the accessory notices in time.
  private func open(_ usable: USBAccessory) throws -> (left: any Channel, right: any Channel) {
    while true {
      cable = nil
      var opened: Result<USBCable, USBHostError>?
      let opening = USBOpening(usable, on: loop) { opened = $0 }
      // Cancelling has no effect once the device is open.
      defer { opening.cancel() }
      try wait("the accessory was opened") { opened != nil }
      guard let left = try opened?.get().cable.main else { throw RigError("there is no cable") }
      _ = loop.run(until: { cable != nil }, limit: Self.hearing)
      if let right = cable?.main { return (left, right) }
      Self.openedAgain += 1
      left.close()
      try wait("the device was given back, because the accessory had not heard of the program that opened it") {
        USBHost.isIdle
      }
      if loop.now >= end { throw RigError("the accessory never heard of the program that opened it") }
    }
  }

  /// The configured accessory, or nil. Until the accessory is configured, no interface can be claimed.
  private var usable: USBAccessory? {
    here.values.first { $0.trouble == nil && $0.activeConfiguration != nil }
  }

  private func run(until condition: () -> Bool) -> Bool {
    loop.run(until: condition, limit: max(.zero, end - loop.now))
  }

  private func wait(_ what: String, until condition: () -> Bool) throws(RigError) {
    guard run(until: condition) else {
      throw RigError("it never came about that \(what); on USB: \(Array(here.values))")
    }
  }

  /// Releases the device, and waits until the device is gone before the next check begins.
  private func tearDown() {
    let end = loop.now + Self.tearDownLimit
    func settle(until condition: () -> Bool) {
      if !loop.run(until: condition, limit: max(.zero, end - loop.now)) { Self.isStuck = true }
    }
    settle { USBHost.isIdle }
    accessory.pull()
    accessory.tearDown()
    settle { here.isEmpty }
    devices.stop()
  }

  /// How many times an accessory noticed too late that a program had opened it.
  private(set) nonisolated(unsafe) static var openedAgain = 0
  /// Whether a check failed to clean up, which would make the next check fail.
  private(set) nonisolated(unsafe) static var isStuck = false
}
