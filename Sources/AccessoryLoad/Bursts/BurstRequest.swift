import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryRuns
import IAP2

/// A kind of burst in a load test: what to send, and what reply to expect.
struct BurstRequest: Equatable, Sendable {
  enum Reply: Equatable, Sendable {
    case echo
    case nothing
    case rule(ReplyRule)
  }

  var name = ""
  var weight = 1.0
  /// The sizes of bursts of unique bytes, or nil to send ``send``.
  var sizes: Distribution<Int>?
  /// The bytes to send, or nil to send unique bytes with the given ``sizes``.
  var send: [UInt8]?
  /// The expected reply, or nil to use the plan's expected reply.
  var expected: ExpectedReply?
  /// How much of the reply to read, or nil to read as much as is needed to judge the reply.
  var extent: ReplyExtent?
  var think: Distribution<Duration>?

  var reply: Reply {
    let reply = expected?.reply ?? (extent == nil ? .echo : .rule(ReplyRule()))
    guard case .rule(var rule) = reply else { return reply }
    rule.extent = extent?.extent
    return .rule(rule)
  }

  /// True if the reply is an echo of unique bytes, in which case several bursts can be in flight at the same time.
  var isUniqueEcho: Bool { sizes != nil && reply == .echo }

  /// Text such as "status: 'STATUS?' → prefix:OK, weight 3".
  func text(isWeighted: Bool) -> String {
    let what = sizes.map { "\($0) unique bytes" } ?? Self.excerpt(send ?? [])
    var text =
      (name.isEmpty ? "" : "\(name): ")
      + "\(what) → \(expected.map { Self.excerpt($0.word) } ?? (extent == nil ? "echo" : "anything"))"
    if let extent { text += ", read \(Self.excerpt(extent.word))" }
    if let think { text += ", think \(think)" }
    return isWeighted ? "\(text), weight \(FixedText.short(weight))" : text
  }

  /// Returns the first bytes, as text if possible, and a checksum that distinguishes payloads with the same first
  /// bytes.
  private static func excerpt(_ bytes: [UInt8]) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return "'\(Excerpt.of(text))'" + rest(of: text) }
    let isCut = bytes.count > 16
    return "hex \(Hex.spaced(bytes.prefix(16)))" + (isCut ? " … \(bytes.count.counted("byte")), \(sum(bytes))" : "")
  }

  /// Shortens a word. Shortened words remain distinguishable even if they begin the same way.
  private static func excerpt(_ word: String) -> String { Excerpt.of(word) + rest(of: word) }

  private static func rest(of text: String) -> String {
    guard text.unicodeScalars.count > Excerpt.longest else { return "" }
    return " (\(text.utf8.count.counted("byte")), \(sum(Array(text.utf8))))"
  }

  private static func sum(_ bytes: [UInt8]) -> String {
    let sum = bytes.stableHash
    return "sum \(Hex.number(UInt32(truncatingIfNeeded: sum ^ sum >> 32), digits: 8))"
  }
}

struct ExpectedReply: Equatable, Sendable {
  static let forms = "echo, none, text:…, hex:…, prefix:… or regex:…"

  let word: String
  /// The reply, if as much of it is read as is needed to judge it.
  let reply: BurstRequest.Reply

  init(_ word: String) throws(OptionError) {
    self.word = word
    switch try ReplyWord(word, forms: Self.forms) {
    case .none: reply = .nothing
    case .echo: reply = .echo
    case .text(let text): reply = .rule(ReplyRule(.bytes(Array(text.utf8))))
    case .hex(let bytes): reply = .rule(ReplyRule(.bytes(bytes)))
    case .prefix(let text): reply = .rule(ReplyRule(.prefix(Array(text.utf8))))
    case .regex(let pattern): reply = .rule(ReplyRule(.pattern(pattern)))
    case .file: throw OptionError("'\(Excerpt.of(word))': a plan has no file: expected \(Self.forms)")
    }
  }
}

struct ReplyExtent: Equatable, Sendable {
  let word: String
  let extent: ReplyRule.Extent

  init(_ word: String) throws(OptionError) {
    self.word = word
    switch try ReadingWord(word) {
    case .count(let count): extent = .count(count)
    case .time(let time): extent = .time(time)
    case .until(let text): extent = .until(Array(text.utf8))
    }
  }
}

// MARK: - Files

