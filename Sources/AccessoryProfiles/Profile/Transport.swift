import AccessoryCore
import AccessoryFormats

extension Profile {
  /// A transport component that an accessory declares. The USB modes are named for the role of the Apple device, so an
  /// accessory that is a USB device declares `usbHost`.
  public struct Transport: Equatable, Sendable {
    /// The kinds of transports.
    public enum Kind: Equatable, Sendable {
      case usbHost
      case usbDevice
      /// Bluetooth. The value is the accessory's address.
      case bluetooth(MACAddress)
      case serial
    }

    /// The kind of transport.
    public var kind: Kind
    /// The number of the component, which is unique within the accessory.
    public var id: UInt16
    /// The component's name.
    public var name: String
    /// Whether iAP2 runs over this transport.
    public var supportsIAP2: Bool

    /// Creates a transport component.
    public init(_ kind: Kind, id: UInt16, name: String, supportsIAP2: Bool = true) {
      self.kind = kind
      self.id = id
      self.name = name
      self.supportsIAP2 = supportsIAP2
    }

    /// The words that files use for the kinds of transports. The address of a Bluetooth transport has a separate key.
    private static let kinds: [(word: String, value: Kind)] = [
      ("usbHost", .usbHost), ("usbDevice", .usbDevice), ("bluetooth", .bluetooth(MACAddress(0))), ("serial", .serial),
    ]

    private var kindWithoutAddress: Kind {
      get { mac == nil ? kind : .bluetooth(MACAddress(0)) }
      set { kind = newValue }
    }

    var kindName: String { Self.kinds.first { $0.value == kindWithoutAddress }?.word ?? "" }

    private var mac: MACAddress? {
      get { if case .bluetooth(let address) = kind { address } else { nil } }
      set { if case .bluetooth = kind, let newValue { kind = .bluetooth(newValue) } }
    }

    static let format = Record(
      "transport", "a transport component that the accessory declares", Transport(.usbHost, id: 0, name: "")
    ) {
      Field(
        "kind", \.kindWithoutAddress, .words(kinds),
        "the kind of transport; the names of the USB modes refer to the Apple device",
        isRequired: true)
      Field("id", \.id, .integer(0...65_535), "the component's number; default: the position in the list")
      Field("name", \.name, .text, "its name", standard: Standard("the kind") { $0.kindName })
      Field("mac", \.mac, .optional(.mac), "the Bluetooth address; required for a Bluetooth transport")
      Field("supportsIAP2", \.supportsIAP2, .boolean, "whether iAP2 runs over this transport")
    }.checked(schema: macRules) { transport, object in
      guard object.value("kind")?.content == .text(transport.kindName) else { return }
      if transport.mac != nil {
        object.require("mac")
      } else if object.value("mac") != nil {
        object.error("mac", "only a bluetooth transport has an address")
      }
    }

    private static var macRules: [JSON5Member] {
      func kinds(_ words: [String]) -> JSON5Member {
        .init("kind", .object([.init("enum", .array(words.map { .text($0) }))]))
      }
      let others = Self.kinds.map(\.word).filter { $0 != "bluetooth" }
      return [
        .init(
          "anyOf",
          .array([
            .object([
              .init("properties", .object([kinds(["bluetooth"])])), .init("required", .array([.text("mac")])),
            ]), .object([.init("properties", .object([kinds(others), .init("mac", .boolean(false))]))]),
          ]))
      ]
    }
  }

  /// A Bluetooth address. A Bluetooth address consists of six bytes and is written as `02:00:5E:10:00:01`.
  public typealias MACAddress = BluetoothDeviceAddress

