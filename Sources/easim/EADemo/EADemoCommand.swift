import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import IAP2

/// A command for EADemo, from a key on its screen or from a line of a pipe.
enum EADemoCommand: Equatable {
  case list
  case show(Int)
  /// Opens a session. By default, uses the accessory's only protocol and the only accessory that offers the protocol.
  case open(protocolName: String?, number: Int?)
  case send([UInt8])
  case again(Int, every: Duration, [UInt8])
  case stop
  /// Prints received bytes. If no extent is given, prints everything until the session is quiet.
  case read(ReplyRule.Extent?)
  case expect(ReplyRule)
  case save(String)
  case sessions
  case use(Int)
  case unplug
  case counters
  case wait(EADemoWait)
  /// Sends a control message, or changes how the device answers one.
  case message(MessageID, [MessageRule.Element])
  case close
  case background
  case foreground
  case help
  case quit
}

enum EADemoWait: Equatable {
  case connect
  case disconnect
  /// The session has received at least this many bytes.
  case received(Int)
}

extension EADemoCommand {
  /// The commands and their descriptions, as `help` prints them. `plain` is the command to run if the user types only
  /// its name.
  static let table: [(form: String, summary: String, plain: EADemoCommand?)] = [
    ("list", "list connected accessories", .list),
    ("show [N]", "show all properties of accessory N in the list", .show(1)),
    (
      "open [PROTOCOL] [N]", "open a session; wait until the protocol is offered", .open(protocolName: nil, number: nil)
    ),
    ("string TEXT", "send TEXT, the rest of the line", nil),
    ("text TEXT", "send TEXT with the escapes \\r \\n \\t \\0 \\xHH and \\\\", nil),
    ("hex BYTES", "send bytes, such as 01 02 ff", nil),
    ("10k", "send 10,000 bytes counting 0 to 255, and compare what comes back", .send(CountingPattern.bytes(10_000))),
    ("repeat N [every TIME] COMMAND", "send N times, such as repeat 10 every 100ms 10k", nil),
    ("read [N|TIME|until:TEXT]", "print the bytes that arrive, until none arrive for 200ms", .read(nil)),
    ("expect WHAT", "compare the reply: text:S, hex:H, prefix:S, regex:R or file:F", nil),
    ("save FILE", "write everything received to FILE", nil),
    ("sessions", "list the open sessions", .sessions),
    ("use N", "make session N the current one", nil),
    ("unplug", "pull the cables, then reconnect to the accessories", .unplug),
    ("counters", "show how many bytes were sent and received", .counters),
    ("wait connect|disconnect|N", "wait for a protocol, for no accessory, or for N received bytes", nil),
    ("message NAME [KEY=VALUE…]", "send a control message, such as message PowerUpdate battery-percent=20", nil),
    ("close", "close the session", .close),
    ("background", "go to the background, as if the home button were pressed", .background),
    ("foreground", "return to the foreground", .foreground),
    ("help", "show this list", .help),
    ("quit", "quit; the end of input also quits", .quit),
  ]

  /// Parses a line, or returns nil if it is empty or a comment.
  init?(line: String) throws(UsageError) {
    let text = Self.trimmed(line)
    if text.isEmpty || text.hasPrefix("#") { return nil }
    let name = String(text.prefix { $0 != " " && $0 != "\t" })
    let rest = Self.trimmed(text.dropFirst(name.count))
    switch name {
    case "string":
      // The text starts after a single space and may end with spaces.
      let words = line.drop { $0 == " " || $0 == "\t" }.dropFirst(name.count + 1)
      guard !words.isEmpty else { throw UsageError("nothing to send: string TEXT") }
      self = .send(Array(words.utf8))
    case "text":
      self = try Self.escaped(rest)
      if self == .send([]) { throw UsageError("nothing to send: text TEXT, such as text VERSION?\\r\\n") }
    case "repeat": self = try Self.again(rest)
    case "read" where !rest.isEmpty: self = .read(try Self.extent(rest))
    case "expect" where !rest.isEmpty: self = .expect(try Self.rule(rest))
    case "save" where !rest.isEmpty: self = .save(rest)
    case "hex":
      do { self = .send(try Hex.parse(rest)) } catch { throw UsageError("hex \(rest): \(error)") }
      if self == .send([]) { throw UsageError("nothing to send: hex BYTES, such as hex 01 02 ff") }
    default: self = try Self.words(name, rest.split { $0 == " " || $0 == "\t" }.map(String.init))
    }
  }

