import AccessoryCore

/// What a capture file consists of, in the order of the file.
public enum CaptureFileItem: Sendable {
  /// An interface; frames refer to it by its number.
  case interface(CaptureInterface)
  /// A recorded packet or transfer.
  case frame(CaptureFrame)
  /// Something in the file is wrong or missing.
  case problem(CaptureProblem)
}

/// What frames are, by the numbers of tcpdump's list of link types.
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
  /// 254, and btsnoop 2001: Linux's monitor, the type as an opcode.
  case bluetoothMonitor(hasHeader: Bool)
  /// Apple's PacketLogger.
  case packetLogger
  /// Any other, which is not decoded.
  case other(Int)

  /// The type with a number in pcap and pcapng.
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
  /// Its number, from 0, in the whole file.
  public var number: Int
  /// What its frames are.
  public var linkType: CaptureLinkType
  /// Its name; empty when the file has none.
  public var name = ""
  /// What the file says about it.
  public var description = ""
}

/// Which way a frame went, as the capturing side sees it.
public enum CaptureDirection: Sendable {
  /// The file does not show it.
  case unknown
  /// To the capturing side.
  case received
  /// From the capturing side.
  case sent
}

/// A packet or transfer of a capture file.
public struct CaptureFrame: Sendable {
  /// Its number in the file, from 1.
  public var number: Int
  /// Where its record begins in the file.
  public var offset: Int
  /// The number of its interface.
  public var interface: Int
  /// Nanoseconds since 1970, or since whatever the file counts from.
  public var time: Int64
  /// Which way it went.
  public var direction = CaptureDirection.unknown
  /// The flags of a btsnoop record, or the type of a PacketLogger record.
  var flags = 0
  /// How long it was before the recorder cut it.
  public var originalCount: Int
  /// Its bytes. Valid as long as they are held; do not hold them when you read a large file.
  public var bytes: ArraySlice<UInt8>
  /// What the file says about it.
  public var comments: [String] = []
}

/// Something that is wrong in a capture file, or missing from it.
public struct CaptureProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// The place in the file, in bytes.
  public var offset: Int
  /// What is wrong, as a fragment of a sentence.
  public var message: String
  /// Whether the rest of the file cannot be read.
  public var isFinal = false

  /// "byte 24: the file ends in the middle of a record".
  public var description: String { "byte \(offset): \(message)" }
}

/// Reads one kind of capture file, which arrives in parts.
protocol CaptureFileReader {
  /// Continues with `bytes`, and gives what is complete now.
  mutating func append(_ bytes: [UInt8], _ give: (CaptureFileItem) -> Void)
  /// The end of the file: gives what is missing.
  mutating func finish(_ give: (CaptureFileItem) -> Void)
}

/// The sizes that readers accept, so that a damaged file cannot fill the memory.
enum CaptureLimits {
  /// The longest record. The longest of usbmon and Bluetooth are far below.
  static let record = 8 << 20
  /// The most interfaces of one file.
  static let interfaces = 65_536
  /// The longest name or comment that is kept.
  static let text = 4_096
}

/// A file of records that begin with a length: pcap, btsnoop, PacketLogger. The formats differ only in these headers.
struct RecordFile {
  /// What the header of a record says.
  struct Header {
    var count: Int
    var originalCount: Int
    var time: Int64
    var direction = CaptureDirection.unknown
    var flags = 0
  }

  var window = ByteWindow()
  private(set) var isOver = false
  private(set) var frames = 0
  private var isBehind = false
  private var latest = Int64.min

  /// Nothing more of the file can be read.
  mutating func stop(at offset: Int, _ message: String, _ give: (CaptureFileItem) -> Void) {
    guard !isOver else { return }
    isOver = true
    window.clear()
    give(.problem(CaptureProblem(offset: offset, message: message, isFinal: true)))
  }

  /// Gives all whole records. `header` reads the header of `headerSize` bytes; nil for one that is impossible.
  mutating func takeRecords(
    headerSize: Int, _ give: (CaptureFileItem) -> Void, header: (ArraySlice<UInt8>) -> Header?
  ) {
    while !isOver, window.count >= headerSize {
      let offset = window.offset
      let bytes = window.all.prefix(headerSize)
      guard let header = header(bytes) else {
        return stop(at: offset, "a record with an impossible length; the rest is not read", give)
      }
      guard header.count <= CaptureLimits.record else {
        return stop(
          at: offset,
          "a record of \(header.count) bytes, and at most \(CaptureLimits.record) are possible; the rest is not read",
          give)
      }
      guard window.count >= headerSize + header.count else { return }
      _ = window.take(headerSize)
      frames += 1
      if header.time < latest, !isBehind {
        isBehind = true
        give(.problem(CaptureProblem(offset: offset, message: "packet \(frames) is older than the one before it")))
      }
      latest = header.time
      give(
        .frame(
          CaptureFrame(
            number: frames, offset: offset, interface: 0, time: header.time, direction: header.direction,
            flags: header.flags, originalCount: header.originalCount, bytes: window.take(header.count))))
    }
  }

  /// The end of the file.
  mutating func finish(_ give: (CaptureFileItem) -> Void) {
    guard !isOver, window.count > 0 else { return }
    stop(at: window.offset, "the file ends in the middle of a record, after \(window.count.counted("byte"))", give)
  }
}
