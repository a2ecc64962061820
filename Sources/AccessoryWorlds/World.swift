import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryTransports
import Certificates

/// Both ends in one process: a device, its apps, and any number of simulated accessories on cables in memory, all on
/// one loop. The demo, tests, scenarios and the soak stand on it.
///
/// A world is an object: made, used, torn down. On a `VirtualLoop` it takes no time and repeats itself for a seed.
///
/// ```swift
/// let loop = VirtualLoop(seed: 7)
/// let world = World(on: loop)
/// let glasses = world.add(profile)
/// try glasses.plugIn()
/// try loop.runUntilQuiet()
/// print(world.events.map(\.json))
/// ```
public final class World {
  /// The choices of a world.
  public struct Settings {
    /// What authenticates: stubs of the right sizes, or real cryptography.
    public enum Authentication: Sendable {
      /// The same sizes at no cost; the choice for tests that are not about authentication.
      case stub
      /// P-256 by libcrypto on both sides.
      case real
    }

    /// How a cable carries bytes.
    public struct Line: Equatable, Sendable {
      /// How long a byte travels.
      public var latency = Duration.zero
      /// How many bytes a second it takes each way; as many as are sent, when nil.
      public var bytesPerSecond: Int?

      /// A line without delay.
      public init() {}
    }

    /// What authenticates.
    public var authentication = Authentication.stub
    /// How cables carry bytes.
    public var line = Line()
    /// When the device shows accessories.
    public var policy = PublicationMachine.Policy.ready
    /// A flicker that the device makes by itself.
    public var deviceFlicker: Flicker?
    /// The number that coprocessors and their certificates grow from.
    public var seed: UInt64 = 1
    /// Whether the transcript is kept; it costs time and memory.
    public var keepsTranscript = false
    /// Told of every event as it happens, and whether events are kept as well.
    public var report: (TimelineEvent) -> Void = { _ in }
    /// Told of every line of the transcript as it is written.
    public var reportLine: (String) -> Void = { _ in }

    /// Every choice at its default.
    public init() {}
  }

  /// The loop all of it runs on.
  public let loop: any EventLoop
  /// The device.
  public let device: Device
  /// Everything that happened, in order.
  public var events: [TimelineEvent] { log.events }
  /// What passed on the cables, one line per packet, when it is kept.
  public var transcript: [String] { log.lines }

  private let settings: Settings
  private let log: Log
  private var accessories: [(accessory: SimulatedAccessory, port: LoopbackPort)] = []

  /// What both ends write to.
  private final class Log {
    var events: [TimelineEvent] = []
    var lines: [String] = []
  }

  /// A world with a device and nothing plugged in.
  public init(_ settings: Settings = Settings(), on loop: any EventLoop) {
    self.settings = settings
    self.loop = loop
    let log = Log()
    self.log = log
    let authenticator: any DeviceAuthenticator =
      settings.authentication == .stub ? StubAuthenticator(seed: settings.seed) : AccessoryVerifier()
    var device = DeviceSettings(authenticator: authenticator)
    device.policy = settings.policy
    device.flicker = settings.deviceFlicker
    let report = settings.report
    self.device = Device(settings: device, on: loop) { event in
      log.events.append(event)
      report(event)
    }
  }

  /// An accessory of this world, not plugged in. `behavior` plays the profile's behaviours in place of the built-in ones.
  public func add(
    _ profile: Profile, behavior: ((Behavior) -> any AccessoryBehavior)? = nil
  ) -> SimulatedAccessory {
    let number = UInt64(accessories.count)
    let (log, report) = (log, settings.report)
    let port = makePort()
    let accessory = SimulatedAccessory(
      profile, at: port, authenticator: authenticator(for: profile, settings.seed &+ number), on: loop,
      behavior: behavior
    ) { event in
      log.events.append(event)
      report(event)
    }
    accessories.append((accessory, port))
    return accessory
  }

  /// Pulls an accessory's cable without a word: what is under way is lost, and both ends hear of it at once.
  public func pull(_ accessory: SimulatedAccessory) {
    guard let entry = accessories.first(where: { $0.accessory === accessory }) else {
      preconditionFailure("an accessory is pulled out of the world it was added to")
    }
    log.events.append(
      TimelineEvent(
        time: loop.now, side: .cable, kind: .fault("the cable of \(accessory.profile.identity.name) is pulled")))
    entry.port.pull()
    // The accessory notices that it is out only when its channel ends, and then it is.
    loop.schedule(after: .zero) { accessory.unplug("the cable was pulled") }
  }

  /// Unplugs everything; the loop must still run a little for both ends to hear of it.
  public func tearDown() {
    for entry in accessories { entry.accessory.unplug("the world ends") }
    device.unplugAll("the world ends")
  }

  private func authenticator(for profile: Profile, _ seed: UInt64) -> any AccessoryAuthenticator {
    let generation: CoprocessorGeneration = profile.authentication.generation == .current ? .current : .older
    switch settings.authentication {
    case .stub: return StubAuthenticator(seed: settings.seed, generation: generation)
    case .real:
      return SimulatedCoprocessor(
        seed: seed, generation: generation, reading: profile.authentication.challenge == .digest ? .digest : .hashed)
    }
  }

  private func makePort() -> LoopbackPort {
    let (loop, log, keeps, reportLine) = (loop, log, settings.keepsTranscript, settings.reportLine)
    return LoopbackPort(
      on: loop, line: settings.line,
      wrap: { channel, end in
        // One side is enough: the cable changes nothing.
        guard keeps, end == .device else { return channel }
        let transcript = Transcript { line in
          log.lines.append(line)
          reportLine(line)
        }
        return TranscriptChannel(around: channel, at: end, transcript, on: loop)
      },
      deviceEnd: { [unowned self] cable in device.plugIn(cable, at: "the world's cable") })
  }
}