  private static func words(_ name: String, _ words: [String]) throws(UsageError) -> EADemoCommand {
    switch (name, words.count) {
    case ("show", 1): return .show(try number(words[0], name))
    case ("open", 1): return .open(protocolName: words[0], number: nil)
    case ("open", 2): return .open(protocolName: words[0], number: try number(words[1], name))
    case ("wait", 1): return .wait(try wait(words[0]))
    case ("message", 1...): return try message(words)
    case ("use", 1): return .use(try number(words[0], name))
    default:
      if let entry = table.first(where: { $0.form.split(separator: " ")[0] == name }) {
        if words.isEmpty, let plain = entry.plain { return plain }
        throw UsageError("expected \(entry.form)")
      }
      let names = table.map { String($0.form.prefix { $0 != " " }) }
      let near = Suggestion.nearHint(for: Excerpt.of(name), in: names)
      throw UsageError("unknown command '\(Excerpt.of(name))'\(near.isEmpty ? ", try 'help'" : near)")
    }
  }

  static func escaped(_ text: String) throws(UsageError) -> EADemoCommand { .send(try EscapedText.bytes(text)) }

  /// Parses `N [every TIME]`, which is followed by the command to repeat unless `bytes` is given.
  static func again(_ text: String, _ bytes: [UInt8]? = nil) throws(UsageError) -> EADemoCommand {
    let form = "repeat N [every TIME] COMMAND, such as repeat 10 every 100ms 10k"
    var rest = trimmed(text)
    func word() -> String {
      let word = String(rest.prefix { $0 != " " && $0 != "\t" })
      rest = trimmed(rest.dropFirst(word.count))
      return word
    }
    guard let times = Int(word()), 1...1_000_000 ~= times else {
      throw UsageError("expected \(form), with N from 1 to 1000000")
    }
    var interval = Duration.zero
    if rest.hasPrefix("every ") {
      _ = word()
      let time = word()
      do { interval = try DurationText.parse(time) } catch { throw UsageError("every '\(time)': \(error)") }
    }
    if let bytes, rest.isEmpty { return .again(times, every: interval, bytes) }
    guard case .send(let bytes)? = try EADemoCommand(line: rest) else { throw UsageError("expected \(form)") }
    return .again(times, every: interval, bytes)
  }

  private static func extent(_ word: String) throws(UsageError) -> ReplyRule.Extent {
    let reading: ReadingWord
    do { reading = try ReadingWord(word) } catch { throw UsageError("read \(error)") }
    return try reading.extent(EscapedText.bytes)
  }

  private static func rule(_ word: String) throws(UsageError) -> ReplyRule {
    do {
      switch try ReplyWord(word) {
      case .none, .echo: throw UsageError("expected expect text:S, hex:H, prefix:S, regex:R or file:F")
      case let expectation: return try expectation.rule(EscapedText.bytes)
      }
    } catch let error as UsageError {
      throw UsageError(error.message.replacing("--expect", with: "expect"))
    } catch { throw UsageError("expect \(error)") }
  }

  private static func message(_ words: [String]) throws(UsageError) -> EADemoCommand {
    do {
      let id = try MessageID(written: words[0])
      return .message(id, try MessageParameters(of: id).elements(.init(words: Array(words.dropFirst()))))
    } catch { throw UsageError("message: \(error)") }
  }

