import AccessoryCore

/// What a capture file consists of, in the order of the file.
public enum CaptureFileItem: Sendable {
  /// An interface; frames refer to it by number.
  case interface(CaptureInterface)
  /// A recorded packet or transfer.
  case frame(CaptureFrame)
  /// A problem in the file: something is wrong or missing.
  case problem(CaptureProblem)
}

/// What a file's frames contain, by the numbers in tcpdump's list of link types.
public enum CaptureLinkType: Hashable, Sendable {
  /// 147, USER0: bytes of iAP2, as easim records them.
  case iap2
  /// 148, USER1: transfers of a native channel, as easim records them.
  case nativeTransport
  /// 189 and 220: Linux's usbmon, with a header of 48 or 64 bytes.
  case usb(headerSize: Int)
  /// 187 and 201: Bluetooth's HCI with a type byte, without and with a direction before it.
  case bluetoothH4(hasDirection: Bool)
  /// HCI without a type byte; the type is in the record's flags. btsnoop only.
  case bluetoothH1
  /// 254, and btsnoop 2001: Linux's monitor, with the type as an opcode.
  case bluetoothMonitor(hasHeader: Bool)
  /// Apple's PacketLogger.
  case packetLogger
  /// Any other type, which is not decoded.
  case other(Int)

  /// The type with this number in pcap and pcapng.
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

/// An interface of a capture file.
public struct CaptureInterface: Equatable, Sendable {
  /// The interface's number, from 0, in the whole file.
  public var number: Int
  /// What the interface's frames contain.
  public var linkType: CaptureLinkType
  /// The interface's name; empty if the file does not name it.
  public var name = ""
  /// What the file says about the interface.
  public var description = ""
}

/// The direction of a frame, as the capturing side sees it.
public enum CaptureDirection: Sendable {
  /// The file does not show the direction.
  case unknown
  /// Towards the capturing side.
  case received
  /// The packet was sent by the capturing side.
  case sent
}

/// A packet or transfer of a capture file.
public struct CaptureFrame: Sendable {
  /// The frame's number in the file, from 1.
  public var number = 0
  /// Where the frame's record begins in the file.
  public var offset: Int
  /// The number of the frame's interface.
  public var interface: Int
  /// Nanoseconds since 1970, or since whatever the file counts from.
  public var time: Int64
  /// The direction of the frame.
  public var direction = CaptureDirection.unknown
  /// The flags of a btsnoop record, or the type of a PacketLogger record.
  var flags = 0
  /// The original length, before the recorder cut the frame.
  public var originalCount: Int
  /// The frame's bytes. They stay in memory as long as they are held, so do not hold them while reading a large file.
  public var bytes: ArraySlice<UInt8>
  /// What the file says about the frame.
  public var comments: [String] = []
}

/// Something in a capture file that is wrong or missing.
public struct CaptureProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// The offset in the file, in bytes.
  public var offset: Int
  /// What is wrong, as a fragment of a sentence.
  public var message: String
  /// Whether the rest of the file cannot be read.
  public var isFinal = false

  /// "byte 24: the file ends in the middle of a record".
  public var description: String { "byte \(offset): \(message)" }
}

/// Reads one kind of capture file, which arrives in chunks.
protocol CaptureFileReader {
  /// Continues with `bytes`, and emits what is now complete.
  mutating func append(_ bytes: [UInt8], _ emit: (CaptureFileItem) -> Void)
  /// The end of the file: emits what is missing.
  mutating func finish(_ emit: (CaptureFileItem) -> Void)
}

/// The sizes that readers accept, so that a damaged file cannot exhaust memory.
enum CaptureLimits {
  /// The longest record. Records of usbmon and Bluetooth are much shorter.
  static let record = 8 << 20
  /// The maximum number of interfaces in one file.
  static let interfaces = 65_536
  /// The longest name or comment that is kept.
  static let text = 4_096
}

/// What all readers keep: the bytes not used yet, and the number of frames so far.
struct CaptureFileState {
  var window = ByteWindow()
  private(set) var isOver = false
  private(set) var frames = 0
  /// The time of the last frame; the smallest number before the first.
  private(set) var latest = Int64.min
  private var isBehind = false

  /// Nothing more can be read from the file.
  mutating func stop(_ message: String, at offset: Int? = nil, _ emit: (CaptureFileItem) -> Void) {
    guard !isOver else { return }
    isOver = true
    emit(.problem(CaptureProblem(offset: offset ?? window.offset, message: message, isFinal: true)))
    window.clear()
  }

  /// Numbers a frame and emits it; the first frame that is older than the one before it is reported as a problem.
  mutating func add(_ frame: CaptureFrame, _ emit: (CaptureFileItem) -> Void) {
    var frame = frame
    frames += 1
    frame.number = frames
    if frame.time < latest, !isBehind {
      isBehind = true
      let message = "packet \(frames) is older than the one before it"
      emit(.problem(CaptureProblem(offset: frame.offset, message: message)))
    }
    latest = frame.time
    emit(.frame(frame))
  }
}

/// The byte order of a number.
enum ByteOrder {
  case little
  case big
}

extension RandomAccessCollection<UInt8> where Index == Int {
  /// The number of `count` bytes at `position`, counted from the first byte. The bytes must exist.
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

/// The bytes of a file that have arrived and are not used yet, with their offset in the file.
struct ByteWindow {
  private var bytes: [UInt8] = []
  private var start = 0
  /// The offset in the file of the window's first byte.
  private(set) var offset = 0

  var count: Int { bytes.count - start }

  var all: ArraySlice<UInt8> { bytes[start...] }

  mutating func append(_ more: [UInt8]) {
    if start == bytes.count {
      (bytes, start) = (more, 0)
      return
    }
    // Less than one record is left, so moving it costs little.
    if start > 0 {
      bytes.removeSubrange(..<start)
      start = 0
    }
    bytes += more
  }

  func u16(at position: Int, _ order: ByteOrder) -> Int { all.u16(at: position, order) }

  func u32(at position: Int, _ order: ByteOrder) -> Int { all.u32(at: position, order) }

  /// Removes and returns the first `count` bytes, which must exist.
  mutating func take(_ count: Int) -> ArraySlice<UInt8> {
    defer {
      start += count
      offset += count
    }
    return bytes[start..<start + count]
  }

  /// Drops everything.
  mutating func clear() {
    offset += count
    (bytes, start) = ([], 0)
  }
}
