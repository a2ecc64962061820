import AccessoryCaptures
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles

extension Profile {
  /// Creates a self-contained profile of the recorded accessory, with scripts that contain the recorded requests and
  /// answers.
  ///
  /// - Parameter other: a second recording of the same actions. Where the requests in the two recordings differ, the
  ///   script contains wildcards.
  /// - Returns: the profile, and a note for the user about each protocol.
  public static func imported(
    from recording: Recording, and other: Recording? = nil
  ) throws(RecordingError) -> (profile: Profile, notes: [String]) {
    var profile = try Profile(recording)
    var notes: [String] = []
    for index in profile.protocols.indices {
      let name = profile.protocols[index].name
      let sessions = recording.sessions.filter { $0.protocolName == name }
      let others = other?.sessions.filter { $0.protocolName == name } ?? []
      let (behavior, note) = Self.behavior(of: sessions, others)
      notes.append("\(name): \(note)")
      if profile.protocols.count == 1 {
        profile.behavior = behavior
      } else {
        profile.protocols[index].behavior = behavior
      }
    }
    return (profile, notes)
  }

  private static func behavior(
    of sessions: [Recording.Session], _ others: [Recording.Session]
  ) -> (Behavior, String) {
    let seen = RecordedExchanges(sessions, others)
    let count = (sessions.count + others.count).counted("session")
    if sessions.isEmpty, others.isEmpty { return (.echo, "no session was recorded, so the accessory echoes") }
    if seen.exchanges.isEmpty, seen.greetings.isEmpty { return (.sink(check: false), "\(count) without a byte") }
    if seen.isEcho { return (.echo, "\(count), in which every answer was identical to its request") }
    if seen.exchanges.allSatisfy({ $0.response.isEmpty }), seen.greetings.isEmpty {
      return (.sink(check: false), "\(count), in which no request was answered")
    }
    let script = seen.script
    let notes = ["\(count), \(script.rules.count.counted("rule"))"] + seen.notes
    return (.script(script), notes.joined(separator: "; "))
  }
}

struct RecordedExchanges {
  struct Exchange: Equatable {
    var request: [UInt8]
    var response: [UInt8] = []
    var delay = Duration.zero
    var pattern: BytePattern?
    /// A template for the answer into which parts of the request are inserted, or nil if the answer is always the same.
    var template: ScriptTemplate?

    fileprivate var key: Key { Key(pattern: pattern?.text, request: pattern == nil ? request : []) }
  }

  fileprivate struct Key: Hashable {
    let pattern: String?
    let request: [UInt8]
  }

  /// The maximum number of different answers to one request that become rules.
  static let mostAnswers = 16
  private static let delimiters: [[UInt8]] = [[0x0D, 0x0A], [0x0A], [0x0D], [0], [3]]

  private(set) var exchanges: [Exchange] = []
  /// The bytes that the accessory sent before a session's first request, and their delays.
  private(set) var greetings: [(after: Duration, bytes: [UInt8])] = []
  /// Notes about differences between the two recordings that could not be turned into wildcards.
  private(set) var notes: [String] = []
  private let framing: Script.Framing

  /// - Parameter others: the sessions of a second recording of the same actions.
  init(_ sessions: [Recording.Session], _ others: [Recording.Session] = []) {
    let (found, twins) = (Self.exchanges(in: sessions), Self.exchanges(in: others))
    let all = found.exchanges + twins.exchanges
    greetings = found.greetings + (sessions.isEmpty ? twins.greetings : [])
    let delimiter = Self.delimiters.first { end in
      !all.isEmpty
        && all.allSatisfy { $0.request.count > end.count && $0.request.suffix(end.count).elementsEqual(end) }
    }
    if let delimiter {
      framing = .delimiter(delimiter)
    } else {
      let sizes = Set(all.map(\.request.count))
      framing = sizes.count == 1 ? .fixed(sizes.first ?? 1) : .any
    }
    let split = { (exchanges: [Exchange]) in
      delimiter.map { end in exchanges.flatMap { Self.split($0, at: end) } } ?? exchanges
    }
    exchanges = split(found.exchanges)
    if !others.isEmpty { add(split(twins.exchanges)) }
  }

  /// Returns the exchanges in these sessions, in order, and the bytes that precede the first request in each session.
  private static func exchanges(
    in sessions: [Recording.Session]
  ) -> (exchanges: [Exchange], greetings: [(after: Duration, bytes: [UInt8])]) {
    var (found, greetings) = ([Exchange](), [(after: Duration, bytes: [UInt8])]())
    for session in sessions {
      var (isAsking, last) = (false, session.opened)
      var current: Exchange?
      for step in session.steps {
        switch step.from {
        case .device:
          if !isAsking {
            if let current { found.append(current) }
            current = Exchange(request: [])
          }
          current?.request += step.bytes
          isAsking = true
        case .accessory:
          if current == nil {
            greetings.append((step.time - session.opened, step.bytes))
          } else {
            if current?.response.isEmpty == true { current?.delay = step.time - last }
            current?.response += step.bytes
          }
          isAsking = false
        }
        last = step.time
      }
      if let current { found.append(current) }
    }
    return (found, greetings)
  }

