import AccessoryFormats

extension Profile {
  /// A HID function that an accessory declares. What it does is messages: StartHID, AccessoryHIDReport.
  public struct HID: Equatable, Sendable {
    /// What it is.
    public enum Function: String, CaseIterable, Sendable {
      /// A keyboard.
      case keyboard
      /// Keys for what is playing.
      case mediaRemote
      /// A pointer for AssistiveTouch.
      case assistiveTouch
      /// A gamepad.
      case gamepad
      /// A gamepad of another form.
      case otherGamepad
      /// Switch Control.
      case switchControl
      /// A headset.
      case headset
      /// A braille display.
      case braille

      /// The number on the wire.
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
    /// Its name.
    public var name: String
    /// What it is.
    public var function: Function

    /// A function.
    public init(id: UInt16, name: String, function: Function) {
      (self.id, self.name, self.function) = (id, name, function)
    }

    static let format = Record(
      "hid", "a HID function that the accessory declares", HID(id: 0, name: "HID", function: .keyboard)
    ) {
      Field("id", \.id, .integer(0...65_535), "its number; default: its position in the list")
      Field("name", \.name, .text, "its name")
      Field("function", \.function, .choice, "what it is")
    }
  }

  /// A location receiver that an accessory declares. What it sends is messages: LocationInformation.
  public struct Location: Equatable, Sendable {
    /// The component's number.
    public var id: UInt16 = 0
    /// Its name.
    public var name = "Location"
    /// What it has.
    public var provides: [DeviceProfile.Sentence] = [.gga, .rmc]

    /// A receiver of the usual sentences.
    public init() {}

    static let format = Record("location", "the location receiver that the accessory declares", Location()) {
      Field("id", \.id, .integer(0...65_535), "its number")
      Field("name", \.name, .text, "its name")
      Field("provides", \.provides, .list(of: .choice), "what data it provides")
    }
  }
}

extension Format<[Profile.HID]> {
  static let hids = list(of: .object(Profile.HID.format)) {
    Profile.HID(id: UInt16(clamping: $0), name: "HID", function: .keyboard)
  }
}
