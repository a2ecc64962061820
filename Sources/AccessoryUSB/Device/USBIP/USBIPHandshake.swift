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
    if bytes.count >= 2, bytes.bigEndian16(at: 0) != version { throw .version(bytes.bigEndian16(at: 0)) }
    if bytes.count >= 4, ![0x8003, 0x8005].contains(bytes.bigEndian16(at: 2)) {
      throw .code(bytes.bigEndian16(at: 2))
    }
    guard bytes.count >= 8 else { return nil }
    if bytes.bigEndian16(at: 2) == 0x8005 { return (.list, 8) }
    guard bytes.count >= 8 + busIDSize else { return nil }
    let name = bytes[8..<8 + busIDSize].prefix { $0 != 0 }
    return (.take(busID: String(decoding: name, as: UTF8.self)), 8 + busIDSize)
  }

  static func listing(_ devices: [USBIPListedDevice]) -> [UInt8] {
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

  /// Encodes the answer to ``take(busID:)``: either the device or the reason why it is refused.
  static func taken(_ device: USBIPListedDevice?, status: Status) -> [UInt8] {
    var out: [UInt8] = []
    out.addBigEndian(version)
    out.addBigEndian(UInt16(0x0003))
    out.addBigEndian(status.rawValue)
    if status == .done, let device { out += device.record }
    return out
  }

  enum Status: UInt32 {
    case done = 0
    case busy = 2
    case noSuchDevice = 4
  }
}

struct USBIPListedDevice {
  let shape: USBAccessoryShape
  /// The device's number on the server's only bus. The bus ID contains this number.
  let number: Int

  var busID: String { "1-\(number)" }

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
enum USBIPError: Error, Equatable, CustomStringConvertible {
  case version(UInt16)
  case code(UInt16)
  case command(UInt32)
  case direction(UInt32)
  case endpoint(UInt32)
  case length(UInt32)
  case isochronous(UInt32)
  case tooManyRequests(Int)
  case owes(USBIPDebt)
  case madeRoom(of: Int)

  var description: String {
    switch self {
    case .version(let number):
      "the client speaks USB/IP version \(Hex.number(number, uppercase: false)), but easim speaks 0111"
    case .code(let number):
      "the client requested the unknown operation \(Hex.number(number, uppercase: false)): expected 8003 (import) or "
        + "8005 (list)"
    case .command(let number): "the client sent the unknown command \(number): expected 1 (submit) or 2 (unlink)"
    case .direction(let number): "the client sent the unknown direction \(number): expected 0 (out) or 1 (in)"
    case .endpoint(let number): "the client requested endpoint \(number), but the highest is 15"
    case .length(let count):
      "the client requested a transfer of \(count) bytes, but the limit is \(USBIPRequest.longestTransfer)"
    case .isochronous(let count):
      "the client requested \(count) isochronous packets, but there is no isochronous endpoint"
    case .tooManyRequests(let count): "the client has \(count) transfers pending, which is the limit"
    case .owes(let debt): debt.problem
    case .madeRoom(let count):
      "another client connected, and of \(count) clients without a device, this one had waited longest"
    }
  }
}

/// A step that a USB/IP server is waiting for a client to take. Each step has a time limit, because the client occupies
/// a device or a connection that other clients might need.
///
/// A client that has imported a device and has no step pending may stay silent indefinitely, because its kernel sends
/// nothing while no program is using the device. If a silent client's machine is gone, TCP keep-alive detects this.
enum USBIPDebt: CaseIterable {
  /// The client has connected but has not sent its request.
  case request
  /// The client has requested a list or an unavailable device but is not reading the answer.
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