  /// The link parameters that an accessory requests in its SYN.
  ///
  /// The defaults are typical of the values that real accessories request.
  public struct Link: Equatable, Sendable {
    /// How many packets the accessory accepts before it acknowledges one of them.
    public var maximumOutstandingPackets: UInt8 = 16
    /// The length of the longest packet that the accessory accepts, including the header and checksums.
    public var maximumPacketLength: UInt16 = 4096
    /// How long a packet remains unacknowledged before it is retransmitted.
    public var retransmissionTimeout: Duration = .milliseconds(2000)
    /// How long an acknowledgement may be delayed.
    public var cumulativeAcknowledgementTimeout: Duration = .milliseconds(50)
    /// How many times a packet is retransmitted before the accessory gives up on the link.
    public var maximumRetransmissions: UInt8 = 30
    /// How many packets a single acknowledgement may cover.
    public var maximumCumulativeAcknowledgements: UInt8 = 8
    /// The number of the link session that carries control messages.
    public var controlSession: UInt8 = 1
    /// The version of the control session. No public source describes version 2.
    public var controlSessionVersion: UInt8 = 1
    /// The number of the link session that carries External Accessory data.
    public var externalAccessorySession: UInt8 = 2
    /// The number of the link session that carries file transfers, or nil if there is none.
    public var fileTransferSession: UInt8?
    /// Whether the link runs without acknowledgements. If so, the counts and timeouts on the wire are zero.
    public var zeroAcknowledgement = false

    /// Creates link parameters with the defaults.
    public init() {}

    /// The numbers of the link sessions. If there is a file transfer session, its number comes last.
    public var sessionIDs: [UInt8] {
      [controlSession, externalAccessorySession] + (fileTransferSession.map { [$0] } ?? [])
    }

    static let format = Record("link", "the link parameters that the accessory requests", Link()) {
      Field(
        "maximumOutstandingPackets", \.maximumOutstandingPackets, .integer(1...127),
        "maximum number of unacknowledged packets that the accessory accepts")
      Field(
        "maximumPacketLength", \.maximumPacketLength, .integer(24...65_535),
        "the longest packet that the accessory accepts, including header and checksums")
      Field(
        "retransmissionTimeout", \.retransmissionTimeout, .duration(.milliseconds(20) ... .milliseconds(65_535)),
        "how long to wait before retransmitting an unacknowledged packet")
      Field(
        "cumulativeAcknowledgementTimeout", \.cumulativeAcknowledgementTimeout,
        .duration(.milliseconds(10) ... .milliseconds(32_767)),
        "how long the accessory may wait before it acknowledges a packet")
      Field(
        "maximumRetransmissions", \.maximumRetransmissions, .integer(1...30),
        "number of retransmissions before the link is considered lost")
      Field(
        "maximumCumulativeAcknowledgements", \.maximumCumulativeAcknowledgements, .integer(0...127),
        "maximum number of packets that one acknowledgement covers; at most maximumOutstandingPackets",
        standard: Standard("8, or maximumOutstandingPackets if that is less") { link in
          min(Link().maximumCumulativeAcknowledgements, link.maximumOutstandingPackets)
        })
      Field(
        "zeroAcknowledgement", \.zeroAcknowledgement, .boolean,
        "whether the link works without acknowledgements, with counts and timeouts of zero on the wire")
      Field(group: "sessions", "the numbers of the link's sessions, which must differ") {
        Field("control", \.controlSession, .integer(1...255), "the session that carries control messages")
        Field(
          "controlVersion", \.controlSessionVersion, .integer(1...2),
          "the version of the control session; no public source describes version 2")
        Field(
          "externalAccessory", \.externalAccessorySession, .integer(1...255),
          "the session that carries the bytes of apps"
        )
        Field(
          "fileTransfer", \.fileTransferSession, .optional(.integer(1...255)),
          "the session that carries file transfers; default: none")
      }
    }
  }
}

extension Format<Profile.MACAddress> {
  static let mac = parsed(
    TextShape("Bluetooth address", pattern: "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$"),
    expected: "an address: expected six bytes such as '02:00:5E:10:00:01'", Profile.MACAddress.init(_:)
  ) { $0.description }
}
