import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import Glibc
import IAP2
import LinuxIO

/// Runs an event loop for a command on the main thread. Signals are delivered as events, and output never blocks.
final class CommandRuntime {
  let loop: EpollLoop

  /// - Parameter secondInterrupt: how long the process may keep running after a second Ctrl-C; see ``StopSignals``.
  init(_ console: Console, seed: UInt64? = nil, secondInterrupt: Duration = .zero) throws {
    loop = try EpollLoop(seed: seed ?? .random(in: .min ... .max))
    Self.raiseDescriptorLimit()
    try StopSignals.take(secondInterrupt: secondInterrupt) { [loop] in
      loop.execute {}
      OutputLane.news.change { $0 &+= 1 }
    }
    console.goLive(on: loop)
  }

  /// Raises the limit on the number of file descriptors. A thousand accessories need more descriptors than a shell
  /// allows by default.
  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  func stopped(_ console: Console, _ progress: String = "") -> ExitCode? {
    guard let stopper = StopSignals.stopper else { return nil }
    return console.end(.checkFailed, "stopped by \(stopper)\(progress)")
  }

  /// Runs until `condition` is true, a signal arrives, or `limit` passes. Returns whether `condition` is true.
  func run(until condition: () -> Bool, limit: Duration? = nil) -> Bool {
    loop.run(until: { condition() || StopSignals.first != nil }, limit: limit) && StopSignals.first == nil
  }

  /// Runs until the last bytes have been sent. Closing channels and releasing USB devices takes one or two turns of the
  /// loop.
  func settle(until condition: () -> Bool, limit: Duration = .seconds(1)) {
    loop.run(until: { condition() && media.isIdle }, limit: limit)
  }
}

/// What all commands that connect to accessories share: a device with an app, the selected accessory, the transcript
/// and the capture.
final class HostCommandContext {
  let app: AppView
  private(set) var hadCable = false
  /// Whether no cable was ever connected, or the accessory on the last cable never became ready.
  var isMissing: Bool { !hadCable || dialer.isUnfinished }
  /// The message to print if the app's Info.plist hides all accessories that are present.
  static let nothingVisible = "accessories are connected, but the app sees none of them"
  private let address: Address
  private let dialer: Dialer
  private let device: Device
  private let options: CableOptions
  private let runtime: CommandRuntime
  let refusals = RefusalWatch()
  private let console: Console
  private let timeout: Duration

  /// - Parameters:
  ///   - cables: the options of the cables if the command shares them and opens their files itself.
  ///   - adjust: changes the app's settings after the options have been applied.
  ///   - tap: wraps the main channel of each cable, closest to the device.
  init(
    _ shared: SharedOptions, at address: Address, policy: PublicationMachine.Policy = .ready,
    for handler: any AppHandler, on runtime: CommandRuntime, _ console: Console, cables: CableOptions? = nil,
    adjust: (inout AppSettings) -> Void = { _ in },
    tap: @escaping (any Channel) -> any Channel = { $0 }, report: @escaping (TimelineEvent) -> Void
  ) throws {
    let options = cables ?? CableOptions(shared, on: runtime.loop, report: report)
    (self.address, self.runtime, self.options) = (address, runtime, options)
    (self.console, timeout) = (console, shared.timeout)
    var app = try Self.app(shared)
    adjust(&app)
    var settings = try DeviceSettings(shared, at: address, timeout: shared.timeout, on: runtime.loop, console)
    settings.policy = policy
    let device = Device(settings: settings, on: runtime.loop) { [refusals] event in
      refusals.see(event)
      report(event)
    }
    self.device = device
    let protocolName = shared.protocolName
    let chosen = try AccessoryChoice.identity(at: address, protocolName, on: runtime, console)
    dialer = try media.makeDialer(
      to: address, for: device, on: runtime.loop, options: options.transport,
      wanted: .one { accessory in
        if let chosen { return accessory.identity == chosen }
        guard let protocolName, !address.namesOneAccessory else { return true }
        return accessory.mayOffer(protocolName)
      }
    ) { options.wrap($0, at: .device, place: address.description).wrapped(main: tap) { $1 } }
    self.app = device.makeApp(handler, settings: app)
    guard cables == nil else { return }
    do { try options.openFiles(console) } catch {
      stop()
      throw error
    }
  }

  var linkCounters: LinkCounters { device.linkCounters }

  static func app(_ shared: SharedOptions) throws -> AppSettings {
    var settings = AppSettings()
    settings.filterSwitch = "--all-protocols"
    if let path = shared.infoPlist {
      settings.manifest = try PatientFile.read(named: "--info-plist \(path)") { try AppManifest.read(file: path) }
    }
    if shared.ignoresInfoPlist { settings.rules.ignoreInfoPlist() }
    return settings
  }

  func start() throws {
    try dialer.start()
    runtime.tellOfWait(at: address, atMost: timeout, console) { [dialer] in (dialer.isSearching, dialer.trouble) }
  }

  /// Returns the exit code and message if no accessory became ready in time or if none can appear.
  func explanation(within timeout: Duration) -> (code: ExitCode, text: String) {
    if dialer.isUnfinished, let trouble = dialer.trouble {
      return (.gone, "the accessory was not ready within \(DurationText.format(timeout)): \(trouble.detail)")
    }
    return (.unreachable, dialer.failure?.description ?? address.explanation(of: dialer.trouble, within: timeout))
  }

  /// Runs until `condition` is true, a signal arrives, `limit` passes, or no accessory can appear. Afterwards, calls
  /// `closing`, unplugs all cables, and returns whether `condition` is true.
  func run(until condition: () -> Bool, limit: Duration?, closing: () -> Void = {}) throws -> Bool {
    do { try start() } catch {
      stop(closing)
      throw error
    }
    let isHopeless = { [dialer, refusals] in dialer.failure != nil || refusals.refusal != nil }
    let ended = runtime.run(until: { condition() || isHopeless() }, limit: limit) && !isHopeless()
    stop(closing)
    runtime.settle(until: { isUnplugged })
    return ended
  }

  /// Stops connecting to accessories, and unplugs all cables. ``isUnplugged`` becomes true one or two turns of the loop
  /// later.
  func stop(_ closing: () -> Void = {}) {
    dialer.stop()
    hadCable = device.cableCount > 0
    closing()
    app.close()
    device.unplugAll("easim is exiting")
  }

  var isUnplugged: Bool { device.cableCount == 0 && options.isQuiet }
}

final class RefusalWatch {
  private(set) var refusal: Refusal?

  func see(_ event: TimelineEvent) {
    if case .refused(let refusal) = event.kind, self.refusal == nil { self.refusal = refusal }
  }

  func explain(_ console: Console) -> Bool {
    guard let refusal else { return false }
    console.err("easim: \(refusal.sentence)")
    console.err("easim: try: \(refusal.advice)")
    return true
  }
}

extension SessionEnd {
  /// True if the cable was unplugged, or false if only the session was closed.
  var isGone: Bool {
    switch self {
    case .channelEnded, .linkDown: true
    default: false
    }
  }
}
