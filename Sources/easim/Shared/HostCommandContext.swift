import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import Certificates
import IAP2

/// What all commands that connect to accessories share: a device with an app, the selected accessory, the transcript
/// and the capture.
final class HostCommandContext {
  let target: AccessoryTarget
  let app: AppView
  private(set) var hadCable = false
  /// Whether no cable was ever connected, or the accessory on the last cable never became ready.
  var isMissing: Bool { !hadCable || target.dialer.isUnfinished }
  /// An address to print where Apple's frameworks print an object's address. The address has no meaning outside this
  /// process.
  var objectAddress: UInt64 { UInt64(UInt(bitPattern: ObjectIdentifier(app))) }
  /// The message to print if the app's Info.plist hides all accessories that are present.
  static let nothingVisible = "accessories are connected, but the app sees none of them"
  private let device: Device
  private let options: CableOptions
  private let runtime: CommandRuntime
  private let refusals = RefusalWatch()

  /// Creates a context using the protocol, the app's declarations and the faults given by the options.
  convenience init(
    _ shared: SharedOptions, at address: Address, policy: PublicationMachine.Policy = .ready,
    for handler: any AppHandler,
    on runtime: CommandRuntime, _ console: Console, report: @escaping (TimelineEvent) -> Void
  ) throws {
    let options = CableOptions(shared, on: runtime.loop, report: report)
    try self.init(
      shared, at: address, policy: policy, for: handler, on: runtime, options, console, report: report)
    try options.openFiles(console)
  }

  /// Creates a context for one of several addresses.
  ///
  /// - Parameters:
  ///   - adjust: changes the app's settings after the options have been applied.
  ///   - tap: wraps the main channel of each cable, closest to the device.
  init(
    _ shared: SharedOptions, at address: Address, policy: PublicationMachine.Policy = .ready,
    for handler: any AppHandler,
    on runtime: CommandRuntime, _ options: CableOptions, _ console: Console,
    adjust: (AppSettings) -> AppSettings = { $0 },
    tap: @escaping (any Channel) -> any Channel = { $0 }, report: @escaping (TimelineEvent) -> Void
  ) throws {
    self.runtime = runtime
    self.options = options
    let app = adjust(try Self.app(shared))
    var settings = try DeviceSettings(shared, at: address, timeout: shared.timeout, on: runtime.loop, console)
    settings.policy = policy
    let device = Device(settings: settings, on: runtime.loop) { [refusals] event in
      refusals.see(event)
      report(event)
    }
    self.device = device
    target = try AccessoryTarget(
      at: address, protocolName: shared.protocolName, for: device, on: runtime, options: options,
      console: console
    ) { options.wrap($0, at: .device, place: address.description).wrapped(main: tap) { $1 } }
    self.app = device.makeApp(handler, settings: app)
  }

  /// The reason the accessory was refused, or nil if it was not.
  var refusal: Refusal? { refusals.refusal }

  func explainRefusal(_ console: Console) -> Bool { refusals.explain(console) }

  var linkCounters: LinkCounters { device.linkCounters }

  static func app(_ shared: SharedOptions) throws -> AppSettings {
    var settings = AppSettings()
    settings.filterSwitch = "--all-protocols"
    if let path = shared.infoPlist {
      settings.manifest = try PatientFile.read(named: "--info-plist \(path)") {
        try AppManifest.read(file: path)
      }
    }
    if shared.ignoresInfoPlist {
      settings.rules.ignoreInfoPlist()
    }
    return settings
  }

  /// Runs until `condition` is true, a signal arrives, `limit` passes, or no accessory can appear. Afterwards, calls
  /// `closing`, unplugs all cables, and returns whether `condition` is true.
  func run(until condition: () -> Bool, limit: Duration?, closing: () -> Void = {}) throws -> Bool {
    do { try target.dialer.start() } catch {
      stop(closing)
      throw error
    }
    let dialer = target.dialer
    let isHopeless = { [refusals] in dialer.failure != nil || refusals.refusal != nil }
    let ended = runtime.run(until: { condition() || isHopeless() }, limit: limit) && !isHopeless()
    stop(closing)
    runtime.settle(until: { isUnplugged })
    return ended
  }

  /// Stops connecting to accessories, and unplugs all cables. ``isUnplugged`` becomes true one or two turns of the loop
  /// later.
  func stop(_ closing: () -> Void = {}) {
    target.dialer.stop()
    hadCable = device.cableCount > 0
    closing()
    app.close()
    device.unplugAll("easim is exiting")
  }

  var isUnplugged: Bool { device.cableCount == 0 && options.isQuiet }
}

extension DeviceSettings {
  /// Creates a command's device settings from its options and from the time limit of the whole command.
  init(
    _ shared: SharedOptions, at address: Address, timeout: Duration?, on loop: any EventLoop, _ console: Console
  ) throws {
    self.init(authenticator: AccessoryVerifier())
    (reportsMessages, watchesLines) = (true, true)
    peer.link.lineRate = shared.faults.lineRate
    try shared.hostSettings.apply(to: &self, on: loop, console)
    shared.tolerance.apply(to: &self, at: address, timeout: timeout)
  }
}
