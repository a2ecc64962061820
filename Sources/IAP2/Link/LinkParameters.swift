/// The payload of a SYN: what one end accepts, how the link recovers from losses, and the link's sessions.
///
/// The window and the packet length are announcements that limit what the *other* end sends. Both ends must agree on
/// the four recovery values; the device normally repeats the accessory's offer.
public struct LinkParameters: Hashable, Sendable {
  /// The link version; 1 is the only one in use.
  public var version: UInt8 = 1
  /// How many unacknowledged packets this end accepts, 1–127.
  public var maximumOutstandingPackets: UInt8
  /// The length of the longest packet that this end accepts, including header and checksums, 24–65,535.
  public var maximumPacketLength: UInt16
  /// How long an unacknowledged packet waits before it is retransmitted, 20–65,535 ms.
  public var retransmissionTimeout: UInt16
  /// How long an acknowledgement may be delayed, 10–32,767 ms.
  public var cumulativeAcknowledgementTimeout: UInt16
  /// How many times a packet is retransmitted before the sender gives up on the link, 1–30.
  public var maximumRetransmissions: UInt8
  /// How many packets one acknowledgement may cover, 0–127. In an offer, this must not exceed the maximum number of
  /// outstanding packets.
  public var maximumCumulativeAcknowledgements: UInt8
  /// The link's sessions; there must be at least one.
  public var sessions: [LinkSession]

  /// Creates parameters; the default values are typical of known accessories.
  public init(
    maximumOutstandingPackets: UInt8 = 32, maximumPacketLength: UInt16 = 65_535,
    retransmissionTimeout: UInt16 = 2_000, cumulativeAcknowledgementTimeout: UInt16 = 22,
    maximumRetransmissions: UInt8 = 30, maximumCumulativeAcknowledgements: UInt8 = 3,
    sessions: [LinkSession] = [LinkSession(id: 1, kind: .control), LinkSession(id: 2, kind: .externalAccessory)]
  ) {
    self.maximumOutstandingPackets = maximumOutstandingPackets
    self.maximumPacketLength = maximumPacketLength
    self.retransmissionTimeout = retransmissionTimeout
    self.cumulativeAcknowledgementTimeout = cumulativeAcknowledgementTimeout
    self.maximumRetransmissions = maximumRetransmissions
    self.maximumCumulativeAcknowledgements = maximumCumulativeAcknowledgements
    self.sessions = sessions
  }

  /// Returns these parameters adapted to a medium whose frames hold at most `longest` bytes, so that each packet from
  /// the other end fits into one frame. If `longest` is nil, the parameters are unchanged.
  public func fitting(frames longest: Int?) -> LinkParameters {
    guard let longest else { return self }
    var fitted = self
    fitted.maximumPacketLength = min(maximumPacketLength, UInt16(clamping: max(longest, 24)))
    return fitted
  }

  private var recovery: SIMD4<UInt16> {
    get {
      // Not an array literal, which would be an array that is copied.
      SIMD4(
        retransmissionTimeout, cumulativeAcknowledgementTimeout, UInt16(maximumRetransmissions),
        UInt16(maximumCumulativeAcknowledgements))
    }
    set {
      (retransmissionTimeout, cumulativeAcknowledgementTimeout) = (newValue[0], newValue[1])
      (maximumRetransmissions, maximumCumulativeAcknowledgements) = (UInt8(newValue[2]), UInt8(newValue[3]))
    }
  }

  /// Whether these parameters request a link without acknowledgements and retransmissions, which is the case if all
  /// four recovery values are zero.
  public var isZeroAcknowledgement: Bool { recovery == .zero }

  /// A copy of these parameters with all four recovery values set to zero.
  public var withoutAcknowledgements: LinkParameters {
    var zero = self
    zero.recovery = .zero
    return zero
  }

  /// Returns true if the recovery values are the same as those of `other`. The two ends of a link must agree on these
  /// values.
  public func agreesOnRecovery(with other: LinkParameters) -> Bool { recovery == other.recovery }

  /// A copy of these parameters with the four recovery values of `other`.
  public func adoptingRecovery(of other: LinkParameters) -> LinkParameters {
    var adopted = self
    adopted.recovery = other.recovery
    return adopted
  }

