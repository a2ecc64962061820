import AccessoryCore
import AccessorySessions
import AccessorySimulator
import IAP2

/// The accessory's end of a measurement. It identifies itself, authenticates with bytes of realistic sizes, and either
/// echoes or only reads.
final class EchoAccessory: ConnectionOwner {
  /// The only protocol that the accessory offers.
  static let protocolName = "com.example.echo"

  private let connection: Connection<AccessoryRole>
  private let behavior: any AccessoryBehavior
  /// Whether the accessory's cable has ended.
  private(set) var isOver = false

  /// Creates an accessory that accepts packets of up to `maximumPacket` bytes.
  init(
    maximumPacket: UInt16, playing behavior: any AccessoryBehavior = EchoBehavior(), cable: Cable,
    on loop: any EventLoop
  ) {
    self.behavior = behavior
    connection = Connection(
      peer: AccessoryPeer(identification: .echo, settings: LinkSettings(parameters: .echo(maximumPacket))),
      cable: cable, on: loop)
  }

  func start() {
    connection.start(self)
  }

  func connectionTold(_ event: PeerEvent) {
    switch event {
    case .certificateRequested:
      connection.perform { peer, _ in peer.provideCertificate([UInt8](repeating: 0xCE, count: 607)) }
    case .challenged: connection.perform { peer, _ in peer.provideResponse([UInt8](repeating: 0x5A, count: 64)) }
    case .sessionRequested(let id, _):
      let session = connection.acceptSession(id, protocolName: Self.protocolName, reportingStatus: false)
      session.handler = behavior.makeHandler(for: session, in: BehaviorContext(loop: connection.loop))
    default: break
    }
  }

  func connectionSessionEnded(_ session: Session, _ end: SessionEnd) {}

  func connectionEnded(_ end: ChannelEnd) {
    isOver = true
  }
}

/// Reads and drops bytes, and reports their number.
struct ReaderBehavior: AccessoryBehavior {
  var heard: (Int) -> Void = { _ in }

  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler { Reader(heard) }
}

private final class Reader: SessionHandler {
  private let heard: (Int) -> Void

  init(_ heard: @escaping (Int) -> Void) {
    self.heard = heard
  }

  func sessionIsReadable(_ session: Session) { heard(session.read { $0.byteCount }) }
  func sessionIsWritable(_ session: Session) {}
  func session(_ session: Session, endedWith end: SessionEnd) {}
}

extension LinkParameters {
  /// Returns parameters for packets of up to `maximumPacket` bytes, with the largest window, which holds 16 bursts even
  /// in small packets.
  static func echo(_ maximumPacket: UInt16) -> LinkParameters {
    LinkParameters(maximumOutstandingPackets: 127, maximumPacketLength: maximumPacket)
  }
}

extension Identification {
  /// The identification of an accessory with one protocol.
  static var echo: Identification {
    var identification = Identification()
    identification.name = "Echo"
    identification.model = "E1"
    identification.manufacturer = "Nobody"
    identification.serialNumber = "0001"
    identification.firmwareVersion = "1"
    identification.hardwareVersion = "1"
    identification.messagesReceived = [.startExternalAccessorySession, .stopExternalAccessorySession]
    identification.protocols = [ExternalAccessoryProtocol(id: 1, name: EchoAccessory.protocolName)]
    identification.transports = [TransportComponent(kind: .usbHost, id: 0, name: "USB")]
    return identification
  }
}
