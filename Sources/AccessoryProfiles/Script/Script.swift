import AccessoryFormats

/// A script defines how the bytes of a session are divided into requests, and how each request is answered.
public struct Script: Equatable, Sendable {
  /// How requests are recognized in a byte stream.
  public enum Framing: Equatable, Sendable {
    /// Each request ends with these bytes. Rules are matched against a request without its delimiter. Answers are sent
    /// as written, so an answer that should end with the delimiter must contain it.
    case delimiter([UInt8])
    case fixed(Int)
    /// Each request is a frame with a length field. Answers are framed in the same way as requests.
    case frame(Frame)
    /// A request begins where the previous request ended, and is complete as soon as its bytes match a rule. Bytes that
    /// cannot match any rule, no matter what follows them, form one unknown request.
    case any
  }

  /// How requests are recognized.
  public var framing: Framing
  /// The rules. A request is answered by the first rule that matches it.
  public var rules: [Rule]
  /// The answer to a request that matches no rule, or nil to send no answer.
  public var otherwise: [UInt8]?
  /// The answers to a frame that has a wrong checksum.
  public var wrongChecksum: [Answer] = []
  /// Timers, which send data without waiting for a request.
  public var timers: [Timer] = []
  /// The states of the accessory, which all of its scripts share. The first state is the initial state.
  public var states: [String] = []
  /// How many bytes are read per second, or nil if there is no limit.
  public var bytesPerSecond: Int?

  /// Creates a script.
  public init(framing: Framing = .any, rules: [Rule], otherwise: [UInt8]? = nil) {
    self.framing = framing
    self.rules = rules
    self.otherwise = otherwise
  }

  /// All answers in the script, except plain responses.
  var allAnswers: [Answer] { rules.flatMap(\.answers) + timers.flatMap(\.answers) + wrongChecksum }

  static let format = Record("script", "answers requests according to rules", Script(rules: [])) {
    Field(
      "framing", \.framing, .framing,
      "how requests are separated; with 'any', a request is complete as soon as a rule matches")
    Field(
      "rules", \.rules, .list(of: .object(Rule.format)), "the rules; the first matching rule answers",
      isRequired: true)
    Field("otherwise", \.otherwise, .optional(.bytes), "the answer to any other request; default: none")
    Field(
      "wrongChecksum", \.wrongChecksum, .answers,
      "the answers to a frame with a wrong checksum; default: none")
    Field(
      "states", \.states, .list(of: .stateName, count: 0...64),
      "the accessory's states, starting with the initial one; all of the accessory's scripts share these states"
    )
    Field("timers", \.timers, .list(of: .object(Timer.format)), "messages to send without a request")
    Field(
      "bytesPerSecond", \.bytesPerSecond, .optional(.integer(1...1_000_000_000)),
      "the rate at which the accessory reads; default: as fast as bytes arrive")
  }

  /// A frame with a length field. A frame consists of a header, the length, the payload, and a checksum.
  ///
  /// Rules are matched only against the content of a frame. The content is the payload and any bytes between the header
  /// and the length. Answers contain only the content of a frame. The simulator adds the other parts of the frame.
  public struct Frame: Equatable, Sendable {
    /// The byte order of a number.
    public enum ByteOrder: String, CaseIterable, Sendable {
      case big
      case little
    }

    /// Which bytes the length counts.
    public enum Counted: String, CaseIterable, Sendable {
      /// The length counts all bytes after the length field.
      case rest
      /// The length counts only the payload, without the checksum.
      case payload
      /// The length counts all bytes of the frame.
      case frame
    }

    /// The bytes that each frame begins with.
    public var header: [UInt8] = []
    /// The position of the length field, in bytes from the beginning of the frame.
    public var lengthAt = 0
    /// The size of the length field in bytes.
    public var lengthWidth = 2
    /// The byte order of the length.
    public var order = ByteOrder.big
    /// Which bytes the length counts.
    public var counts = Counted.rest
    /// The checksum at the end, or nil if there is none.
    public var checksum: FrameChecksum?
    /// The byte order of the checksum.
    public var checksumOrder = ByteOrder.big
    /// The position within the frame of the first byte that the checksum covers.
    public var checksumFrom = 0
    /// The maximum size of a frame in bytes.
    public var longest = 4_096