  private static func wait(_ word: String) throws(UsageError) -> EADemoWait {
    switch word {
    case "connect": return .connect
    case "disconnect": return .disconnect
    default: return .received(try number(word, "wait"))
    }
  }

  private static func number(_ word: String, _ name: String) throws(UsageError) -> Int {
    guard let number = Int(word), number > 0 else {
      throw UsageError("\(name) '\(word)': expected a number from 1")
    }
    return number
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    var rest = text[...]
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return String(rest.drop { $0.isWhitespace })
  }
}

enum EADemoList {
  static func lines(_ accessories: [PublishedAccessory], place: String) -> [String] {
    if accessories.isEmpty { return [nothing(place)] }
    return accessories.enumerated().map { "\($0.offset + 1)  \(line($0.element))" }
  }

  static func nothing(_ place: String) -> String { "No Accessories Connected (looked at \(place))" }

  static func line(_ accessory: PublishedAccessory) -> String {
    let offer = accessory.protocols.isEmpty ? "no protocols" : accessory.protocols.joined(separator: " ")
    return "\(accessory.name.spelledOut) (\(accessory.serialNumber.spelledOut)) [\(offer.spelledOut)] connectionID "
      + "\(accessory.connectionID)"
  }

  static func details(_ accessory: PublishedAccessory) -> [String] {
    properties(accessory)
      + (accessory.protocols.isEmpty
        ? ["protocols: none yet"] : accessory.protocols.map { "protocol: \($0.spelledOut)" })
  }

  static func properties(_ accessory: PublishedAccessory) -> [String] {
    let fields = [
      ("name", accessory.name), ("manufacturer", accessory.manufacturer), ("model", accessory.modelNumber),
      ("serial", accessory.serialNumber), ("firmware", accessory.firmwareRevision),
      ("hardware", accessory.hardwareRevision), ("connectionID", "\(accessory.connectionID)"),
    ]
    return fields.map { "\($0.0): \($0.1.spelledOut)" }
  }

  static var help: [String] {
    let width = EADemoCommand.table.map(\.form.count).max() ?? 0
    return EADemoCommand.table.map { form, summary, _ in
      "\(form.padded(to: width))  \(summary)"
    }
  }

  static func unfit(_ accessories: [PublishedAccessory], _ name: String?) -> String {
    let offered = accessories.flatMap(\.protocols).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    guard let name, !offered.isEmpty else { return "no connected accessory offers \(name ?? "a protocol")" }
    let near = Suggestion.nearHint(for: name, in: offered)
    return "no connected accessory offers \(name); offered: \(offered.map(\.spelledOut).joined(separator: ", "))\(near)"
  }
}

enum EADemoChoice: Equatable {
  case one(PublishedAccessory, String)
  /// No accessory matches yet, but one may appear: an accessory may reconnect with protocols, or a new one may appear
  /// in a local directory.
  case notYet
  /// The selection is invalid or incomplete for the given reason.
  case wrong(String)

  init(among accessories: [PublishedAccessory], protocolName name: String?, number: Int?) {
    let meant = number.map { $0 <= accessories.count ? [accessories[$0 - 1]] : [] } ?? accessories
    let fit = meant.filter { name.map($0.protocols.contains) ?? !$0.protocols.isEmpty }
    if let accessory = fit.first, fit.count == 1 {
      if let name {
        self = .one(accessory, name)
      } else if accessory.protocols.count == 1 {
        self = .one(accessory, accessory.protocols[0])
      } else {
        self = .wrong("several protocols are offered, choose one: \(accessory.protocols.joined(separator: ", "))")
      }
    } else if fit.count > 1 {
      let numbers = fit.compactMap { one in accessories.firstIndex { $0.connectionID == one.connectionID } }
      let list = numbers.map { "\($0 + 1)" }.joined(separator: ", ")
      self = .wrong("several accessories offer the protocol, give a number after it: \(list)")
    } else {
      self = .notYet
    }
  }
}
