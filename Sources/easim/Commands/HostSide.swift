import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessoryTransports
import Certificates

/// What every command that connects has: a device with one app, a way to the accessory that is meant, and a transcript
/// where one was asked for.
final class HostSide {
  /// The way to the accessory.
  let reach: Reach
  /// The app.
  let app: AppView
  /// Whether any cable was plugged in when the command ended.
  private(set) var hadCable = false
  /// An address as a process of Apple's would print it; it means nothing outside of this one.
  var objectAddress: UInt64 { UInt64(UInt(bitPattern: ObjectIdentifier(app))) }
  /// What an app says whose Info.plist hides everything that is there.
  static let nothingVisible = "No Accessories Connected, as the app sees it"
  private let device: Device
  private let stage: Stage

  /// Reads what all such commands understand: the address, `--protocol`, `--early`, `--info-plist`, `--all-protocols`,
  /// `--transcript`.
  init(
    _ arguments: ParsedArguments, for handler: any AppHandler, on stage: Stage, _ console: Console,
    report: @escaping (TimelineEvent) -> Void
  ) throws {
    self.stage = stage
    let app = try Self.app(arguments)
    var settings = DeviceSettings(authenticator: AccessoryVerifier())
    if arguments.has("--early") { settings.policy = .early }
    let device = Device(settings: settings, on: stage.loop, report: report)
    self.device = device
    let file = Transcripts()
    reach = try Reach(
      arguments.words.first, protocolName: arguments.value("--protocol"), for: device, on: stage.loop,
      arguments: arguments, console: console
    ) { channel in
      guard let transcript = file.transcript else { return channel }
      return TranscriptChannel(around: channel, at: .device, Transcript(write: transcript.write), on: stage.loop)
    }
    // Last, so that a wrong command line does not empty the file.
    file.transcript = try arguments.value("--transcript").map { try TranscriptFile($0, arguments.command) }
    self.app = device.makeApp(handler, settings: app)
  }

  private final class Transcripts {
    var transcript: TranscriptFile?
  }

  /// What the options say about the app.
  static func app(_ arguments: ParsedArguments) throws -> AppSettings {
    var settings = AppSettings()
    settings.filterSwitch = "--all-protocols"
    if let path = arguments.value("--info-plist") { settings.manifest = try AppManifest.read(file: path) }
    if arguments.has("--all-protocols") {
      settings.rules.visibility = .all
      settings.rules.undeclaredSessions = .allowed
    }
    return settings
  }

  /// Runs until a condition holds, a signal came or the time is up; whether it was the condition. Then everything is
  /// unplugged in order, after `closing`.
  func run(until condition: () -> Bool, limit: Duration?, closing: () -> Void = {}) throws -> Bool {
    try reach.dialer.start()
    let ended = stage.run(until: condition, limit: limit)
    reach.dialer.stop()
    hadCable = device.cableCount > 0
    closing()
    app.close()
    device.unplugAll("done")
    stage.settle(until: { device.cableCount == 0 })
    return ended
  }
}
