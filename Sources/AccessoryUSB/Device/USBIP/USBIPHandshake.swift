import AccessoryCore
import AccessoryFormats

/// The requests that a client can send before it has imported a device, and the server's answers. All numbers are
/// big-endian.
enum USBIPHandshake: Equatable {
  case list
  /// The client asks to import this device until the connection ends.
  case take(busID: String)

  /// The version that Linux has used since 2009: 1.1.1.
  static let version: UInt16 = 0x0111
  private static let busIDSize = 32

  /// Parses a request from the start of the received bytes. Returns nil while the request is incomplete.
  static func read(_ bytes: [UInt8]) throws(USBIPError) -> (Self, size: Int)? {
    guard bytes.count >= 8 else { return nil }
    func number(_ offset: Int) -> String { Hex.number(bytes.bigEndian16(at: offset), uppercase: false) }
    guard bytes.bigEndian16(at: 0) == version else {
      throw USBIPError("the client speaks USB/IP version \(number(0)), but easim speaks 0111")
    }
    switch bytes.bigEndian16(at: 2) {
    case 0x8005: return (.list, 8)
    case 0x8003:
      guard bytes.count >= 8 + busIDSize else { return nil }
      return (.take(busID: String(terminated: bytes[8..<8 + busIDSize])), 8 + busIDSize)
    default:
      throw USBIPError(
        "the client requested the unknown operation \(number(2)): expected 8003 (import) or 8005 (list)")
    }
  }

  static func listing(_ devices: [USBIPExport]) -> [UInt8] {
    var out: [UInt8] = []
    out.addBigEndian(version)
    out.addBigEndian(UInt16(0x0005))
    out.addBigEndian(UInt32(0))
    out.addBigEndian(UInt32(devices.count))
    for device in devices {
      out += device.record
      for interface in device.shape.interfaces(at: device.shape.speed) where interface.alternate == 0 {
        out += [interface.kind.classCode, interface.kind.subclass, interface.kind.protocolCode, 0]
      }
    }
    return out
  }

  /// Encodes the answer to ``take(busID:)``, which the device's record follows if the request succeeds.
  static func answer(_ status: Status) -> [UInt8] {
    var out: [UInt8] = []
    out.addBigEndian(version)
    out.addBigEndian(UInt16(0x0003))
    out.addBigEndian(status.rawValue)
    return out
  }

  enum Status: UInt32 {
    case done = 0
    case busy = 2
    case noSuchDevice = 4
  }
}

extension USBIPExport {
  var record: [UInt8] {
    var out: [UInt8] = []
    out.addText("/sys/devices/platform/easim/usb1/\(busID)", size: 256)
    out.addText(busID, size: 32)
    out.addBigEndian(UInt32(1))
    out.addBigEndian(UInt32(number + 1))
    // The values come from the enum usb_device_speed in Linux.
    out.addBigEndian(UInt32(shape.speed == .full ? 2 : 3))
    out.addBigEndian(shape.vendor)
    out.addBigEndian(shape.product)
    out.addBigEndian(shape.release)
    // The bytes are class, subclass, protocol, current configuration, number of configurations, and number of
    // interfaces.
    out += [0, 0, 0, 1, 1, shape.interfaceCount]
    return out
  }
}

/// A protocol error by a USB/IP client, which causes the server to close the connection.
struct USBIPError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// A step that a USB/IP server is waiting for a client to take. Each step has a time limit, because the client occupies
/// a device or a connection that other clients might need.
///
/// A client that has imported a device and has no step pending may stay silent indefinitely, because its kernel sends
/// nothing while no program is using the device. If a silent client's machine is gone, TCP keep-alive detects this.
enum USBIPDebt: CaseIterable {
  case request
  case answer
  /// The client has imported a device but has not sent a transfer. Every kernel starts by reading the descriptors.
  case firstTransfer
  case restOfTransfer
  case transferAnswers

  /// The time limit for this step. A kernel needs only milliseconds.
  var limit: Duration {
    switch self {
    case .request, .answer: USBIPServer.patience
    case .firstTransfer, .restOfTransfer, .transferAnswers: USBIPServer.transferPatience
    }
  }

  var problem: String {
    let limit = DurationText.format(limit)
    return switch self {
    case .request: "the client connected but sent no request"
    case .answer: "the client does not read the answers to its requests"
    case .firstTransfer: "the client has the device but sent no transfer within \(limit)"
    case .restOfTransfer: "the client sent the beginning of a transfer, but not the rest within \(limit)"
    case .transferAnswers: "the client has the device but read no answers for \(limit)"
    }
  }
}

extension [UInt8] {
  /// Appends text as a fixed-size field, padded with zero bytes.
  fileprivate mutating func addText(_ text: String, size: Int) {
    let bytes = Array(text.utf8.prefix(size - 1))
    self += bytes + [UInt8](repeating: 0, count: size - bytes.count)
  }
}