  /// The encoded payload.
  public var encoded: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 10 + 3 * sessions.count)
    func store(_ value: UInt16, at place: Int) {
      bytes[place] = UInt8(value >> 8)
      bytes[place + 1] = UInt8(truncatingIfNeeded: value)
    }
    bytes[0] = version
    bytes[1] = maximumOutstandingPackets
    store(maximumPacketLength, at: 2)
    store(retransmissionTimeout, at: 4)
    store(cumulativeAcknowledgementTimeout, at: 6)
    bytes[8] = maximumRetransmissions
    bytes[9] = maximumCumulativeAcknowledgements
    for (index, session) in sessions.enumerated() {
      bytes[10 + 3 * index] = session.id
      bytes[11 + 3 * index] = session.kind.rawValue
      bytes[12 + 3 * index] = session.version
    }
    return bytes
  }

  /// Decodes a SYN's payload without range checks. Decoding fails only if the bytes cannot be parsed.
  public init(reading payload: RawSpan) throws(LinkParametersError) {
    guard payload.byteCount >= 10 else { throw LinkParametersError(.tooShort, in: payload) }
    guard (payload.byteCount - 10) % 3 == 0 else { throw LinkParametersError(.cutTable, in: payload) }
    func byte(_ at: Int) -> UInt8 { payload.unsafeLoad(fromByteOffset: at, as: UInt8.self) }
    func word(_ at: Int) -> UInt16 { UInt16(byte(at)) << 8 | UInt16(byte(at + 1)) }
    self.init(
      maximumOutstandingPackets: byte(1), maximumPacketLength: word(2), retransmissionTimeout: word(4),
      cumulativeAcknowledgementTimeout: word(6), maximumRetransmissions: byte(8),
      maximumCumulativeAcknowledgements: byte(9),
      sessions: stride(from: 10, to: payload.byteCount, by: 3).map {
        LinkSession(id: byte($0), kind: .init(rawValue: byte($0 + 1)), version: byte($0 + 2))
      })
    version = byte(0)
    if let problem = sessionProblem { throw LinkParametersError(problem, in: payload) }
  }

  var controlSession: UInt8? { sessions.first { $0.kind == .control }?.id }

  private var sessionProblem: LinkParametersError.Problem? {
    if sessions.isEmpty { return .noSessions }
    for (index, session) in sessions.enumerated() {
      if session.id == 0 { return .sessionZero }
      if sessions[..<index].contains(where: { $0.id == session.id }) { return .duplicateSession(session.id) }
    }
    return sessions.count(where: { $0.kind == .control }) == 1 ? nil : .notOneControlSession
  }

  // MARK: Values out of range

  /// A numeric field in a SYN.
  public enum Field: String, Hashable, Sendable {
    case version = "link version"
    case window = "maximum outstanding packets"
    case length = "maximum packet length"
    case retransmissionTimeout = "retransmission timeout"
    case acknowledgementTimeout = "cumulative acknowledgement timeout"
    case retransmissions = "maximum retransmissions"
    case cumulativeAcknowledgements = "maximum cumulative acknowledgements"
  }

  /// A value in a SYN that is outside its allowed range.
  public struct ValueOutOfRange: Hashable, Sendable, CustomStringConvertible {
    /// The field that contains the value.
    public var field: Field
    /// The value in the SYN.
    public var value: Int
    /// The allowed range.
    public var allowed: ClosedRange<Int>

    /// Creates an out-of-range value.
    public init(field: Field, value: Int, allowed: ClosedRange<Int>) {
      self.field = field
      self.value = value
      self.allowed = allowed
    }

    /// The nearest allowed value.
    public var nearest: Int { min(max(value, allowed.lowerBound), allowed.upperBound) }

    /// Text such as "maximum outstanding packets is 0; it must be 1 to 127".
    package var finding: String {
      let range = allowed.count == 1 ? "\(allowed.lowerBound)" : "\(allowed.lowerBound) to \(allowed.upperBound)"
      return "\(field.rawValue) is \(value); it must be \(range)"
    }

    /// Text such as "maximum outstanding packets is 0; it must be 1 to 127: using 1".
    public var description: String { "\(finding): using \(nearest)" }
  }

  /// Returns the values outside their allowed ranges. The values in an offer all come from the accessory, so they must
  /// be consistent. A device's answer combines the device's own window with the accessory's other values, so the values
  /// need not be consistent with each other.
  package func valuesOutOfRange(isOffer: Bool) -> [ValueOutOfRange] {
    let zero = isZeroAcknowledgement
    var found: [ValueOutOfRange] = []
    func check(_ field: Field, _ value: some BinaryInteger, _ allowed: ClosedRange<Int>) {
      if allowed.contains(Int(value)) { return }
      found.append(ValueOutOfRange(field: field, value: Int(value), allowed: allowed))
    }
    check(.version, version, 1...1)
    check(.window, maximumOutstandingPackets, zero ? 0...127 : 1...127)
    check(.length, maximumPacketLength, 24...65_535)
    if zero { return found }
    let most = isOffer ? min(max(Int(maximumOutstandingPackets), 1), 127) : 127
    check(.retransmissionTimeout, retransmissionTimeout, 20...65_535)
    check(.acknowledgementTimeout, cumulativeAcknowledgementTimeout, 10...32_767)
    check(.retransmissions, maximumRetransmissions, 1...30)
    check(.cumulativeAcknowledgements, maximumCumulativeAcknowledgements, 0...most)
    return found
  }

  /// Returns these parameters with each of the given values replaced by the nearest allowed value.
  package func replacing(_ values: [ValueOutOfRange]) -> LinkParameters {
    var it = self
    for value in values {
      let nearest = value.nearest
      switch value.field {
      case .version: it.version = UInt8(nearest)
      case .window: it.maximumOutstandingPackets = UInt8(nearest)
      case .length: it.maximumPacketLength = UInt16(nearest)
      case .retransmissionTimeout: it.retransmissionTimeout = UInt16(nearest)
      case .acknowledgementTimeout: it.cumulativeAcknowledgementTimeout = UInt16(nearest)
      case .retransmissions: it.maximumRetransmissions = UInt8(nearest)
      case .cumulativeAcknowledgements: it.maximumCumulativeAcknowledgements = UInt8(nearest)
      }
    }
    return it
  }
}

