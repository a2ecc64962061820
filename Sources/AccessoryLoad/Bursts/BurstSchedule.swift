import AccessoryCore
import AccessoryFormats
import AccessoryRuns

/// Decides when each of a run's bursts begins, across all sessions.
///
/// The schedule is `waiting` until all sessions are open, then `running`, and then `finished` once all the plan's
/// bursts have begun or the plan's time has passed. Sessions call ``next(lane:of:now:)`` whenever they have room for
/// another burst.
///
/// With a rate, burst n is due n ÷ rate after the run has begun, or later because of the ramp or pauses. A burst's
/// latency is measured from its due time, even if it began late. In a closed loop, a burst is due when it begins.
///
/// Invariants: bursts are numbered without gaps in the order they begin. Bursts are due in the order of their numbers.
/// Bursts that begin before the end of the warm-up are not measured.
package struct BurstSchedule: Equatable, Sendable {
  package struct Ticket: Equatable, Sendable {
    /// The burst's number in the run, starting at 0.
    package let number: Int
    package let due: Instant
    /// Whether the burst is measured, unlike bursts during the warm-up.
    package let isMeasured: Bool
  }

  /// What a session that asks for a burst must do.
  package enum Next: Equatable, Sendable {
    case begin(Ticket)
    case wait(until: Instant)
    case waitForOthers
    case finished
  }

  private let plan: BurstPlan
  private let timetable: BurstTimetable?
  package private(set) var start: Instant?
  package private(set) var isFinished = false
  package private(set) var begun = 0
  package private(set) var measured = 0
  private var settled = 0
  private var pausedUntil: Instant?
  /// The time at which the last burst is due, for a plan with a rate and a fixed number of bursts.
  private var lastDue: Instant?
  /// The number of bursts that began only after the last burst was due, for a plan with a rate and a fixed number of
  /// bursts. If there are any such bursts, the run did not keep up with the rate.
  package private(set) var late = 0
  /// How long earlier bursts can delay a burst before it counts as overdue.
  static let slack = Duration.milliseconds(100)

  /// Creates a schedule in which the rate of each phase is multiplied by `share`.
  package init(_ plan: BurstPlan, share: Double = 1) {
    self.plan = plan
    timetable = plan.phases.isEmpty ? nil : BurstTimetable(plan.phases, share: share)
  }

  package var measuringStart: Instant? { start.map { $0 + plan.warmUp } }

  package mutating func begin(now: Instant) {
    guard start == nil, !isFinished else { return }
    start = now
    guard case .rate(let rate) = plan.pace, case .bursts(let count) = plan.extent else { return }
    let last = dueSeconds(firstDue(after: plan.warmUp.inSeconds, from: 0) + count - 1, rate)
    // In a schedule of 10^9 seconds or more, the time of the last burst could overflow. The time is then left unset,
    // and no burst counts as late.
    if last < 1e9 { lastDue = now + .nanoseconds(Int64(last * 1e9)) }
  }

  package mutating func finish() { isFinished = true }

  /// Records that a burst has ended, whether successfully or not.
  package mutating func settle(now: Instant) {
    settled += 1
    guard case .closedLoop = plan.pace, let pause = plan.pause else { return }
    if settled == begun, begun % pause.every == 0 { pausedUntil = now + pause.length }
  }

  /// Returns a burst for session `lane` of `lanes` if one can begin now, or otherwise what the session must wait for.
  package mutating func next(lane: Int, of lanes: Int, now: Instant) -> Next {
    guard let start, !isFinished else { return isFinished ? .finished : .waitForOthers }
    if isOver(now: now) { return finishNow() }
    switch plan.pace {
    case .closedLoop:
      let opening = start + plan.ramp * lane / max(1, lanes)
      if opening > now { return .wait(until: opening) }
      if let pause = plan.pause, begun > 0, begun % pause.every == 0 {
        if settled < begun { return .waitForOthers }
        if let until = pausedUntil, until > now { return .wait(until: until) }
      }
      return hand(due: now, start)
    case .rate, .phases:
      let due = dueSeconds(begun).map { start + .nanoseconds(Int64($0 * 1e9)) } ?? .distantFuture
      if let end, due >= end { return now >= end ? finishNow() : .wait(until: end) }
      if due > now { return .wait(until: due) }
      if let lastDue, now > lastDue + Self.slack { late += 1 }
      return hand(due: due, start)
    }
  }

  /// Returns how many bursts are overdue by more than `slack` but have not begun.
  package func overdue(at now: Instant) -> Int {
    guard plan.pace != .closedLoop, let start else { return 0 }
    let limit = (end.map { min($0, now) } ?? now) - start - Self.slack
    let low = firstDue(after: limit.inSeconds, from: begun)
    if case .bursts(let count) = plan.extent { return min(low - begun, max(0, count - measured)) }
    return low - begun
  }

  /// Starting from burst `first`, returns the number of the first burst that is due at least `seconds` seconds after
  /// the start.
  private func firstDue(after seconds: Double, from first: Int) -> Int {
    var (low, high) = (first, first)
    if case .rate(let rate) = plan.pace { high += max(0, Int(min(seconds * rate, 1e15)) + 1) }
    if let timetable { high = max(first, timetable.count) }
    while low < high {
      let middle = (low + high) / 2
      if let due = dueSeconds(middle), due < seconds { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func hand(due: Instant, _ start: Instant) -> Next {
    let ticket = Ticket(number: begun, due: due, isMeasured: due >= start + plan.warmUp)
    begun += 1
    if ticket.isMeasured { measured += 1 }
    return .begin(ticket)
  }

  private mutating func finishNow() -> Next {
    finish()
    return .finished
  }

  func isOver(now: Instant) -> Bool {
    if case .bursts(let count) = plan.extent, start != nil, measured >= count { return true }
    return isFinished || end.map { now >= $0 } ?? false
  }

  /// The time after which no more bursts begin, or nil if the plan has a fixed number of bursts.
  var end: Instant? {
    if case .time(let time) = plan.extent, let start { start + plan.warmUp + time } else { nil }
  }

  func phase(of ticket: Ticket) -> Int? {
    guard let timetable, let start else { return nil }
    return timetable.phase(at: (ticket.due - start).inSeconds)
  }

  /// Returns the time at which burst `number` is due, in seconds after the start, or nil if there is no such burst or
  /// the plan has no rate.
  private func dueSeconds(_ number: Int) -> Double? {
    if case .rate(let rate) = plan.pace { dueSeconds(number, rate) } else { timetable?.due(number) }
  }

  /// Returns the time at which burst `number` is due, in seconds after the start. While the rate rises evenly from 0 to
  /// R in time T, n bursts take √(2nT/R).
  private func dueSeconds(_ number: Int, _ rate: Double) -> Double {
    let (n, rise) = (Double(number), plan.ramp.inSeconds)
    let rising = rise * rate / 2
    let due = n < rising ? (2 * n * rise / rate).squareRoot() : rise / 2 + n / rate
    guard let pause = plan.pause else { return due }
    return due + Double(number / pause.every) * pause.length.inSeconds
  }
}

/// One phase of a load test, with a duration and a rate that is constant or changes evenly.
public struct BurstPhase: Equatable, Sendable {
  /// The phase's name, such as "ramp", "steady" or "spike".
  public var name = ""
  /// The phase's duration.
  public var length = Duration.seconds(10)
  /// The rate in bursts per second at the beginning of the phase, or nil if the rate is constant.
  public var from: Double?
  /// The rate in bursts per second at the end of the phase.
  public var rate = 1.0

  /// Creates a phase that lasts ten seconds at one burst per second.
  public init() {}

  var start: Double { from ?? rate }
  /// The number of bursts that are due in this phase, which need not be a whole number.
  var bursts: Double { (start + rate) / 2 * length.inSeconds }

  /// Text such as "0 to 50 bursts/s for 10s".
  var text: String {
    let rates = start == rate ? Self.number(rate) : "\(Self.number(start)) to \(Self.number(rate))"
    return "\(name.isEmpty ? "" : "\(name) ")\(rates) bursts/s for \(DurationText.format(length))"
  }

  private static func number(_ rate: Double) -> String {
    FixedText.text(rate, places: rate == rate.rounded() ? 0 : 2)
  }
}

/// Calculates when each burst is due, for plans with phases.
///
/// Invariant: bursts are due in the order of their numbers, and all are due before ``length``.
struct BurstTimetable: Equatable, Sendable {
  private struct Part: Equatable {
    let start: Double
    let length: Double
    let from: Double
    let rise: Double
    let before: Double
    let bursts: Double
  }

  private let parts: [Part]
  let length: Double
  let count: Int

  init(_ phases: [BurstPhase], share: Double = 1) {
    var parts: [Part] = []
    var (time, bursts) = (0.0, 0.0)
    for phase in phases {
      let seconds = phase.length.inSeconds
      parts.append(
        Part(
          start: time, length: seconds, from: phase.start * share, rise: (phase.rate - phase.start) * share / seconds,
          before: bursts, bursts: phase.bursts * share))
      time += seconds
      bursts += phase.bursts * share
    }
    self.parts = parts
    length = time
    count = Int(min(bursts, 1e15).rounded(.up))
  }

  /// Returns the time at which burst `number` is due, in seconds, or nil if the phases do not have that many bursts.
  func due(_ number: Int) -> Double? {
    let wanted = Double(number)
    guard let part = parts.first(where: { wanted < $0.before + $0.bursts }) else { return nil }
    let missing = max(0, wanted - part.before)
    // The rate changes evenly: bursts = from × t + rise × t² ÷ 2.
    let time =
      abs(part.rise) < 1e-12
      ? missing / part.from
      : (max(0, part.from * part.from + 2 * part.rise * missing).squareRoot() - part.from) / part.rise
    return part.start + min(max(0, time), part.length)
  }

  func phase(at seconds: Double) -> Int {
    parts.lastIndex { $0.start <= seconds } ?? 0
  }
}

/// The time given by `--start-at`, at which load generators on several machines begin together.
///
/// ```swift
/// try StartTime("2026-11-23T01:30:00Z")   // RFC 3339, also with +02:00 and parts of a second
/// try StartTime("1795397400.5")           // seconds since 1970, as `date +%s` prints
/// try StartTime("+10s")                   // from now on, for one machine alone
/// ```
package enum StartTime: Equatable, Sendable {
  case at(Int)
  case after(Duration)

  package init(_ text: String) throws(OptionError) {
    if text.hasPrefix("+") {
      do { self = .after(try DurationText.parse(String(text.dropFirst()))) } catch { throw OptionError("\(error)") }
      return
    }
    guard let microseconds = Self.seconds(text) ?? Self.date(text), 0...1 << 52 ~= microseconds else {
      throw OptionError("expected a time such as 2026-11-23T01:30:00Z, seconds since 1970, or +10s")
    }
    self = .at(microseconds)
  }

  package func microseconds(now: Int) -> Int {
    switch self {
    case .at(let time): time
    case .after(let time): now + Int(time.wholeNanoseconds / 1_000)
    }
  }

  /// Formats a time as RFC 3339 in UTC, with milliseconds unless they are zero.
  package static func text(_ microseconds: Int) -> String {
    let part = microseconds % 1_000_000 / 1_000
    let time = CalendarTime(secondsSince1970: microseconds / 1_000_000).text
    return "\(time)\(part > 0 ? ".\("\(part)".zeroPadded(to: 3))" : "")Z"
  }

  // MARK: Reading

  private static func seconds(_ text: String) -> Int? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let whole = Shard.number(parts[0]), whole < 1 << 40 else { return nil }
    guard parts.count == 2 else { return whole * 1_000_000 }
    return fraction(parts[1]).map { whole * 1_000_000 + $0 }
  }

  private static func date(_ text: String) -> Int? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, [UInt8(ascii: "T"), UInt8(ascii: "t"), UInt8(ascii: " ")].contains(bytes[10]),
      bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[13] == UInt8(ascii: ":"),
      bytes[16] == UInt8(ascii: ":")
    else { return nil }
    func number(_ range: Range<Int>, _ allowed: ClosedRange<Int>) -> Int? {
      Shard.number(String(decoding: bytes[range], as: UTF8.self)).flatMap { allowed ~= $0 ? $0 : nil }
    }
    guard let year = number(0..<4, 1970...2112), let month = number(5..<7, 1...12), let day = number(8..<10, 1...31),
      let hour = number(11..<13, 0...23), let minute = number(14..<16, 0...59), let second = number(17..<19, 0...59)
    else { return nil }
    var rest = String(decoding: bytes[19...], as: UTF8.self)[...]
    var part = 0
    if rest.first == "." {
      let places = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
      guard let read = fraction(places) else { return nil }
      part = read
      rest = rest.dropFirst(1 + places.count)
    }
    guard let offset = offset(rest), let seconds = CalendarTime.seconds(year, month, day, hour, minute, second) else {
      return nil
    }
    return (seconds - offset) * 1_000_000 + part
  }

  /// Parses a UTC offset such as `Z` or `+02:00`, and returns it in seconds.
  private static func offset(_ text: Substring) -> Int? {
    if text == "Z" || text == "z" { return 0 }
    guard let sign = text.first, sign == "+" || sign == "-" else { return nil }
    let parts = text.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.count == 2 }), let hours = Shard.number(parts[0]), hours < 24,
      let minutes = Shard.number(parts[1]), minutes < 60
    else { return nil }
    return (hours * 60 + minutes) * (sign == "-" ? -60 : 60)
  }

  /// Parses a fraction of a second, and returns it in whole microseconds.
  private static func fraction(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.count <= 12, Shard.number(text) != nil else { return nil }
    return Shard.number((String(text) + "000000").prefix(6))
  }
}
