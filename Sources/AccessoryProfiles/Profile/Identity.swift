import AccessoryFormats

extension Profile {
  /// How an accessory describes itself. The fields are those of `EAAccessory`, with the names that Apple uses.
  ///
  /// All fields that are not optional are mandatory in an identification. Strings may contain `{index}`. See
  /// ``ProfileTemplate``.
  public struct Identity: Equatable, Sendable {
    /// The name that users see.
    public var name: String
    /// The manufacturer.
    public var manufacturer: String
    /// The model.
    public var modelNumber: String
    /// The serial number. Apps and easim use it to recognize an accessory.
    public var serialNumber: String
    /// The firmware version in use (`firmwareRevisionActive` in Apple's dump).
    public var firmwareRevision: String
    /// The firmware version that is installed but not active yet.
    public var firmwareRevisionPending: String?
    /// The hardware revision.
    public var hardwareRevision: String
    /// The MFi product plan (`ppid` in Apple's dump). In all known dumps, the product plan has 16 hex digits or the
    /// form `NNNNNN-NNNN`.
    public var productPlanUID: String?
    /// The region code, which is nil in every known dump.
    public var regionCode: String?
    /// The kind of 30-pin dock, which is empty for modern accessories.
    public var dockType = ""
    /// The language that the accessory is using.
    public var currentLanguage = "en"
    /// The languages that the accessory supports (at least one).
    public var supportedLanguages = ["en"]
    /// The ID of the developer team whose app belongs to the accessory (`AppMatchTeamID`). The ID consists of ten
    /// letters and digits, or is nil if the accessory names no team.
    public var appMatchTeamID: String?

    /// Creates an identity. Fields that rarely differ between accessories have defaults.
    public init(
      name: String, manufacturer: String, modelNumber: String, serialNumber: String,
      firmwareRevision: String = "1.0", hardwareRevision: String = "1.0"
    ) {
      self.name = name
      self.manufacturer = manufacturer
      self.modelNumber = modelNumber
      self.serialNumber = serialNumber
      self.firmwareRevision = firmwareRevision
      self.hardwareRevision = hardwareRevision
    }

    static let format = Record(
      "accessory", "the accessory's identity",
      Identity(name: "", manufacturer: "", modelNumber: "", serialNumber: "")
    ) {
      texts.map(\.field)
      Field(
        "supportedLanguages", \.supportedLanguages, .list(of: .identification(mayBeBlank: true), count: 1...Int.max),
        "the languages that the accessory supports", isAlwaysWritten: true,
        standard: Standard("the current language alone") { [$0.currentLanguage] })
      Field(
        "appMatchTeamID", \.appMatchTeamID, .optional(.identification(mayBeBlank: false)),
        "the developer team of the accessory's app, sent as AppMatchTeamID in the identification")
    }

    /// The fields that are strings, in the order in which they are written. Each string may contain `{index}`.
    static let texts = [
      Text("name", \.name, "the name that users see"), Text("manufacturer", \.manufacturer, "the manufacturer"),
      Text("modelNumber", \.modelNumber, "the model number"),
      Text("serialNumber", \.serialNumber, "the serial number, by which apps recognize the accessory"),
      Text("ppid", \.productPlanUID, "the MFi product plan: 16 hex digits or NNNNNN-NNNN"),
      Text("regionCode", \.regionCode, "the region code"),
      Text("firmwareRevision", \.firmwareRevision, "the firmware version in use"),
      Text("firmwareRevisionPending", \.firmwareRevisionPending, "firmware version staged but not yet active"),
      Text("hardwareRevision", \.hardwareRevision, "the hardware revision"),
      Text(
        "dockType", \.dockType, "the type of 30-pin dock; empty for modern accessories", hasDefault: true,
        mayBeBlank: true
      ),
      Text("currentLanguage", \.currentLanguage, "the accessory's current language", hasDefault: true),
    ]

    /// A string field of the identity: its key, and how an instance's number is inserted.
    struct Text: Sendable {
      let field: Field<Identity>
      let fillIn: @Sendable (inout Identity, _ index: Int) -> Void

      init(
        _ key: String, _ path: Property<Identity, String>, _ summary: String, hasDefault: Bool = false,
        mayBeBlank: Bool = false
      ) {
        field = Field(
          key, path, .identification(mayBeBlank: mayBeBlank), summary, isRequired: !hasDefault, isAlwaysWritten: true)
        fillIn = { $0[keyPath: path] = TemplateText.filled($0[keyPath: path], index: $1) }
      }

      /// Creates the description of a string that may be `null`. Apple's dump prints such a value as `(null)`.
      init(_ key: String, _ path: Property<Identity, String?>, _ summary: String) {
        field = Field(
          key, path, .nullable(.identification(mayBeBlank: true)), "\(summary), or null", isAlwaysWritten: true)
        fillIn = { identity, index in
          identity[keyPath: path] = identity[keyPath: path].map { TemplateText.filled($0, index: index) }
        }
      }
    }
  }
}

extension Format<String> {
  /// The maximum number of Unicode scalars in an identification string. The wire format allows far longer strings.
  private static let longestText = 255

  fileprivate static func identification(mayBeBlank: Bool) -> Format {
    let shape = TextShape("identification string", pattern: "^[^\\u0000]*$", length: 0...longestText)
    return Format(.text(shape)) { value, place in
      guard case .text(let text) = value.content else { return place.expected("text", value) }
      let length = text.unicodeScalars.count
      if length > longestText {
        place.error(value, "a text has at most \(longestText) characters, but this one has \(length)")
      }
      if text.unicodeScalars.contains("\0") {
        place.error(value, "a NUL would end the text on the wire")
      } else if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
        place.warning(value, "contains a line break or another control character")
      }
      if let fault = TemplateText.fault(in: text) { place.error(value, fault) }
      if !mayBeBlank, text.allSatisfy(\.isWhitespace) { place.warning(value, "is blank") }
      return text
    } write: {
      .text($0)
    }
  }
}
