import AccessoryFormats
import AccessoryRuns

/// A condition that makes a run fail, as written for `--fail-if`.
///
/// ```swift
/// try BurstLimit("p99>50ms")      // one burst in a hundred took longer
/// try BurstLimit("rate<100/s")    // fewer bursts a second; "rate<1MB/s" is payload bytes
/// try BurstLimit("errors>0.1%")   // of the bursts that began; "errors>3" is a number of them
/// ```
public struct BurstLimit: Equatable, Sendable, CustomStringConvertible {
  enum Figure: Equatable, Sendable {
    case percentile(Double)
    case mean
    /// A rate in bursts or bytes per second.
    case bursts, bytes
    /// A count, given as a number or as a percentage of the bursts that began.
    case count(Counted, isShare: Bool)

    var isTime: Bool {
      switch self {
      case .percentile, .mean: true
      case .bursts, .bytes, .count: false
      }
    }
  }

  enum Counted: String, CaseIterable, Sendable { case errors, lost, overdue, reconnections, retransmissions }

  let figure: Figure
  /// Whether the limit applies to service times rather than latencies.
  let isService: Bool
  /// True if the run fails above the bound, or false if it fails below the bound.
  let isUpper: Bool
  /// The bound, in the figure's own unit: nanoseconds, a rate per second, a percentage or a plain number.
  let bound: Double
  /// The limit as written by the user, but without spaces.
  public let description: String
  /// The condition that must be met to pass, such as "p99 ≤ 50 ms".
  public let goal: String

  /// Parses a limit. If the limit is invalid, the error shows the nearest valid form.
  public init(_ text: String) throws(OptionError) {
    let plain = String(text.filter { !$0.isWhitespace })
    let shown = Excerpt.of(text)
    guard let place = plain.firstIndex(where: { "<>=".contains($0) }) else {
      throw OptionError("'\(shown)' contains no '>' or '<': write \(Self.examples)")
    }
    let sign = plain[place...].prefix { "<>=".contains($0) }
    let (name, value) = (String(plain[..<place]), String(plain[place...].dropFirst(sign.count)))
    var measured = name
    isService = name.hasPrefix("service.")
    if isService { measured = String(name.dropFirst("service.".count)) }
    guard let named = Self.figure(measured), !isService || named.isTime else {
      let near = Suggestion.nearest(to: measured, in: Self.names) ?? Self.alias(measured)
      guard let near else {
        throw OptionError(
          "'\(shown)': '\(Excerpt.of(name))' is not measured: expected \(Self.names.joined(separator: ", "))")
      }
      throw OptionError("'\(shown)': did you mean '\(near)\(Self.sign(near))\(value)'?")
    }
    guard sign == Self.sign(measured) else {
      // With the opposite sign, the user has probably written the condition for passing instead of failing.
      let reason = sign == "<" || sign == ">" ? " would fail good runs, because --fail-if says when a run fails" : ""
      throw OptionError("'\(shown)'\(reason): did you mean '\(name)\(Self.sign(measured))\(value)'?")
    }
    (figure, bound) = try Self.read(value, named, prefix: "\(name)\(sign)", shown)
    isUpper = named != .bursts
    description = "\(name)\(sign)\(value)"
    let digits = value.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = figure == .bursts ? "bursts/s" : String(value.dropFirst(digits.count))
    goal = "\(name) \(isUpper ? "≤" : "≥") \(digits)\(unit.isEmpty ? "" : " \(unit)")"
  }

  // MARK: Words

  private static let names = ["p50", "p90", "p99", "p99.9", "mean", "max", "rate"] + Counted.allCases.map(\.rawValue)
  private static let examples = "'p99>50ms', 'rate<100/s' or 'errors>0.1%'"

  private static func sign(_ name: String) -> String { name == "rate" ? "<" : ">" }

  /// Returns the figure with this name. A rate counts bursts unless its value has a unit of bytes.
  private static func figure(_ name: String) -> Figure? {
    if name == "rate" { return .bursts }
    if name == "mean" { return .mean }
    if name == "max" { return .percentile(100) }
    if let counted = Counted(rawValue: name) { return .count(counted, isShare: false) }
    guard name.first == "p", name.dropFirst().allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
      let percentile = Double(name.dropFirst()), 0...100 ~= percentile
    else { return nil }
    return .percentile(percentile)
  }

  /// Returns easim's name for a figure that has the given name in another tool.
  private static func alias(_ name: String) -> String? {
    switch name.lowercased() {
    case "latency", "service": "p99"
    case "throughput", "bps", "bytes", "speed", "bursts": "rate"
    case "median": "p50"
    case "avg", "average": "mean"
    case "failures", "failed": "errors"
    case "late": "overdue"
    case "loss", "drops": "lost"
    default: name.lowercased().first == "p" ? "p99" : nil
    }
  }