  /// Merges the exchanges from a second recording of the same actions into these.
  private mutating func add(_ twins: [Exchange]) {
    guard twins.count == exchanges.count else {
      notes.append(
        "the recordings have \(exchanges.count.counted("request")) and \(twins.count), so there are no wildcards")
      exchanges += twins
      return
    }
    var (literals, answers) = (0, 0)
    for (index, twin) in twins.enumerated() {
      let exchange = exchanges[index]
      if exchange.request == twin.request {
        if exchange.response != twin.response { answers += 1 }
      } else if framing != .any, let wildcard = RecordedWildcard(exchange.request, twin.request) {
        exchanges[index].pattern = wildcard.pattern
        guard exchange.response != twin.response else { continue }
        exchanges[index].template = wildcard.answer(exchange.response, twin.response)
        if exchanges[index].template == nil { answers += 1 }
      } else {
        literals += 1
        exchanges.append(twin)
      }
    }
    if literals > 0 {
      notes.append(
        "\(literals.counted("request")) with nothing in common between the recordings, so there are rules for both")
    }
    if answers > 0 {
      notes.append(
        "\(answers.counted("answer")) whose bytes differ between the recordings; the rules use the first recording's")
    }
  }

  /// Splits an exchange in which several requests were sent together. The answer is assigned to the last request.
  private static func split(_ exchange: Exchange, at delimiter: [UInt8]) -> [Exchange] {
    // What follows the last delimiter is no request.
    var parts = exchange.request.split(separator: delimiter, omittingEmptySubsequences: false).dropLast()
      .map { Exchange(request: Array($0)) }
    if !parts.isEmpty {
      parts[parts.count - 1].response = exchange.response
      parts[parts.count - 1].delay = exchange.delay
    }
    return parts
  }

  var isEcho: Bool {
    guard greetings.isEmpty else { return false }
    let end: [UInt8] = if case .delimiter(let bytes) = framing { bytes } else { [] }
    return exchanges.allSatisfy { $0.response == $0.request + end || $0.response.isEmpty && $0.request.isEmpty }
  }

  /// The rules in the form of a script. If a request was answered differently each time, the rules give those answers
  /// in order and then repeat the last one.
  var script: Script {
    var order: [Key] = []
    var answers: [Key: [Exchange]] = [:]
    // Rules for exact requests come before rules with patterns.
    for exchange in exchanges.filter({ $0.pattern == nil }) + exchanges.filter({ $0.pattern != nil }) {
      if answers[exchange.key] == nil { order.append(exchange.key) }
      answers[exchange.key, default: []].append(exchange)
    }
    var rules: [Script.Rule] = []
    for key in order {
      var runs: [(exchange: Exchange, times: Int)] = []
      for exchange in (answers[key] ?? []).prefix(10_000) {
        if let last = runs.last?.exchange,
          exchange.template == nil ? last.response == exchange.response : last.template == exchange.template
        {
          runs[runs.count - 1].times += 1
        } else if runs.count < Self.mostAnswers {
          runs.append((exchange, 1))
        }
      }
      for (index, run) in runs.enumerated() {
        var rule = run.exchange.rule(after: Self.rounded(run.exchange.delay))
        if index < runs.count - 1 { rule.times = run.times }
        rules.append(rule)
      }
    }
    var script = Script(framing: framing, rules: rules)
    if let greeting = greetings.first {
      script.timers = [
        Script.Timer(
          after: Self.rounded(greeting.after), answers: [Script.Answer(ScriptTemplate(bytes: greeting.bytes))])
      ]
    }
    return script
  }

  /// Returns a time in whole milliseconds. Times under 5 ms become zero, because the link alone can take that long.
  private static func rounded(_ time: Duration) -> Duration {
    let milliseconds = time.wholeNanoseconds / 1_000_000
    return milliseconds < 5 ? .zero : .milliseconds(min(milliseconds, 3_600_000))
  }
}

extension RecordedExchanges.Exchange {
  fileprivate func rule(after delay: Duration) -> Script.Rule {
    guard let pattern else { return Script.Rule(request: request, response: response, delay: delay) }
    var rule = Script.Rule(regex: pattern, answers: [])
    if let template {
      rule.answers = [Script.Answer(template, after: delay)]
    } else {
      (rule.response, rule.delay) = (response, delay)
    }
    return rule
  }
}

/// A regular expression for a request that differs between two recordings of the same actions.
///
/// Each part that differs becomes a group. A part that consists of digits in both recordings becomes a group that
/// matches a whole number. Any other part becomes a group that matches any bytes, of a fixed length if the part has the
/// same length in both recordings.
///
/// ```swift
/// let wildcard = RecordedWildcard(Array("SET 9;A".utf8), Array("SET 12;A".utf8))
/// wildcard?.pattern.text                                                             // SET (\d+);A
/// wildcard?.answer(Array("OK 9".utf8), Array("OK 12".utf8))                          // OK ${1}
/// ```
struct RecordedWildcard {
  let pattern: BytePattern
  /// The bytes that belong to each group in both recordings.
  private let values: [(one: [UInt8], other: [UInt8])]

