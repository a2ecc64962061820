import AccessoryCaptures
import AccessoryCore
import AccessoryProfiles

extension Profile {
  /// A profile that stands alone: the accessory of a recording, with scripts of the requests and answers that were seen.
  ///
  /// - Returns: the profile, and what a person should know of each protocol, as sentences.
  public static func imported(from recording: Recording) throws(RecordingError) -> (profile: Profile, notes: [String]) {
    var profile = try Profile(recording)
    var notes: [String] = []
    for index in profile.protocols.indices {
      let name = profile.protocols[index].name
      let sessions = recording.sessions.filter { $0.protocolName == name }
      let (behavior, note) = Self.behavior(of: sessions)
      notes.append("\(name): \(note)")
      if profile.protocols.count == 1 {
        profile.behavior = behavior
      } else {
        profile.protocols[index].behavior = behavior
      }
    }
    return (profile, notes)
  }

  private static func behavior(of sessions: [Recording.Session]) -> (Behavior, String) {
    let seen = RecordedExchanges(sessions)
    let count = sessions.count.counted("session")
    if sessions.isEmpty { return (.echo, "no session was recorded, so it echoes") }
    if seen.exchanges.isEmpty, seen.greetings.isEmpty { return (.sink(check: false), "\(count) without a byte") }
    if seen.isEcho { return (.echo, "\(count), and every answer was the request") }
    if seen.exchanges.allSatisfy({ $0.response.isEmpty }), seen.greetings.isEmpty {
      return (.sink(check: false), "\(count), and nothing was answered")
    }
    let script = seen.script
    return (.script(script), "\(count), \(script.rules.count.counted("rule"))")
  }
}

/// The requests of some recorded sessions and what each was answered with.
struct RecordedExchanges {
  struct Exchange: Equatable {
    var request: [UInt8]
    var response: [UInt8] = []
    var delay = Duration.zero
  }

  /// At most so many different answers to one request become rules.
  static let mostAnswers = 16
  private static let delimiters: [[UInt8]] = [[0x0D, 0x0A], [0x0A], [0x0D], [0], [3]]

  /// In their order, over all sessions.
  private(set) var exchanges: [Exchange] = []
  /// What came before the first request of a session, and when.
  private(set) var greetings: [(after: Duration, bytes: [UInt8])] = []
  private let framing: Script.Framing

  init(_ sessions: [Recording.Session]) {
    var found: [Exchange] = []
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
    let delimiter = Self.delimiters.first { end in
      !found.isEmpty
        && found.allSatisfy { $0.request.count > end.count && $0.request.suffix(end.count).elementsEqual(end) }
    }
    if let delimiter {
      framing = .delimiter(delimiter)
      exchanges = found.flatMap { Self.split($0, at: delimiter) }
    } else {
      let sizes = Set(found.map(\.request.count))
      framing = sizes.count == 1 ? .fixed(sizes.first ?? 1) : .any
      exchanges = found
    }
  }

  /// Several requests that were sent at once: the last one gets the answer.
  private static func split(_ exchange: Exchange, at delimiter: [UInt8]) -> [Exchange] {
    var (parts, start, index) = ([Exchange](), 0, 0)
    while index + delimiter.count <= exchange.request.count {
      if exchange.request[index..<index + delimiter.count].elementsEqual(delimiter) {
        parts.append(Exchange(request: Array(exchange.request[start..<index])))
        index += delimiter.count
        start = index
      } else {
        index += 1
      }
    }
    if !parts.isEmpty {
      parts[parts.count - 1].response = exchange.response
      parts[parts.count - 1].delay = exchange.delay
    }
    return parts
  }

  /// Whether every answer is the request.
  var isEcho: Bool {
    guard greetings.isEmpty else { return false }
    let end: [UInt8] = if case .delimiter(let bytes) = framing { bytes } else { [] }
    return exchanges.allSatisfy { $0.response == $0.request + end || $0.response.isEmpty && $0.request.isEmpty }
  }

  /// The rules. A request that was answered differently gets the answers in their order, and then the last one again.
  var script: Script {
    var order: [[UInt8]] = []
    var answers: [[UInt8]: [Exchange]] = [:]
    for exchange in exchanges {
      if answers[exchange.request] == nil { order.append(exchange.request) }
      answers[exchange.request, default: []].append(exchange)
    }
    var rules: [Script.Rule] = []
    for request in order {
      var (runs, all) = ([(exchange: Exchange, times: Int)](), answers[request] ?? [])
      all = Array(all.prefix(10_000))
      for exchange in all {
        if runs.last?.exchange.response == exchange.response {
          runs[runs.count - 1].times += 1
        } else if runs.count < Self.mostAnswers {
          runs.append((exchange, 1))
        }
      }
      for (index, run) in runs.enumerated() {
        var rule = Script.Rule(
          request: request, response: run.exchange.response, delay: Self.rounded(run.exchange.delay))
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

  /// In whole milliseconds, and nothing for what is as quick as the link.
  private static func rounded(_ time: Duration) -> Duration {
    let milliseconds = time.wholeNanoseconds / 1_000_000
    return milliseconds < 5 ? .zero : .milliseconds(min(milliseconds, 3_600_000))
  }
}
