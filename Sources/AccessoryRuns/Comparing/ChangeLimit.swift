import AccessoryFormats

/// A condition for `easim report compare --fail-if`. A change limit restricts how much a figure may change from the
/// first report to the last. If the limit's condition is true, the comparison fails.
///
/// ```swift
/// try ChangeLimit("p50>+10%")          // more than 10% slower
/// try ChangeLimit("throughput<-5%")
/// ```
public struct ChangeLimit: Equatable, Sendable {
  let figure: String
  /// True if a change above the bound fails the comparison, or false if a change below the bound does.
  let isUpper: Bool
  /// The bound as a fraction, such as 0.1 for 10%.
  let bound: Double
  /// The condition that must be met to pass, such as "p50 ≤ +10 %".
  public let goal: String

  private static let examples = "'p50>+10%' or 'throughput<-5%'"

  /// Parses a limit. If the text is invalid, the error shows an example of a valid limit.
  public init(_ text: String) throws(OptionError) {
    let plain = String(text.filter { !$0.isWhitespace }).replacing("−", with: "-")
    let shown = Excerpt.of(text)
    guard let place = plain.firstIndex(where: { "<>".contains($0) }) else {
      throw OptionError("'\(shown)' contains no '>' or '<': write \(Self.examples)")
    }
    let (name, value) = (String(plain[..<place]), plain[plain.index(after: place)...])
    let digits = value.dropFirst().dropLast()
    guard let sign = value.first, "+-".contains(sign), value.last == "%", !digits.isEmpty,
      digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let number = Double(digits), number <= 1e9
    else {
      throw OptionError("'\(shown)': in a comparison, limits are changes in percent: write \(Self.examples)")
    }
    (figure, isUpper) = (name, plain[place] == ">")
    bound = (sign == "-" ? -number : number) / 100
    goal = "\(name) \(isUpper ? "≤" : "≥") \(sign == "-" ? "−" : "+")\(digits) %"
  }

  /// Throws an error if the runs do not have the figure that is limited. The error suggests a figure with a similar
  /// name.
  public func check(among names: [String]) throws(OptionError) {
    if names.contains(figure) { return }
    let near = Suggestion.nearest(to: figure, in: names).map { "did you mean '\($0)'?" }
    throw OptionError(
      "'\(Excerpt.of(figure))' is not compared: \(near ?? "expected \(names.joined(separator: ", "))")")
  }

  func check(_ trend: ReportTrend) -> ReportCheck {
    func check(_ holds: Bool, _ text: String) -> ReportCheck {
      ReportCheck(name: goal, goal: goal, passed: holds, text: text)
    }
    guard trend.warnings.isEmpty else { return check(false, "the runs are not comparable") }
    guard let row = trend.rows.first(where: { $0.name == figure }), row.values.count > 1, let first = row.values.first,
      let last = row.values.last
    else { return check(false, "there is nothing to compare") }
    guard first > 0 else {
      // A rise from zero exceeds every upper limit, because the rise cannot be expressed as a percentage.
      return check(isUpper ? last <= 0 : true, "\(row.show(last)), was \(row.show(first))")
    }
    let change = ReportTrend.change(from: first, to: last)
    return check(isUpper ? change <= bound : change >= bound, ReportTrend.percent(change, unlike: bound))
  }
}