/// The reason why a SYN cannot be used, and the SYN's payload as evidence.
public struct LinkParametersError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The problem with a SYN.
  public enum Problem: Equatable, Sendable {
    /// The payload has fewer than ten bytes.
    case tooShort
    /// The size of the session table is not a multiple of three bytes.
    case cutTable
    case noSessions
    /// A session has the number 0, which is reserved for the link; Apple devices reset the link in this case.
    case sessionZero
    case duplicateSession(UInt8)
    case notOneControlSession
    /// The device's control session differs from the control session that the accessory offered.
    case otherControlSession(offered: UInt8)
  }

  /// The problem with the SYN.
  public var problem: Problem
  /// The SYN's payload.
  public var bytes: [UInt8]

  init(_ problem: Problem, in payload: RawSpan) {
    self.problem = problem
    bytes = payload.withUnsafeBytes { [UInt8]($0) }
  }

  /// An error message that includes the offending bytes.
  public var description: String {
    let what =
      switch problem {
      case .tooShort: "the payload has \(bytes.count) bytes but needs at least 13"
      case .cutTable: "the session table has \(bytes.count - 10) bytes, which is not a multiple of 3"
      case .noSessions: "the session table is empty"
      case .sessionZero: "a session has the number 0, which belongs to the link itself"
      case .duplicateSession(let id): "two sessions have the number \(id)"
      case .notOneControlSession: "there must be exactly one control session"
      case .otherControlSession(let id): "the control session is not the offered number \(id)"
      }
    return "the SYN cannot be used: \(what) (payload: \(Hex.spaced(bytes.prefix(64))))"
  }
}

/// An entry of the session table in a SYN: a session's number, kind and version.
public struct LinkSession: Hashable, Sendable {
  /// The kind of data that a link session carries.
  public enum Kind: Hashable, Sendable {
    /// Control messages; a link has exactly one such session.
    case control
    case fileTransfer
    case externalAccessory
    /// A kind of session that no source describes.
    case unknown(UInt8)

    /// The byte on the wire.
    public var rawValue: UInt8 {
      switch self {
      case .control: 0
      case .fileTransfer: 1
      case .externalAccessory: 2
      case .unknown(let value): value
      }
    }

    /// Creates a kind from the byte on the wire.
    public init(rawValue: UInt8) {
      self = [Kind.control, .fileTransfer, .externalAccessory].first { $0.rawValue == rawValue } ?? .unknown(rawValue)
    }

    var shortName: String {
      switch self {
      case .control: "control"
      case .fileTransfer: "file"
      case .externalAccessory: "accessory"
      case .unknown(let value): "type\(value)"
      }
    }
  }

  /// The session's number; 0 is reserved for the link.
  public var id: UInt8
  /// The kind of data that the session carries.
  public var kind: Kind
  /// The session's version: 1, or 2 for some control and file transfer sessions. No public source describes version 2.
  public var version: UInt8

  /// Creates an entry of the session table.
  public init(id: UInt8, kind: Kind, version: UInt8 = 1) {
    self.id = id
    self.kind = kind
    self.version = version
  }
}
