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