    /// Creates a frame that consists of a two-byte length and a payload.
    public init() {}

    package var shortest: Int { lengthAt + lengthWidth + (checksum?.width ?? 0) }

    static let format = Record("frame", "frames with a length field", Frame()) {
      Field("header", \.header, .bytes, "the bytes at the start of each frame; bytes before them are skipped")
      Field(
        "lengthAt", \.lengthAt, .integer(0...255), "offset of the length field from the start of the frame",
        standard: Standard("after the header") { $0.header.count })
      Field("lengthWidth", \.lengthWidth, .integer(1...4), "size of the length field in bytes")
      Field("order", \.order, .choice, "byte order of the length field: big-endian or little-endian")
      Field(
        "counts", \.counts, .choice,
        "what the length field counts: rest (everything after the length field), payload (the same, without the "
          + "checksum) or frame (the whole frame)"
      )
      Field(
        "checksum", \.checksum, .optional(.checksum),
        "the checksum at the end of the frame; default: none. CRC names are those of the CRC catalogue (CRC RevEng)")
      Field(
        "checksumOrder", \.checksumOrder, .choice, "the checksum's byte order",
        standard: Standard("as `order`") { $0.order })
      Field(
        "checksumFrom", \.checksumFrom, .integer(0...255),
        "the offset of the first byte that the checksum covers; the last covered byte is the one before the checksum")
      Field(
        "longest", \.longest, .integer(1...65_536), "maximum frame length in bytes; longer frames are dropped")
    }.checked { frame, object in
      if frame.lengthAt < frame.header.count {
        object.error("lengthAt", "the length field would be inside the header of \(frame.header.count.counted("byte"))")
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

extension Profile {
  /// The states that the scripts share. The first state is the initial state.
  package var scriptStates: [String] {
    for case .script(let script) in [behavior] + protocols.compactMap(\.behavior) where !script.states.isEmpty {
      return script.states
    }
    return []
  }
}

extension Format<Script.Framing> {
  /// The format of a framing: `'any'`, or an object with exactly one key.
  fileprivate static let framing = Format(.either([.words(["any"]), .record(FramingParts.format.shape)])) {
    value, place in
    switch value.content {
    case .text("any"): return .any
    case .object:
      guard let parts = FramingParts.format.format.read(value, at: place) else { return nil }
      return parts.delimiter.map(Script.Framing.delimiter) ?? parts.fixed.map(Script.Framing.fixed)
        ?? parts.frame.map(Script.Framing.frame)
    case .null, .boolean, .number, .text, .array:
      return place.expected("'any', { delimiter: … }, { fixed: … } or { frame: … }", value)
    }
  } write: { framing in
    switch framing {
    case .any: .text("any")
    case .delimiter(let bytes): FramingParts.format.tree(FramingParts(delimiter: bytes))
    case .fixed(let count): FramingParts.format.tree(FramingParts(fixed: count))
    case .frame(let frame): FramingParts.format.tree(FramingParts(frame: frame))
    }
  }
}

private struct FramingParts: Equatable {
  var delimiter: [UInt8]?
  var fixed: Int?
  var frame: Script.Frame?

  private static let keys = ["delimiter", "fixed", "frame"]

  static let format = Record("framing", "how requests are separated", FramingParts()) {
    Field(
      "delimiter", \.delimiter, .optional(.bytes(named: "delimiter", atLeast: 1)), "the bytes that end each request")
    Field("fixed", \.fixed, .optional(.integer(1...65_536)), "length of each request in bytes")
    Field("frame", \.frame, .optional(.object(Script.Frame.format)), Script.Frame.format.summary)
  }.checked(schema: [.init("minProperties", .number(1)), .init("maxProperties", .number(1))]) { _, object in
    guard case .object(let members) = object.tree.content else { return }
    let given = keys.filter { object.value($0) != nil }
    if given.count > 1 || members.isEmpty {
      object.error("expected exactly one of 'delimiter', 'fixed' and 'frame'")
    }
  }
}
