import AccessoryFormats

extension Profile {
  /// An External Accessory protocol that an accessory offers.
  public struct SessionProtocol: Equatable, Sendable {
    /// The protocol's name in reverse-DNS form, such as `com.lawaken.iap2`.
    public var name: String
    /// The number of the protocol on the wire, which is unique within the accessory.
    public var id: UInt8
    /// What the device does when no app for the protocol is installed.
    public var matchAction: MatchAction
    /// What the accessory does with the bytes of this protocol, or nil to use the behavior of the profile.
    public var behavior: Behavior?
    /// The USB transport component whose native-transport endpoints carry this protocol's sessions, or nil if the
    /// sessions use the link. On cables without native transport endpoints, the sessions always use the link.
    public var nativeTransportComponent: UInt16?

    /// Creates a protocol.
    public init(
      _ name: String, id: UInt8, matchAction: MatchAction = .optional, behavior: Behavior? = nil,
      nativeTransportComponent: UInt16? = nil
    ) {
      self.name = name
      self.id = id
      self.matchAction = matchAction
      self.behavior = behavior
      self.nativeTransportComponent = nativeTransportComponent
    }

    static let format = Record("protocol", "an External Accessory protocol", SessionProtocol("", id: 0)) {
      Field("name", \.name, nameFormat, "the protocol's name, in reverse-DNS notation", isRequired: true)
      Field("id", \.id, .integer(0...255), "the protocol's number on the wire; default: the position in the list")
      Field(
        "matchAction", \.matchAction, MatchAction.format,
        "what the Apple device does if no installed app uses this protocol")
      Field(
        "behavior", \.behavior, .optional(.oneOf(Behavior.format)),
        "the accessory's behavior in sessions on this protocol; default: the profile's behavior")
      Field(
        "nativeTransportComponent", \.nativeTransportComponent, .optional(.integer(0...65_535)),
        "the id of a USB transport: this protocol's sessions use their own USB endpoints instead of the iAP2 link")
    }

    private static let nameFormat = Format<String>.parsed(
      TextShape(
        "protocol name", pattern: "^[^\\u0000-,./:-@\\[-^`{-\\u00a0]+(\\.[^\\u0000-,./:-@\\[-^`{-\\u00a0]+)+$"),
      expected: "a protocol name: expected reverse DNS, such as 'com.example.echo'",
      { fault(inName: $0) == nil ? $0 : nil }, text: { $0 })

    /// The maximum number of protocols with native transport on one USB device. Each protocol with native transport
    /// needs one endpoint number, and iAP2 needs two.
    static let mostNative = 13

    /// Returns what is wrong with a protocol's name, or nil if the name has reverse-DNS form. A name in this form has
    /// two or more parts, which are separated by dots and consist of letters (in any script), digits, `-` and `_`.
    public static func fault(inName name: String) -> String? {
      let parts = name.split(separator: ".", omittingEmptySubsequences: false)
      let isValid = parts.count >= 2 && parts.allSatisfy { !$0.isEmpty && $0.unicodeScalars.allSatisfy(mayStand) }
      if isValid { return nil }
      return "'\(Excerpt.of(name))' is not a protocol name: expected reverse DNS, such as 'com.example.echo'"
    }

    private static func mayStand(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
      default: scalar.value > 0xA0
      }
    }
  }

  /// What the device does if no app supports the accessory's protocol. Any number is allowed, because numbers above the
  /// three known values have been seen on the wire.
  public struct MatchAction: RawRepresentable, Equatable, Hashable, Sendable {
    /// The number used on the wire.
    public var rawValue: UInt8

    /// Creates a match action with this number.
    public init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// The device does nothing.
    public static let none = MatchAction(rawValue: 0)
    /// The device asks the user whether to look for an app.
    public static let optional = MatchAction(rawValue: 1)
    /// The device looks for an app without asking the user.
    public static let noAlert = MatchAction(rawValue: 2)

    static let format: Format<MatchAction> = {
      let words = Format.words([("none", none), ("optional", optional), ("no-alert", noAlert)])
      let number = Format<UInt8>.integer(0...255).map(MatchAction.init) { $0.rawValue }
      return Format(.either([words.shape, number.shape])) { value, place in
        if case .number = value.content { number.read(value, at: place) } else { words.read(value, at: place) }
      } write: { action in
        let word = words.write(action)
        return word == .null ? number.write(action) : word
      }
    }()
  }

  /// A HID function that an accessory declares. HID functions use the messages StartHID and AccessoryHIDReport.
  public struct HID: Equatable, Sendable {
    /// The kind of HID function.
    public enum Function: String, CaseIterable, Sendable {
      case keyboard
      /// Keys that control playback.
      case mediaRemote
      case assistiveTouch
      case gamepad
      case otherGamepad
      case switchControl
      case headset
      case braille

      /// The number used on the wire.
      public var wireValue: UInt8 {
        switch self {
        case .keyboard: 0
        case .mediaRemote: 1
        case .assistiveTouch: 2
        case .gamepad: 4
        case .otherGamepad: 6
        case .switchControl: 7
        case .headset: 8
        case .braille: 10
        }
      }
    }

    /// The component's number.
    public var id: UInt16
    /// The component's name.
    public var name = "HID"
    /// What the component does.
    public var function = Function.keyboard

    /// Creates a keyboard.
    public init(id: UInt16 = 0) { self.id = id }

    static let format = Record("hid", "a HID function that the accessory declares", HID()) {
      Field("id", \.id, .integer(0...65_535), "the component's number; default: the position in the list")
      Field("name", \.name, .text, "its name")
      Field("function", \.function, .choice, "the kind of HID device")
    }
  }

  /// A location receiver that an accessory declares. The receiver sends LocationInformation messages.
  public struct Location: Equatable, Sendable {
    /// The component's number.
    public var id: UInt16 = 0
    /// The component's name.
    public var name = "Location"
    /// The data that the receiver provides, in the form of NMEA sentences.
    public var provides: [DeviceProfile.Sentence] = [.gga, .rmc]

    /// Creates a receiver with the default sentences.
    public init() {}

    static let format = Record("location", "the location receiver that the accessory declares", Location()) {
      Field("id", \.id, .integer(0...65_535), "its number")
      Field("name", \.name, .text, "its name")
      Field("provides", \.provides, .list(of: .choice), "the data that the receiver provides")
    }
  }
}
