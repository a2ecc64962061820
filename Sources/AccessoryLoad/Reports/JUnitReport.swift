import AccessoryCore

extension BurstReport {
  /// The report as JUnit XML, which CI servers show: a case for the bursts, for each kind of error, for the rate, for each
  /// limit, and for each figure that was compared with a baseline.
  public func junit(_ comparison: BaselineComparison? = nil) -> String {
    var cases: [JUnitSuite.Case] = []
    func add(_ name: String, _ failure: String?) {
      cases.append(JUnitSuite.Case("burst", name, time: measured, failure: failure))
    }
    // What no other case says: a broken limit alone is the failure of its own case.
    let verdict = verdict
    let others = ErrorKind.allCases.contains { failing($0) != nil } || checks.contains { !$0.passed }
    let isOver = ending == Self.doneEnding && others
    add(
      "bursts: \(plan.size > 0 ? "\(plan.size) bytes" : plan.sizeText), \(plan.verification)",
      verdict.isPassed || isOver
        ? nil : ending == Self.doneEnding ? verdict.reasons.joined(separator: "; ") : ending)
    for kind in ErrorKind.allCases {
      add("no burst \(kind.title)", failing(kind).map { "\($0.count); the first: \($0.first)" })
    }
    for check in checks { add(check.goal, check.passed ? nil : check.line) }
    for figure in comparison?.figures ?? [] {
      add("baseline: \(figure.name)", figure.isRegression ? figure.description : nil)
    }
    return JUnitSuite("easim burst", time: measured, cases, output: text(comparison)).xml
  }
}
