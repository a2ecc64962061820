import AccessoryFormats

extension Script {
  /// A frame that says its length: a header, the length, the payload, a checksum.
  ///
  /// Rules see what is between: the bytes between the header and the length, and the payload. Answers are written in the
  /// same way, and get the rest.
  public struct Frame: Equatable, Sendable {
    /// The order of the bytes of a number.
    public enum ByteOrder: String, CaseIterable, Sendable {
      /// The highest first.
      case big
      /// The lowest first.
      case little
    }

    /// What the length counts.
    public enum Counted: String, CaseIterable, Sendable {
      /// Everything behind the length.
      case rest
      /// The payload, without the checksum.
      case payload
      /// The whole frame.
      case frame
    }

    /// The bytes that each frame begins with.
    public var header: [UInt8] = []
    /// Where the length is, in bytes from the beginning.
    public var lengthAt = 0
    /// How many bytes the length has.
    public var lengthWidth = 2
    /// The order of its bytes.
    public var order = ByteOrder.big
    /// What it counts.
    public var counts = Counted.rest
    /// The checksum at the end; nil for none.
    public var checksum: FrameChecksum?
    /// The order of its bytes.
    public var checksumOrder = ByteOrder.big
    /// The first byte that it covers.
    public var checksumFrom = 0
    /// The longest frame, in bytes.
    public var longest = 4_096

    /// A frame of two bytes of length and a payload.
    public init() {}

    /// How many bytes a frame has at least.
    package var shortest: Int { lengthAt + lengthWidth + (checksum?.width ?? 0) }

    static let format = Record("frame", "frames that contain their length", Frame()) {
      Field("header", \.header, .bytes, "the bytes at the start of each frame; anything before them is skipped")
      Field(
        "lengthAt", \.lengthAt, .integer(0...255), "offset of the length from the start of the frame",
        standard: Standard("after the header") { $0.header.count })
      Field("lengthWidth", \.lengthWidth, .integer(1...4), "size of the length field in bytes")
      Field("order", \.order, .choice, "its byte order: big-endian or little-endian")
      Field(
        "counts", \.counts, .choice,
        "what the length counts: rest (everything after the length), payload (the rest without the checksum) or frame "
          + "(the whole frame)"
      )
      Field(
        "checksum", \.checksum, .optional(.checksum),
        "the checksum at the end; default: none. CRCs are named as in the catalogue of CRC algorithms")
      Field(
        "checksumOrder", \.checksumOrder, .choice, "the checksum's byte order",
        standard: Standard("as `order`") { $0.order })
      Field(
        "checksumFrom", \.checksumFrom, .integer(0...255),
        "the first byte that the checksum covers; the last is the byte before the checksum")
      Field(
        "longest", \.longest, .integer(1...65_536), "maximum frame length in bytes; longer frames are dropped")
    }.checked { frame, object in
      if frame.lengthAt < frame.header.count {
        object.error("lengthAt", "the length would be within the header of \(frame.header.count.counted("byte"))")
      }
      if frame.shortest > frame.longest {
        object.error("longest", "a frame without a payload has \(frame.shortest.counted("byte")) already")
      }
      if object.value("checksum") == nil {
        for key in ["checksumOrder", "checksumFrom"] where object.value(key) != nil {
          object.error(key, "there is no 'checksum'")
        }
      }
    }
  }
}
