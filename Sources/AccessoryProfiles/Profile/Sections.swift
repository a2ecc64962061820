import AccessoryCore
import AccessoryFormats
import IAP2

extension Profile {
  /// How an accessory proves that it is licensed, and what Apple's dump shows about its certificate.
  public struct Authentication: Equatable, Sendable {
    /// The two families of authentication coprocessors.
    public enum Generation: String, CaseIterable, Sendable {
      /// Version 3.0: P-256, a 32-byte challenge and a 64-byte signature.
      case current
      /// Versions 2.0B and 2.0C: RSA-1024 over SHA-1, a 20-byte challenge and a 128-byte signature.
      case older

      /// The length of the value that dumps show as `certSerial`, either 16 or 15 bytes.
      public var certSerial: Int { self == .current ? 16 : 15 }
      /// The length of the value that dumps show as `certData`, which is 607 or 908 bytes in all known dumps.
      public var certData: Int { self == .current ? 607 : 908 }
    }

    /// What the coprocessor signs. This can be configured because public sources disagree on what coprocessors sign.
    public enum Challenge: String, CaseIterable, Sendable {
      case digest
      case hashed
    }

    /// The family of the accessory's coprocessor.
    public var generation: Generation
    /// What the coprocessor signs.
    public var challenge: Challenge
    /// The length of the certificate's serial number as given in dumps.
    public var certSerial: Int
    /// The length of the certificate as given in dumps.
    public var certData: Int

    /// Creates authentication settings with the certificate and challenge sizes of this coprocessor generation.
    public init(_ generation: Generation = .current, challenge: Challenge = .digest) {
      self.generation = generation
      self.challenge = challenge
      certSerial = generation.certSerial
      certData = generation.certData
    }

    /// The range includes zero because dumps that were made before authentication show zero.
    package static let certSerialRange = 0...64
    package static let certDataRange = 0...65_535

    static let format = Record("authentication", "how the accessory authenticates itself", Authentication()) {
      Field(
        "generation", \.generation, .choice,
        "the coprocessor generation: current (3.0, which uses P-256) or older (2.0B and 2.0C, which use RSA-1024 with "
          + "SHA-1)"
      )
      Field(
        "challenge", \.challenge, .choice,
        "whether the challenge is signed directly, as a digest, or hashed first; public sources disagree")
      Field(
        "certSerial", \.certSerial, .integer(certSerialRange),
        "the length of the certificate's serial number in dumps, in bytes",
        standard: Standard("16, or 15 for the older generation") { $0.generation.certSerial })
      Field(
        "certData", \.certData, .integer(certDataRange), "the length of the certificate in dumps, in bytes",
        standard: Standard("607, or 908 for the older generation") { $0.generation.certData })
    }
  }

  /// What an accessory declares about power during identification.
  public struct Power: Equatable, Sendable {
    /// Whether the accessory can power the device.
    public enum Capability: String, CaseIterable, Sendable {
      case none
      case reserved
      case advanced

      /// The number used on the wire.
      public var wireValue: UInt8 { UInt8(Self.allCases.firstIndex(of: self) ?? 0) }
    }

    /// Whether the accessory can power the device.
    public var capability: Capability = .none
    /// The maximum current that the accessory draws from the device, in milliamperes.
    public var maximumCurrent: UInt16 = 0

    /// Creates the declaration of an accessory that neither supplies nor draws power.
    public init() {}

    static let format = Record("power", "the power information that the accessory declares", Power()) {
      Field(
        "capability", \.capability, .choice,
        "whether the accessory can power the Apple device: no, the reserved value 1, or power and charge the device")
      Field(
        "maximumCurrent", \.maximumCurrent, .integer(0...65_535),
        "maximum current that the accessory draws from the Apple device, in milliamperes")
    }
  }

  /// The control messages that an accessory declares during identification. A device sends only messages that the
  /// accessory has declared.
  public struct Messages: Equatable, Sendable {
    /// The messages that the accessory sends. By default, the accessory sends only the status of a session (0xEA03).
    public var sent: [MessageName] = [.id(0xEA03)]
    /// The messages that the accessory receives. By default, the accessory receives only the start and stop of a
    /// session (0xEA00, 0xEA01).
    public var received: [MessageName] = [.id(0xEA00), .id(0xEA01)]

