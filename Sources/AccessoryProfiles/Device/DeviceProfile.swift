import AccessoryFormats
import IAP2

/// The settings of a simulated Apple device. The profile determines what the device tells accessories about itself and
/// how it answers them. The profile also contains the user's own message rules.
///
/// The device sends a built-in answer only if the accessory declares that it can receive the message. See
/// ``messageRules``.
public struct DeviceProfile: Equatable, Sendable {
  /// The version of the file format.
  public static let formatVersion = 1

  /// The device's name (4E09).
  public var name = "easim"
  /// The device's language (4E0A).
  public var language = "en"
  /// The device's identifier (4E0C).
  public var uuid = "00000000-0000-4000-8000-00000000EA51"
  /// The device's Bluetooth address (4E0E, 00B2).
  public var bluetooth = Profile.MACAddress(0x0200_5E00_EA51)
  /// The device's identifier on USB (4E0E).
  public var usb = "00008030-0000EA51"
  /// The time zone's offset from UTC in minutes (4E0B).
  public var zone: Int16 = 0
  /// The daylight saving offset in minutes (4E0B).
  public var daylight: Int8 = 0
  /// The state of the device's battery.
  public var power = Power()
  /// The device's Wi-Fi network.
  public var wifi = WiFi()
  /// The item that the device is playing.
  public var nowPlaying = NowPlaying()
  /// The report that the device sends (6801) when a HID accessory starts, or nil to send none.
  public var hidReport: [UInt8]? = [0]
  /// The data that the device requests from a location receiver (FFFA).
  public var location: [Sentence] = [.gga, .rmc]
  /// The key that the device sends in out-of-band pairing (00B2).
  public var linkKey: [UInt8] = [UInt8](repeating: 0xEA, count: 16)
  /// The sample rate in Hz for USB audio (DA01), one of `audioRates`.
  public var audioRate = 48_000
  /// Whether the device begins with authentication or with identification.
  public var order = HostOrder.auto
  /// Whether the device sends the requested power attributes together or separately.
  public var powerUpdates = PowerUpdates.combined
  /// Whether the device automatically answers every message that it understands.
  public var answers = true
  /// The user's own rules. A user's rule replaces the built-in rule that has the same trigger and the same message.
  public var rules: [MessageRuleEntry] = []

  /// Creates a profile with the defaults.
  public init() {}

