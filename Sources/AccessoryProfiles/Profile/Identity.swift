extension Profile {
  /// What an accessory says of itself: the fields that `EAAccessory` shows, named as Apple names them.
  ///
  /// All but the optional ones are mandatory in identification. Texts may hold `{index}`; see ``ProfileTemplate``.
  public struct Identity: Equatable, Sendable {
    /// The name that users see.
    public var name: String
    /// The maker.
    public var manufacturer: String
    /// The model.
    public var modelNumber: String
    /// The serial number, by which apps and the bench recognise one accessory.
    public var serialNumber: String
    /// The firmware that runs (`firmwareRevisionActive` in Apple's dump).
    public var firmwareRevision: String
    /// Firmware that is staged and not yet active.
    public var firmwareRevisionPending: String?
    /// The hardware revision.
    public var hardwareRevision: String
    /// The MFi product plan (`ppid` in Apple's dump): 16 hex digits or `NNNNNN-NNNN` in the dumps known.
    public var productPlanUID: String?
    /// The region code; nil in every dump known.
    public var regionCode: String?
    /// The 30-pin dock's kind; empty on everything modern.
    public var dockType: String
    /// The language the accessory speaks now.
    public var currentLanguage: String
    /// The languages it can speak, at least one.
    public var supportedLanguages: [String]

    /// An identity with defaults for what few accessories differ in.
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
      dockType = ""
      currentLanguage = "en"
      supportedLanguages = ["en"]
    }
  }
}
