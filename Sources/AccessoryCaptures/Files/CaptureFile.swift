import AccessoryCore

enum CaptureFileItem: Sendable {
  case interface(CaptureInterface)
  case frame(CaptureFrame)
  case problem(CaptureProblem)
}

/// What a file's frames contain. Link type numbers are those in tcpdump's list.
enum CaptureLinkType: Hashable, Sendable {
  /// Link type 147 (USER0) carries iAP2 bytes as recorded by easim.
  case iap2
  /// Link type 148 (USER1) carries a native channel's transfers as recorded by easim.
  case nativeTransport
  /// Link types 189 and 220 are Linux usbmon captures, with 48-byte and 64-byte headers respectively.
  case usb(headerSize: Int)
  /// Link types 187 and 201 are Bluetooth HCI with a type byte. In link type 201, a direction precedes the type byte.
  case bluetoothH4(hasDirection: Bool)
  /// Bluetooth HCI without a type byte. Only btsnoop uses this form. The record's flags contain the type.
  case bluetoothH1
  /// Link type 254, or 2001 in btsnoop, is the Linux Bluetooth monitor, whose opcodes indicate the type.
  case bluetoothMonitor(hasHeader: Bool)
  case packetLogger
  case other(Int)

  init(pcap number: Int) {
    self =
      switch number {
      case 147: .iap2
      case 148: .nativeTransport
      case 187: .bluetoothH4(hasDirection: false)
      case 189: .usb(headerSize: 48)
      case 201: .bluetoothH4(hasDirection: true)
      case 220: .usb(headerSize: 64)
      case 254: .bluetoothMonitor(hasHeader: true)
      default: .other(number)
      }
  }
}

struct CaptureInterface: Equatable, Sendable {
  var linkType: CaptureLinkType
  /// The name, or an empty string if the file gives none.
  var name = ""
  var description = ""
}

/// A frame's direction from the recorder's point of view.
enum CaptureDirection: Sendable {
  case unknown
  case received
  case sent
}

struct CaptureFrame: Sendable {
  /// The frame's number in the file, counting from 1.
  var number = 0
  var offset: Int
  var interface: Int
  /// The time in nanoseconds since 1970, or since the file's own starting point if it uses a different one.
  var time: Int64
  var direction = CaptureDirection.unknown
  /// The flags of a btsnoop record, or the type of a PacketLogger record.
  var flags = 0
  /// The original length of the frame, which differs from the recorded length if the recorder truncated the frame.
  var originalCount: Int
  /// The frame's bytes. A slice keeps its entire buffer in memory, so do not store frames while reading a large file.
  var bytes: ArraySlice<UInt8>
  var comments: [String] = []
}

/// A damaged or missing part of a capture file.
struct CaptureProblem: Error, Equatable, Sendable, CustomStringConvertible {
  var offset: Int
  /// The problem, as a sentence fragment.
  var message: String
  var isFinal = false

  var description: String { "byte \(offset): \(message)" }
}

protocol CaptureFileReader {
  mutating func append(_ bytes: [UInt8], _ emit: (CaptureFileItem) -> Void)
  /// Processes the end of the file, and emits a problem if the file is incomplete.
  mutating func finish(_ emit: (CaptureFileItem) -> Void)
}

/// The state that every reader needs: the unprocessed bytes and the number of frames read so far.
struct CaptureFileState {
  /// The maximum size of a record. A limit keeps a damaged file from exhausting memory.
  static let longestRecord = 8 << 20

  private var bytes: [UInt8] = []
  private var start = 0
  /// The file offset of the first unprocessed byte.
  private(set) var offset = 0
  private(set) var isOver = false
  private(set) var frames = 0
  /// The time of the most recent frame, or `Int64.min` before the first frame.
  private(set) var latest = Int64.min
  private var isBehind = false

  mutating func stop(_ message: String, at offset: Int? = nil, _ emit: (CaptureFileItem) -> Void) {
    guard !isOver else { return }
    isOver = true
    emit(.problem(CaptureProblem(offset: offset ?? self.offset, message: message, isFinal: true)))
    (bytes, start) = ([], 0)
  }

  var count: Int { bytes.count - start }

  var all: ArraySlice<UInt8> { bytes[start...] }

  mutating func append(_ more: [UInt8]) {
    if start == bytes.count {
      (bytes, start) = (more, 0)
      return
    }
    // Only a partial record can remain unprocessed, so moving it is cheap.
    if start > 0 {
      bytes.removeSubrange(..<start)
      start = 0
    }
    bytes += more
  }

  /// Removes and returns the first `count` bytes, which must exist.
  mutating func take(_ count: Int) -> ArraySlice<UInt8> {
    defer {
      start += count
      offset += count
    }
    return bytes[start..<start + count]
  }

  /// Numbers a frame and emits it. The first time a frame is older than its predecessor, a problem is reported.
  mutating func add(_ frame: CaptureFrame, _ emit: (CaptureFileItem) -> Void) {
    var frame = frame
    frames += 1
    frame.number = frames
    if frame.time < latest, !isBehind {
      isBehind = true
      let message = "packet \(frames) is older than the packet before it"
      emit(.problem(CaptureProblem(offset: frame.offset, message: message)))
    }
    latest = frame.time
    emit(.frame(frame))
  }
}

enum ByteOrder {
  case little
  case big
}

extension RandomAccessCollection<UInt8> where Index == Int {
  /// Returns the integer stored in the `count` bytes at `position`, relative to the first byte of the collection. The
  /// bytes at this position must exist.
  func number(at position: Int, _ count: Int, _ order: ByteOrder) -> UInt64 {
    var value: UInt64 = 0
    for index in 0..<count {
      let place = order == .big ? index : count - 1 - index
      value = value << 8 | UInt64(self[startIndex + position + place])
    }
    return value
  }

  func u16(at position: Int, _ order: ByteOrder) -> Int { Int(number(at: position, 2, order)) }

  func u32(at position: Int, _ order: ByteOrder) -> Int { Int(number(at: position, 4, order)) }
}