  static let audioRates = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]
  private static let audioRateList = audioRates.map(String.init).joined(separator: ", ")

  /// How a device sends the power attributes that an accessory asks for.
  public enum PowerUpdates: String, CaseIterable, Sendable {
    /// The device sends all of the requested attributes in one AE01.
    case combined
    /// The device sends each attribute in its own AE01, in ascending order. Apple devices have been observed to send
    /// power attributes in this way.
    case separate
  }

  /// The contents of a power update (AE01).
  public struct Power: Equatable, Sendable {
    /// The maximum current in mA that the accessory may draw.
    public var maximumCurrent: UInt16 = 100
    /// Whether the battery charges when power is available.
    public var willCharge = false
    /// The accessory's power mode.
    public var mode: UInt8 = 0
    /// Whether an external charger is connected.
    public var externalCharger = false
    /// The charging state.
    public var charging = Charging.no
    /// The battery's level in percent.
    public var battery: UInt16 = 80

    /// The charging state.
    public enum Charging: String, CaseIterable, Sendable {
      case no
      case charging
      case full
    }

    static let format = Record("power", "the power information that the device sends (AE01)", Self()) {
      Field(
        "maximumCurrent", \.maximumCurrent, .integer(0...65_535),
        "maximum current that the accessory may draw, in mA")
      Field("willCharge", \.willCharge, .boolean, "whether the battery charges when power is available")
      Field("mode", \.mode, .integer(0...255), "the accessory's power mode")
      Field("externalCharger", \.externalCharger, .boolean, "whether an external charger is connected")
      Field("charging", \.charging, .choice, "the charging state")
      Field("battery", \.battery, .integer(0...100), "the battery level in percent")
    }
  }

  /// The Wi-Fi network that message 5701 describes.
  public struct WiFi: Equatable, Sendable {
    /// The status to report.
    public var status: UInt8 = 0
    /// The network's name.
    public var ssid = "easim"
    /// The network's passphrase.
    public var passphrase = "easim-wifi"
    /// The number of the parameter that contains the network's name. The passphrase's parameter has the next number.
    public var ssidParameter: UInt16 = 1

    static let format = Record("wifi", "the Wi-Fi information that the device sends (5701)", Self()) {
      Field("status", \.status, .integer(0...255), "the status of the Wi-Fi network")
      Field("ssid", \.ssid, .text, "the network's name")
      Field("passphrase", \.passphrase, .text, "the network's passphrase")
      Field(
        "ssidParameter", \.ssidParameter, .integer(1...2),
        "the number of the parameter that contains the network's name (public sources disagree on this number); "
          + "the passphrase has the next number"
      )
    }
  }

  /// The item being played, as reported in message 5001.
  public struct NowPlaying: Equatable, Sendable {
    /// The title.
    public var title = "A song"
    /// The artist.
    public var artist = "easim"
    /// The album.
    public var album = "Test signals"
    /// The duration of the track.
    public var duration = Duration.seconds(180)
    /// Whether the track is playing.
    public var isPlaying = true
    /// The name of the app that is playing the item.
    public var app = "Music"
    /// A file that contains the artwork, or nil if there is none.
    public var artwork: String?

    static let format = Record("now playing", "the device's now-playing information (5001)", Self()) {
      Field("title", \.title, .text, "the track's title")
      Field("artist", \.artist, .text, "the track's artist")
      Field("album", \.album, .text, "the track's album")
      Field("duration", \.duration, .duration(.zero ... .seconds(24 * 3_600)), "the track's duration")
      Field("playing", \.isPlaying, .boolean, "whether the device is playing; otherwise it is paused")
      Field("app", \.app, .text, "the name of the app that is playing")
      Field(
        "artwork", \.artwork, .optional(.text),
        "the artwork file, relative to this file; sent by file transfer to accessories that request it")
    }
  }

  /// Data that a device can request from a location receiver.
  public enum Sentence: String, CaseIterable, Sendable {
    /// The NMEA sentence GGA, which contains the position fix.
    case gga = "GGA"
    /// The NMEA sentence RMC, which contains the recommended minimum data.
    case rmc = "RMC"
    /// The NMEA sentence GSV, which lists the satellites in view.
    case gsv = "GSV"
    case speed
    case gyro
    case accelerometer
    case heading

    /// The number of the FFFA parameter that requests this sentence.
    public var parameter: UInt16 { UInt16(Self.allCases.firstIndex(of: self) ?? 0) + 1 }
  }

  /// The format of device profile files.
  public static let format = Record(
    "device",
    "an easim device profile: what the simulated Apple device sends to accessories about itself, and how it answers "
      + "them. Files are JSON5. The reader checks what a schema cannot express: ranges of durations, names of messages "
      + "and of their parameters", DeviceProfile()
  ) {
    Field(passing: "$schema", .text, "the path of the JSON Schema, for editors")
    Field(constant: "version", formatVersion, "the version of this format")
    Field("name", \.name, .text, "the device's name (4E09)")
    Field("language", \.language, .text, "the device's language (4E0A)")
    Field("uuid", \.uuid, .text, "the device's identifier (4E0C)")
    Field("bluetooth", \.bluetooth, .mac, "the device's Bluetooth address (4E0E, 00B2)")
    Field("usb", \.usb, .text, "the device's USB identifier (4E0E)")
    Field("zone", \.zone, .integer(-1_440...1_440), "the time zone's offset from UTC, in minutes (4E0B)")
    Field("daylight", \.daylight, .integer(-120...120), "the daylight saving offset, in minutes (4E0B)")
    Field("power", \.power, Power.format)
    Field("wifi", \.wifi, WiFi.format)
    Field("nowPlaying", \.nowPlaying, NowPlaying.format)
    Field(
      "hidReport", \.hidReport, .nullable(.bytes),
      "the report sent to a HID accessory once it has started (6801); null for none",
      standardText: "a single zero byte")
    Field(
      "location", \.location, .list(of: .choice), "the data that the device requests from a location receiver (FFFA)")
    Field(
      "linkKey", \.linkKey, .bytes, "the link key for out-of-band pairing (00B2)",
      standardText: "16 bytes, each with the value 0xEA")
    Field(
      "audioRate", \.audioRate, .integer(8_000...48_000),
      "the sample rate of USB device-mode audio (DA01), in Hz: \(audioRateList)")
    Field("order", \.order, .choice, "what the device requests from an accessory first, as for --order")
    Field(
      "powerUpdates", \.powerUpdates, .choice,
      "how the device sends the requested power attributes: combined in one AE01, or separate, each in its own AE01, "
        + "as observed on Apple devices"
    )
    Field(
      "answers", \.answers, .boolean,
      "whether the device automatically answers known messages and sends the information that an accessory declares it "
        + "can receive"
    )
    Field(
      "rules", \.rules, .list(of: .object(MessageRuleEntry.format)),
      "additional messages to send; if a built-in answer would send the same message at the same point, the rule "
        + "replaces that answer"
    )
  }.checked { profile, object in
    if !audioRates.contains(profile.audioRate) { object.error("audioRate", "expected \(audioRateList)") }
  }

  /// Reads a file. Paths in a device profile are relative to the file's folder.
  public static func read(file path: String) throws(SourceProblems) -> DeviceProfile {
    var profile = try format.read(file: path)
    if let artwork = profile.nowPlaying.artwork, !artwork.hasPrefix("/"), let slash = path.lastIndex(of: "/") {
      profile.nowPlaying.artwork = path[...slash] + artwork
    }
    return profile
  }

  // MARK: Rules

  // The messages that a device sends automatically. The messages that follow identification are in the same order as
  // in a car's log. Cars from two manufacturers do not continue until they have received 4E0E and 4E0A.

  private static let standard = DeviceProfile()
  private static let standardRules = standard.madeRules

  /// The rules in effect. The user's rules come first, followed by the built-in rules that no user rule replaces.
  public var messageRules: [MessageRule] { self == Self.standard ? Self.standardRules : madeRules }

  private var madeRules: [MessageRule] {
    let own = rules.compactMap { try? $0.rule() }
    guard answers else { return own }
    let readyMade = updates + requests + components
    return own + readyMade.filter { rule in !own.contains { $0.message == rule.message && $0.heard == rule.heard } }
  }

  private static func rule(
    _ trigger: MessageRule.Trigger, _ message: UInt16, until: UInt16? = nil, selects: Bool = false,
    _ parameters: [MessageRule.Element] = []
  ) -> MessageRule {
    var rule = MessageRule(trigger, send: MessageID(rawValue: message), parameters)
    rule.until = until.map { MessageID(rawValue: $0) }
    rule.selects = selects
    return rule
  }

  private static func on(_ message: UInt16) -> MessageRule.Trigger { .message(MessageID(rawValue: message), with: []) }

  private static func text(_ id: UInt16, _ text: String) -> MessageRule.Element {
    .init(id, .bytes(Array(text.utf8) + [0]))
  }

  private static func number(_ id: UInt16, _ value: some FixedWidthInteger) -> MessageRule.Element {
    .init(id, .bytes(withUnsafeBytes(of: value.bigEndian) { Array($0) }))
  }

  private var updates: [MessageRule] {
    // Devices repeat message 5702 until the accessory answers it.
    var askWiFi = Self.rule(.connection, 0x5702, until: 0x5703)
    askWiFi.every = 2_000
    return [
      Self.rule(.connection, 0x4E0C, [Self.text(0, uuid)]), askWiFi,
      Self.rule(.connection, 0xA100, [3, 4, 6].map { .init($0, .bytes([])) }),
      Self.rule(.connection, 0x4E0B, [.init(0, .time), Self.number(1, zone), Self.number(2, daylight)]),
      Self.rule(.connection, 0x4E0D, [Self.number(0, UInt8(0))]),
      Self.rule(.connection, 0x4E0A, [Self.text(0, language)]), Self.rule(.connection, 0x4E09, [Self.text(0, name)]),
      Self.rule(.connection, 0x4E0E, [Self.text(0, bluetooth.description), Self.text(1, usb)]),
    ]
  }

  private var requests: [MessageRule] {
    powerAnswers + [
      Self.rule(Self.on(0x5000), 0x5001, until: 0x5002, selects: true, playing),
      Self.rule(Self.on(0x4E03), 0x4E04, until: 0x4E05, [.init(0, .copy(0))]),
      Self.rule(
        Self.on(0x5700), 0x5701,
        [
          Self.number(0, wifi.status), Self.text(wifi.ssidParameter, wifi.ssid),
          Self.text(wifi.ssidParameter + 1, wifi.passphrase),
        ]),
      Self.rule(
        Self.on(0xDA00), 0xDA01, until: 0xDA02,
        [Self.number(0, UInt8(DeviceProfile.audioRates.firstIndex(of: audioRate) ?? 8))]),
    ]
  }

  private var powerAnswers: [MessageRule] {
    let charging = Power.Charging.allCases.firstIndex(of: power.charging) ?? 0
    let attributes = [
      Self.number(0, power.maximumCurrent), Self.number(1, UInt8(power.willCharge ? 1 : 0)),
      Self.number(2, power.mode), Self.number(4, UInt8(power.externalCharger ? 1 : 0)),
      Self.number(5, UInt8(charging)), Self.number(6, power.battery),
    ]
    switch powerUpdates {
    case .combined: return [Self.rule(Self.on(0xAE00), 0xAE01, until: 0xAE02, selects: true, attributes)]
    case .separate:
      return attributes.map { attribute in
        let asked = MessageRule.Trigger.message(MessageID(rawValue: 0xAE00), with: [.init(attribute.id, .present)])
        var rule = Self.rule(asked, 0xAE01, until: 0xAE02, [attribute])
        rule.takesNewParameters = false
        return rule
      }
    }
  }

  private var playing: [MessageRule.Element] {
    let item = [
      Self.text(1, nowPlaying.title), Self.number(4, UInt32(clamping: nowPlaying.duration.milliseconds)),
      Self.text(6, nowPlaying.album), Self.text(12, nowPlaying.artist),
    ]
    let playback = [
      Self.number(0, UInt8(nowPlaying.isPlaying ? 1 : 2)), Self.number(1, UInt32(0)), Self.text(7, nowPlaying.app),
    ]
    return [.init(0, .group(item)), .init(1, .group(playback))]
  }

  private var components: [MessageRule] {
    var rules = [
      Self.rule(.connection, 0x00B0),
      Self.rule(Self.on(0x00B1), 0x00B2, [.init(0, .bytes(linkKey)), .init(1, .bytes(bluetooth.bytes))]),
    ]
    if let hidReport {
      rules.append(Self.rule(Self.on(0x6800), 0x6801, [.init(0, .copy(0)), .init(1, .bytes(hidReport))]))
    }
    if !location.isEmpty {
      rules.append(Self.rule(.connection, 0xFFFA, location.map { .init($0.parameter, .bytes([])) }))
    }
    return rules
  }
}

/// What a device does first: authentication or identification.
public enum HostOrder: String, CaseIterable, Sendable {
  /// The device begins with authentication: AA00 … AA05, then 1D00.
  case authentication
  /// The device begins with identification: 1D00, 1D01, 1D02, then AA00. Some accessories ignore other messages until
  /// they are identified.
  case identification
  /// The device tries authentication first. If the accessory ignores AA00 or disconnects, the device begins with
  /// identification instead. See `OrderMemory`.
  case auto
}
