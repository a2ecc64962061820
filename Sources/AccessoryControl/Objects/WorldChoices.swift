import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import AccessoryWorlds

struct WorldChoices: Equatable, Sendable {
  enum Time: String, CaseIterable, Sendable {
    case real
    case virtual
  }

  enum Authentication: String, CaseIterable, Sendable {
    case stub
    case real
  }

  var time = Time.real
  var seed: UInt64 = 1
  var authentication: Authentication?
  var publishesEarly = false
  var order = HostOrder.authentication
  var deviceFlicker: Quirk?
  var latency = Duration.zero
  var bytesPerSecond: Int?
  var tellsMessages = false

  static let format = Record("world", "", WorldChoices()) {
    Field(
      "time", \.time, .choice,
      "real: time passes by itself; virtual: time passes only while a client waits, as fast as the machine allows")
    Field("seed", \.seed, .integer(0...UInt64(Int.max)), "random seed; the same seed gives the same run")
    Field(
      "authentication", \.authentication, .optional(.choice),
      "stub: messages of the right size without cryptography; real: as with real hardware. The default is real in real "
        + "time, and stub in virtual time")
    Field(
      "publishesEarly", \.publishesEarly, .boolean,
      "whether apps see accessories before authentication, without any protocols")
    Field(
      "order", \.order, .choice,
      "what the device requests from accessories first; auto requests authentication, then tries identification if the "
        + "accessory does not answer"
    )
    Field(
      "deviceFlicker", \.deviceFlicker, .optional(Quirk.format.format),
      "a flicker caused by the device; takes the parameters of the `flicker` quirk")
    Field("latency", \.latency, .duration(.zero ... .seconds(60)), "how long in-memory cables delay each byte")
    Field(
      "bytesPerSecond", \.bytesPerSecond, .optional(.integer(1...1_000_000_000)),
      "bytes per second on in-memory cables, in each direction (default: unlimited)")
    Field("messages", \.tellsMessages, .boolean, "whether each iAP2 control message is reported as an event")
  }

  func world(_ report: @escaping (TimelineEvent) -> Void) -> World.Settings {
    var settings = World.Settings()
    let isReal = authentication.map { $0 == .real } ?? (time == .real)
    settings.authentication = isReal ? .real : .stub
    settings.policy = publishesEarly ? .early : .ready
    settings.order = order
    if case .flicker(var flicker)? = deviceFlicker {
      flicker.maker = .device
      settings.deviceFlicker = flicker
    }
    settings.speed.latency = latency
    settings.speed.bytesPerSecond = bytesPerSecond
    settings.tellsMessages = tellsMessages
    settings.seed = seed
    settings.keepsEvents = false
    settings.faultsMayChange = true
    settings.report = report
    return settings
  }
}
