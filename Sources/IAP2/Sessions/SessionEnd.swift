/// Why an External Accessory session is over.
public enum SessionEnd: Error, Equatable, Sendable {
  /// The device closed it (EA01), or the app did.
  case closedByDevice
  /// The accessory closed it (EA03 with status 1).
  case closedByAccessory
  /// The accessory refused it before a byte had come.
  case refused
  /// The link went down under it.
  case linkDown(LinkEnd)
  /// The native channel ended; the text has the reason.
  case channelEnded(String)
  /// What had arrived was not read, and waiting longer would have cost the whole link.
  case notRead(bytes: Int)
}

extension SessionEnd: CustomStringConvertible {
  /// A sentence fragment for messages: "the accessory closed it".
  public var description: String {
    switch self {
    case .closedByDevice: "the device closed it"
    case .closedByAccessory: "the accessory closed it"
    case .refused: "the accessory refused it"
    case .linkDown(let end): "the link went down: \(end)"
    case .channelEnded(let how): how
    case .notRead(let bytes): "\(bytes) received bytes were never read"
    }
  }
}

// The three messages by which sessions begin and end: EA00 and EA01 are the device's, EA03 is the accessory's.

extension ControlMessage {
  static func startSession(_ id: UInt16, protocolID: UInt8) -> ControlMessage {
    ControlMessage(.startExternalAccessorySession) {
      $0.u8(0, protocolID)
      $0.u16(1, id)
    }
  }

  static func stopSession(_ id: UInt16) -> ControlMessage {
    ControlMessage(.stopExternalAccessorySession) { $0.u16(0, id) }
  }

  static func sessionStatus(_ id: UInt16, close: Bool) -> ControlMessage {
    ControlMessage(.externalAccessorySessionStatus) {
      $0.u16(0, id)
      $0.u8(1, close ? 1 : 0)
    }
  }
}