  private static func read(
    _ value: String, _ figure: Figure, prefix: String, _ shown: String
  ) throws(OptionError) -> (Figure, Double) {
    let digits = String(value.prefix { $0.isASCII && ($0.isNumber || $0 == ".") })
    switch figure {
    case .percentile, .mean:
      do { return (figure, Double(try DurationText.parse(value).wholeNanoseconds)) } catch {
        throw OptionError("'\(shown)': did you mean '\(prefix)\(digits.isEmpty ? "50" : digits)ms'?")
      }
    case .bursts, .bytes:
      let units: [(name: String, figure: Figure, size: Double)] = [
        ("MB/s", .bytes, 1e6), ("kB/s", .bytes, 1e3), ("B/s", .bytes, 1), ("/s", .bursts, 1),
      ]
      for unit in units where value.hasSuffix(unit.name) {
        if let number = number(value.dropLast(unit.name.count)) { return (unit.figure, number * unit.size) }
      }
      throw OptionError(
        "'\(shown)': did you mean '\(prefix)\(digits.isEmpty ? "100" : digits)/s' (bursts) or "
          + "'\(prefix)\(digits.isEmpty ? "100" : digits)kB/s' (payload bytes)?")
    case .count(let counted, _):
      let isShare = value.hasSuffix("%")
      if let number = number(value.dropLast(isShare ? 1 : 0)) { return (.count(counted, isShare: isShare), number) }
      let near = digits.isEmpty ? "0" : digits
      throw OptionError("'\(shown)': did you mean '\(prefix)\(near)' or '\(prefix)\(near)%'?")
    }
  }

  private static func number(_ text: some StringProtocol) -> Double? {
    guard !text.isEmpty, text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }) else { return nil }
    return Double(String(text)).flatMap { $0 <= 1e15 ? $0 : nil }
  }

  /// Whether delays that are caused by faults could make the run exceed the limit.
  private var isAboutTime: Bool { if case .count(let counted, _) = figure { counted == .overdue } else { true } }

  /// Returns where to draw the limit in a chart of times in nanoseconds or of bytes per second, or nil if the limit
  /// does not belong in that chart. `size` is the size of every burst, or 0 if sizes vary.
  func line(onTimes: Bool, size: Int) -> Double? {
    switch figure {
    case .percentile, .mean: onTimes ? bound : nil
    case .bytes: onTimes ? nil : bound
    case .bursts: onTimes || size == 0 ? nil : bound * Double(size)
    case .count: nil
    }
  }

  func check(_ report: BurstReport) -> ReportCheck {
    let text: String
    let value: Double
    switch figure {
    case .percentile, .mean:
      let times = isService ? report.service : report.latency
      return check(times, cause: times.total > 0 ? report.faultCause : nil)
    case .bursts:
      value = report.burstsPerSecond
      text = "\(FixedText.text(value, places: value < 10 ? 2 : 1, unlike: bound)) bursts/s"
    case .bytes:
      value = report.bytesPerSecond
      text = FixedText.rate(value, unlike: bound)
    case .count(let counted, let isShare):
      let count = counted.count(report)
      let all = max(1, report.begun - report.warmUp, count)
      let share = Double(count) / Double(all) * 100
      value = isShare ? share : Double(count)
      let percent = FixedText.text(share, places: 3, unlike: bound)
      text = isShare ? "\(FixedText.grouped(count)), \(percent) %" : FixedText.grouped(count)
    }
    let holds = isUpper ? value <= bound : value >= bound
    return ReportCheck(
      name: "\(self)", goal: goal, passed: holds, text: text, cause: holds || !isAboutTime ? nil : report.faultCause)
  }

  /// Whether ``check(_:cause:)`` can check the limit: it is a limit on times, but not on service times.
  package var isOnTimes: Bool { figure.isTime && !isService }

  /// Checks a limit on times. `cause` is the reason why the times may exceed the limit.
  package func check(_ times: Histogram, cause: String? = nil) -> ReportCheck {
    guard times.total > 0 else {
      return ReportCheck(name: "\(self)", goal: goal, passed: false, text: "nothing was measured")
    }
    let value =
      if case .percentile(let percent) = figure { Double(times.value(atPercentile: percent)) } else { times.mean }
    let holds = value <= bound
    return ReportCheck(
      name: "\(self)", goal: goal, passed: holds, text: FixedText.time(value, unlike: bound),
      cause: holds ? nil : cause)
  }
}

extension BurstLimit.Counted {
  fileprivate func count(_ report: BurstReport) -> Int {
    switch self {
    case .errors: report.errorCount
    case .lost: report.lost
    case .overdue: report.overdue
    case .reconnections: report.reconnections
    case .retransmissions: report.link.retransmissions
    }
  }
}

/// A report to which limits can be added after the run has ended.
package protocol LimitedReport: Report {
  /// Adds limits. The report fails if any of these limits is not met.
  mutating func require(_ more: [BurstLimit])

  /// Whether the report has the figure of a limit.
  func mayRequire(_ limit: BurstLimit) -> Bool
}

extension BurstReport: LimitedReport {
  package func mayRequire(_ limit: BurstLimit) -> Bool { true }
}