    /// Creates a declaration of the messages that every accessory needs for External Accessory sessions.
    public init() {}

    static let format = Record("messages", "the control messages that the accessory declares", Messages()) {
      Field(
        "sent", \.sent, .list(of: MessageName.format),
        "messages that the accessory sends, by number or name; default: the session status")
      Field(
        "received", \.received, .list(of: MessageName.format),
        "messages that the accessory receives, by number or name; default: session start and stop")
    }
  }

  /// A control message, identified by its number or by its name in the message table. A message that was read from a
  /// file keeps its original form.
  public enum MessageName: Equatable, Hashable, Sendable, CustomStringConvertible {
    case id(UInt16)
    /// A message name such as `StartExternalAccessoryProtocolSession`.
    case name(String)

    /// The number of the message, or nil if the name is unknown. Files cannot contain unknown names.
    public var messageID: MessageID? {
      switch self {
      case .id(let id): MessageID(rawValue: id)
      case .name(let name): MessageCatalog.named(name)?.id
      }
    }

    /// The name, or the number in the form `0xEA00`.
    public var description: String {
      switch self {
      case .id(let id): "0x" + Hex.number(id)
      case .name(let name): name
      }
    }

    /// The format of a message in files. Names are checked.
    public static let format = Format<MessageName>(
      .either([
        .integer(0...0xFFFF),
        .text(TextShape("message name", pattern: "^(0[xX]0*[0-9A-Fa-f]{1,4}|[0-9A-Fa-f]{4}|[A-Za-z][A-Za-z0-9]*)$")),
      ])
    ) { value, place in
      guard let name = MessageName(value) else {
        return place.expected("a message's number from 0 to 0xFFFF or its name", value)
      }
      if case .name(let text) = name, name.messageID == nil {
        place.error(value, MessageID.complaint(about: text))
        return nil
      }
      return name
    } write: { message in
      switch message {
      case .id(let id): .hex(id)
      case .name(let name): .text(name)
      }
    }

    private init?(_ value: JSON5Value) {
      switch value.content {
      case .number(let number):
        guard let id = number.integer.flatMap({ UInt16(exactly: $0) }) else { return nil }
        self = .id(id)
      case .text(let text):
        guard text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else { return nil }
        let digits = text.lowercased().hasPrefix("0x") ? text.dropFirst(2) : text.count == 4 ? text[...] : ""
        if let id = UInt16(digits, radix: 16) {
          self = .id(id)
        } else if text.first?.isLetter == true {
          self = .name(text)
        } else {
          return nil
        }
      case .null, .boolean, .array, .object: return nil
      }
    }
  }

  /// An accessory's description as a USB device.
  public struct USB: Equatable, Sendable {
    /// The bus speeds that have bulk endpoints.
    public enum Speed: String, CaseIterable, Sendable {
      case full
      case high
      case `super`
    }

    /// The vendor ID. The default is the ID of pid.codes, which may be used for tests.
    public var vendor: UInt16 = 0x1209
    /// The product ID. The default is the first ID that pid.codes reserves for tests.
    public var product: UInt16 = 0x0001
    /// The manufacturer string, or nil to use the manufacturer from the identity.
    public var manufacturerString: String?
    /// The product string, or nil to use the name from the identity.
    public var productString: String?
    /// The serial string, or nil to use the serial number from the identity.
    public var serialString: String?
    /// The accessory's maximum speed.
    public var speed: Speed = .high

    /// Creates a description with the defaults.
    public init() {}

    static let format = Record("usb", "the accessory's USB device descriptor", USB()) {
      Field("vendor", \.vendor, .hex16, "USB vendor ID; default: the pid.codes vendor ID, for testing")
      Field("product", \.product, .hex16, "USB product ID")
      Field(
        "manufacturerString", \.manufacturerString, .optional(.text),
        "manufacturer string; default: the accessory's manufacturer")
      Field("productString", \.productString, .optional(.text), "product string; default: the accessory's name")
      Field(
        "serialString", \.serialString, .optional(.text),
        "serial string; default: the accessory's serial number")
      Field("speed", \.speed, .choice, "the USB speed: 12 Mbit/s, 480 Mbit/s or 5 Gbit/s")
    }
  }
}
