import AccessoryCore
import AccessoryFormats

extension Profile {
  /// A transport component that an accessory declares. The USB modes are named from the Apple device's side: an
  /// accessory that is a USB device declares `usbHost`.
  public struct Transport: Equatable, Sendable {
    /// The kinds of transports.
    public enum Kind: Equatable, Sendable {
      /// The device is the USB host.
      case usbHost
      /// The device is the USB device.
      case usbDevice
      /// Bluetooth, with the accessory's address.
      case bluetooth(MACAddress)
      /// A serial line.
      case serial
    }

    /// What it is.
    public var kind: Kind
    /// The component's number, different for each of an accessory.
    public var id: UInt16
    /// The component's name.
    public var name: String
    /// Whether iAP2 runs over it.
    public var supportsIAP2: Bool

    /// A transport component.
    public init(_ kind: Kind, id: UInt16, name: String, supportsIAP2: Bool = true) {
      self.kind = kind
      self.id = id
      self.name = name
      self.supportsIAP2 = supportsIAP2
    }

    /// The kinds in files; the address of a Bluetooth transport has its own key.
    private enum Word: String, CaseIterable {
      case usbHost, usbDevice, bluetooth, serial
    }

    private var word: Word {
      get {
        switch kind {
        case .usbHost: .usbHost
        case .usbDevice: .usbDevice
        case .bluetooth: .bluetooth
        case .serial: .serial
        }
      }
      set {
        switch newValue {
        case .usbHost: kind = .usbHost
        case .usbDevice: kind = .usbDevice
        case .bluetooth: kind = .bluetooth(MACAddress(0))
        case .serial: kind = .serial
        }
      }
    }

    /// The kind as it is written: `usbHost`.
    var kindName: String { word.rawValue }

    private var mac: MACAddress? {
      get { if case .bluetooth(let address) = kind { address } else { nil } }
      set { if case .bluetooth = kind, let newValue { kind = .bluetooth(newValue) } }
    }

    static let format = Record(
      "transport", "a transport component that the accessory declares", Transport(.usbHost, id: 0, name: "")
    ) {
      Field(
        "kind", \.word, .choice, "its kind; the USB modes are named from the Apple device's side", isRequired: true)
      Field("id", \.id, .integer(0...65_535), "its number; default: its position in the list")
      Field("name", \.name, .text, "its name", standard: Standard("the kind") { $0.word.rawValue })
      Field("mac", \.mac, .optional(.mac), "the address of a Bluetooth transport, which must have one")
      Field("supportsIAP2", \.supportsIAP2, .boolean, "whether iAP2 runs over it")
    }.checked(schema: macRules) { transport, object in
      guard object.value("kind")?.content == .text(transport.kindName) else { return }
      switch transport.word {
      case .bluetooth: object.require("mac")
      case .usbHost, .usbDevice, .serial:
        if object.value("mac") != nil { object.error("mac", "only a bluetooth transport has an address") }
      }
    }

    private static var macRules: [JSON5Member] {
      func kinds(_ words: [Word]) -> JSON5Member {
        .init("kind", .object([.init("enum", .array(words.map { .text($0.rawValue) }))]))
      }
      let others = Word.allCases.filter { $0 != .bluetooth }
      return [
        .init(
          "anyOf",
          .array([
            .object([
              .init("properties", .object([kinds([.bluetooth])])), .init("required", .array([.text("mac")])),
            ]), .object([.init("properties", .object([kinds(others), .init("mac", .boolean(false))]))]),
          ]))
      ]
    }
  }

  /// A Bluetooth address: six bytes, written `02:00:5E:10:00:01`.
  public struct MACAddress: Equatable, Hashable, Sendable, CustomStringConvertible {
    /// The six bytes as one number.
    public var value: UInt64

    /// An address from the low 48 bits of a number.
    public init(_ value: UInt64) {
      self.value = value & 0xFFFF_FFFF_FFFF
    }

    /// Reads six pairs of hex digits with colons; nil for anything else.
    public init?(_ text: String) {
      let pairs = text.split(separator: ":", omittingEmptySubsequences: false)
      guard pairs.count == 6 else { return nil }
      var value: UInt64 = 0
      for pair in pairs {
        guard pair.utf8.count == 2, pair.allSatisfy({ $0.isASCII && $0.isHexDigit }),
          let byte = UInt64(pair, radix: 16)
        else { return nil }
        value = value << 8 | byte
      }
      self.value = value
    }

    /// The bytes as they go into identification.
    public var bytes: [UInt8] {
      (0..<6).map { UInt8(truncatingIfNeeded: value >> (40 - 8 * $0)) }
    }

    /// Six pairs of hex digits with colons.
    public var description: String {
      bytes.map { Hex.number($0) }.joined(separator: ":")
    }
  }
}

extension Format<Profile.MACAddress> {
  static let mac = parsed(
    TextShape("Bluetooth address", pattern: "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$"),
    expected: "an address: expected six bytes such as '02:00:5E:10:00:01'", Profile.MACAddress.init(_:)
  ) { $0.description }
}