  /// Returns nil if the requests are equal, have no byte in common, or are too long for a regular expression.
  init?(_ one: [UInt8], _ other: [UInt8]) {
    guard one != other else { return nil }
    var (text, values, common) = ("", [(one: [UInt8], other: [UInt8])](), 0)
    var at = 0
    for range in Self.differences(one, other) {
      common += range.one.lowerBound - at
      text += one[at..<range.one.lowerBound].map(Self.literal).joined()
      let value = (one: Array(one[range.one]), other: Array(other[range.other]))
      let areNumbers = [value.one, value.other].allSatisfy { !$0.isEmpty && $0.allSatisfy(Self.isDigit) }
      text +=
        areNumbers ? "(\\d+)" : value.one.count == value.other.count ? "(.{\(value.one.count)})" : "(.*)"
      values.append(value)
      at = range.one.upperBound
    }
    common += one.count - at
    text += one[at...].map(Self.literal).joined()
    guard common > 0, let pattern = try? BytePattern(text), pattern.match(one) != nil, pattern.match(other) != nil
    else { return nil }
    (self.pattern, self.values) = (pattern, values)
  }

  /// Returns the answer as a template that inserts the request's groups, or nil if inserting the groups cannot produce
  /// both answers.
  func answer(_ one: [UInt8], _ other: [UInt8]) -> ScriptTemplate? {
    var (text, at, otherAt) = ("", 0, 0)
    while at < one.count || otherAt < other.count {
      let group = values.indices.first { index in
        let (value, twin) = values[index]
        return value != twin && one[at...].starts(with: value) && other[otherAt...].starts(with: twin)
      }
      if let group {
        text += "${\(group + 1)}"
        at += values[group].one.count
        otherAt += values[group].other.count
      } else if at < one.count, otherAt < other.count, one[at] == other[otherAt] {
        text += Self.plain(one[at], before: at + 1 < one.count ? one[at + 1] : nil)
        (at, otherAt) = (at + 1, otherAt + 1)
      } else {
        return nil
      }
    }
    return try? ScriptTemplate(text)
  }

  // MARK: Differences

  /// Returns the parts that differ. If the requests have the same length, any number of parts may differ. Otherwise,
  /// there is a single part that differs, between a common beginning and a common end.
  private static func differences(
    _ one: [UInt8], _ other: [UInt8]
  ) -> [(one: Range<Int>, other: Range<Int>)] {
    guard one.count == other.count else {
      let begin = zip(one, other).prefix { $0 == $1 }.count
      let end = zip(one[begin...].reversed(), other[begin...].reversed()).prefix { $0 == $1 }.count
      return [widened(begin..<one.count - end, begin..<other.count - end, one, other)]
    }
    var ranges: [(one: Range<Int>, other: Range<Int>)] = []
    for index in one.indices where one[index] != other[index] {
      let range = widened(index..<index + 1, index..<index + 1, one, other)
      if let last = ranges.last, range.one.lowerBound <= last.one.upperBound {
        let whole = last.one.lowerBound..<max(last.one.upperBound, range.one.upperBound)
        ranges[ranges.count - 1] = (whole, whole)
      } else {
        ranges.append(range)
      }
    }
    return ranges
  }

  /// Returns the range, extended to include adjacent digits if it contains only digits in both recordings.
  private static func widened(
    _ range: Range<Int>, _ twin: Range<Int>, _ one: [UInt8], _ other: [UInt8]
  ) -> (one: Range<Int>, other: Range<Int>) {
    guard one[range].allSatisfy(isDigit), other[twin].allSatisfy(isDigit) else { return (range, twin) }
    // The bytes next to the range either are the same in both recordings or belong to another range, which is extended
    // in the same way.
    let before = zip(one[..<range.lowerBound].reversed(), other[..<twin.lowerBound].reversed())
      .prefix { isDigit($0) && isDigit($1) }.count
    let after = zip(one[range.upperBound...], other[twin.upperBound...]).prefix { isDigit($0) && isDigit($1) }.count
    return (
      range.lowerBound - before..<range.upperBound + after, twin.lowerBound - before..<twin.upperBound + after
    )
  }

  private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  private static func literal(_ byte: UInt8) -> String {
    let letter = String(UnicodeScalar(byte))
    guard 0x20..<0x7F ~= byte else { return "\\x\(Hex.number(byte))" }
    return ".^$*+?()[]{}|\\".contains(letter) ? "\\\(letter)" : letter
  }

  private static func plain(_ byte: UInt8, before next: UInt8?) -> String {
    let isStart = byte == UInt8(ascii: "$") && next == UInt8(ascii: "{")
    let isText = 0x20..<0x7F ~= byte || [0x09, 0x0A, 0x0D].contains(byte)
    return isText && !isStart ? String(UnicodeScalar(byte)) : "${hex:\(Hex.number(byte))}"
  }
}
