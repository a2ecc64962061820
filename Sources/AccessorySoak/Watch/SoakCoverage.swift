import AccessoryFaults
import IAP2

/// How many times seeded worlds reached each corner case, and how many times faults took effect.
///
/// A run over many seeds fails if any corner case was never reached.
public struct SoakCoverage: Equatable, Sendable, CustomStringConvertible {
  /// A rare situation in the protocol.
  public enum Corner: Int, CaseIterable, Sendable {
    case linkUp, retransmission, wrap, giveUp, duplicate, ahead, outsideWindow, spoiled, skippedBytes, hastened
    case windowFull, withheldAcknowledgements, noRoom, zeroAcknowledgementLink, resetByDevice
    case cutInDetection, cutInSynchronization, cutInAuthentication, cutInIdentification, cutWhenReady, cutInSession
    case connect, emptyConnect, sessionOpened, sessionRefused, sessionEndedUnread, sessionClosedByDevice
    case sessionClosedByAccessory, sessionEndedByLink, sessionEndedByCable, sessionDeniedByAPI, bytesDelivered

    /// The name of the corner case on the command line, in files and in JSON, for example `giveUp`.
    public var word: String { "\(self)" }

    /// The description of the corner case in the printed table.
    public var name: String {
      switch self {
      case .linkUp: "link came up"
      case .retransmission: "packet retransmitted after a timeout"
      case .wrap: "sequence number wrapped"
      case .giveUp: "link given up"
      case .duplicate: "packet arrived twice"
      case .ahead: "packet arrived after a missing one"
      case .outsideWindow: "packet arrived outside the window"
      case .spoiled: "packet with a wrong checksum"
      case .skippedBytes: "bytes that belong to no packet"
      case .hastened: "packet retransmitted for an extended acknowledgement"
      case .windowFull: "packet waited for the window to open"
      case .withheldAcknowledgements: "acknowledgements withheld because of a full session"
      case .noRoom: "packet dropped because of a full session"
      case .zeroAcknowledgementLink: "link without acknowledgements"
      case .resetByDevice: "link reset by the device"
      case .cutInDetection: "cut in detection"
      case .cutInSynchronization: "cut in synchronization"
      case .cutInAuthentication: "cut in authentication"
      case .cutInIdentification: "cut in identification"
      case .cutWhenReady: "cut when ready"
      case .cutInSession: "cut with a session open"
      case .connect: "connect with protocols"
      case .emptyConnect: "connect without protocols"
      case .sessionOpened: "session opened"
      case .sessionRefused: "session refused"
      case .sessionEndedUnread: "session ended unread"
      case .sessionClosedByDevice: "session closed by the device"
      case .sessionClosedByAccessory: "session closed by the accessory"
      case .sessionEndedByLink: "session ended with its link"
      case .sessionEndedByCable: "session ended with its cable"
      case .sessionDeniedByAPI: "session denied because its protocol is not offered"
      case .bytesDelivered: "bytes delivered"
      }
    }
  }

  private var counts = [Int](repeating: 0, count: Corner.allCases.count)
  private var faults = [Int](repeating: 0, count: Fault.format.names.count)

  /// Creates coverage with all counts set to zero.
  public init() {}

  /// Returns or sets how many times a corner case was reached.
  public subscript(corner: Corner) -> Int {
    get { counts[corner.rawValue] }
    set { counts[corner.rawValue] = newValue }
  }

  /// Returns or sets how many times faults of the kind named `fault` took effect.
  public subscript(fault fault: String) -> Int {
    get { Fault.format.names.firstIndex(of: fault).map { faults[$0] } ?? 0 }
    set { if let index = Fault.format.names.firstIndex(of: fault) { faults[index] = newValue } }
  }

  var all: [Int] { counts + faults }

  mutating func add(_ counters: LinkCounters) {
    self[.linkUp] += counters.establishments
    self[.retransmission] += counters.retransmissions
    self[.wrap] += counters.sequenceWraps
    self[.duplicate] += counters.duplicates
    self[.ahead] += counters.ahead
    self[.outsideWindow] += counters.outside
    self[.spoiled] += counters.spoiled
    self[.skippedBytes] += counters.skippedBytes
    self[.hastened] += counters.hastened
    self[.windowFull] += counters.windowStalls
    self[.withheldAcknowledgements] += counters.withholdings
    self[.noRoom] += counters.refused
    self[.giveUp] += counters.giveUps
  }

  /// Adds the counts from another world.
  public static func += (left: inout SoakCoverage, right: SoakCoverage) {
    for index in left.counts.indices { left.counts[index] += right.counts[index] }
    for index in left.faults.indices { left.faults[index] += right.faults[index] }
  }

  /// The names of the corner cases that were never reached.
  public var missing: [String] {
    rows.filter { $0.count == 0 }.map(\.name)
  }

  private var rows: [(name: String, count: Int)] {
    Corner.allCases.map { ($0.name, self[$0]) }
      + zip(Fault.format.names, faults).map { ("fault \($0)", $1) }
  }

  /// A line for each corner case and each fault.
  public var description: String {
    rows.map { "\("\($0.count)".rightAligned(in: 12))  \($0.name)" }.joined(separator: "\n")
  }
}
