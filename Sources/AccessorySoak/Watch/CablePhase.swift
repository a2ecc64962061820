import IAP2

/// How far the two ends of a cable have come, as seen by an observer of the wire.
enum CablePhase {
  case detection
  case synchronization
  case authentication
  case identification
  case ready
  case session

  /// The corner of a cut in this phase.
  var corner: SoakCoverage.Corner {
    switch self {
    case .detection: .cutInDetection
    case .synchronization: .cutInSynchronization
    case .authentication: .cutInAuthentication
    case .identification: .cutInIdentification
    case .ready: .cutWhenReady
    case .session: .cutInSession
    }
  }
}

/// Observes a cable to know its phase.
struct PhaseWatch {
  private(set) var phase = CablePhase.detection
  private var isAuthenticated = false
  private var isIdentified = false

  mutating func sawDetection() {
    self = PhaseWatch()
  }

  mutating func saw(_ header: PacketHeader, payload: RawSpan) {
    if header.control.contains(.syn) {
      self = PhaseWatch()
      phase = .synchronization
      return
    }
    // A control message: its mark, two bytes of length, and its number.
    guard payload.byteCount >= 6, byte(payload, 0) == 0x40, byte(payload, 1) == 0x40 else { return }
    switch UInt16(byte(payload, 4)) << 8 | UInt16(byte(payload, 5)) {
    case 0xAA05:
      isAuthenticated = true
      phase = isIdentified ? .ready : .authentication
    case 0xAA00...0xAA04: phase = .authentication
    case 0x1D02:
      isIdentified = true
      phase = isAuthenticated ? .ready : .identification
    case 0x1D00, 0x1D01, 0x1D03: phase = .identification
    case 0xEA00: phase = .session
    case 0xEA01: phase = .ready
    default: break
    }
  }

  private func byte(_ bytes: RawSpan, _ offset: Int) -> UInt8 {
    bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }
}