extension BurstRequest {
  private static let parts: [Field<Self>] = [
    Field("name", \.name, .text(TextShape(length: 0...40)), "the name shown in reports"),
    Field("size", \.sizes, .optional(.sizes), "number of unique bytes to send, or a distribution"),
    Field("send", \.send, .optional(.bytes(named: "sent bytes", atLeast: 1)), "instead of `size`: the bytes to send"),
    Field(
      "expect", \.expected, .optional(.expectedReply),
      "the expected reply, as for `send --expect`: `echo`, `none`, `text:…`, `hex:…`, `prefix:…` or "
        + "`regex:…`",
      standardText: "`echo`; with `read`, anything"),
    Field(
      "read", \.extent, .optional(.replyExtent),
      "how much of the reply to read, as for `send --read`: bytes, a time or `until:…`",
      standardText: "enough to verify the reply"),
    Field("think", \.think, .optional(.times), "how long to pause after the request, overriding the plan's `think`"),
  ]

  static let scriptFormat = Record("request", "a request and the expected reply", Self()) { parts }
    .checked(check)

  static let mixFormat = Record("payload", "one of several kinds of bursts", Self()) {
    Field("weight", \.weight, .weight, "relative weight")
    parts
  }.checked(check)

  @Sendable private static func check(_ request: Self, _ object: ObjectReader) {
    if request.send?.isEmpty == true { object.error("send", "is empty: a burst has at least one byte") }
    if request.name.count > 40 { object.error("name", "is longer than 40 characters") }
    switch (object.value("size") != nil, object.value("send") != nil) {
    case (true, true): object.error("send", "a burst can have a 'size' or bytes to 'send', but not both")
    case (false, false): object.error("a burst needs a 'size', or bytes to 'send'")
    case (true, false), (false, true): break
    }
    guard object.value("read") != nil else { return }
    switch request.expected?.reply {
    case .echo?: object.error("read", "omit this: an echo is always read to its end")
    case .nothing?: object.error("read", "omit this: with 'none', no reply is read")
    case .rule?, nil: break
    }
  }
}

extension Format<ExpectedReply> {
  fileprivate static let expectedReply = word(ExpectedReply.forms, \.word) { word throws(OptionError) in
    try ExpectedReply(word)
  }
}

extension Format<ReplyExtent> {
  fileprivate static let replyExtent = word("a number of bytes, a time or until:…", \.word) {
    word throws(OptionError) in
    try ReplyExtent(word)
  }
}

extension Format {
  /// Returns a format for strings that are parsed by `read`. Errors that `read` throws describe mistakes in the string.
  /// The format also accepts a number, which is passed to `read` as its digits.
  private static func word(
    _ expected: String, _ word: any KeyPath<Value, String> & Sendable,
    _ read: @escaping @Sendable (String) throws(OptionError) -> Value
  ) -> Format {
    Format(.text(TextShape())) { value, place in
      let text: String
      switch value.content {
      case .text(let given): text = given
      case .number(let number): text = number.spelling
      case .null, .boolean, .array, .object: return place.expected(expected, value)
      }
      do { return try read(text) } catch {
        place.error(value, "\(error)")
        return nil
      }
    } write: {
      .text($0[keyPath: word])
    }
  }
}

/// Chooses a session's next request, its size, and the pause after it.
///
/// With the same plan and seed, a session gets the same requests and sizes, no matter what other sessions do. When a
/// session is reopened, a script starts over, but random choices continue where they left off.
struct BurstDrawer {
  struct Draw: Equatable {
    let request: Int
    let size: Int
  }

  private let requests: [BurstRequest]
  private let isScript: Bool
  private let size: Int
  private let think: Distribution<Duration>?
  private var random: SeededRandom
  private var place = 0

  /// Returns nil if all bursts are the same and there are no pauses between them.
  init?(_ plan: BurstPlan, seed: UInt64, lane: Int) {
    guard !plan.requests.isEmpty || plan.think != nil else { return nil }
    (requests, isScript) = (plan.requests, plan.isScript)
    (size, think) = (plan.payload.size, plan.think)
    var seeds = SeededRandom(seed: seed ^ UInt64(truncatingIfNeeded: lane) &* 0xD1B5_4A32_D192_ED03)
    random = SeededRandom(seed: seeds.next()).derived("draws")
  }

  mutating func restart() { place = 0 }

  mutating func next() -> Draw {
    if requests.isEmpty { return Draw(request: 0, size: size) }
    let index = isScript ? place % requests.count : random.index(weights: requests.lazy.map(\.weight)) ?? 0
    place += 1
    let request = requests[index]
    return Draw(request: index, size: request.send?.count ?? request.sizes?.draw(&random) ?? size)
  }

  mutating func pause(after request: Int) -> Duration? {
    let own = requests.indices.contains(request) ? requests[request].think : nil
    return (own ?? think)?.draw(&random)
  }
}
