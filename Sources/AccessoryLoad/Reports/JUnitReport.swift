import AccessoryCore

extension BurstReport {
  /// The report as JUnit XML, which CI servers show: a case for the bursts, for each kind of error, for the rate, for each
  /// limit, and for each figure that was compared with a baseline.
  public func junit(_ comparison: BaselineComparison? = nil) -> String {
    var cases: [JUnitSuite.Case] = []
    func add(_ name: String, _ failure: String?) {
      cases.append(JUnitSuite.Case("burst", name, time: measured, failure: failure))
    }
    let isOver = ending == "\(BurstRunner.Outcome.done)"
    let failsByItself = !passed && !(isOver && completed > 0 && checks.contains { !$0.passed })
    add(
      "bursts: \(plan.size > 0 ? "\(plan.size) bytes" : plan.sizeText), \(plan.verification)",
      failsByItself ? ending : nil)
    for kind in ErrorKind.allCases {
      // With --reconnect, bursts lost in a flicker are reported and are not a failure.
      let tally = failsByItself ? errors[kind] : nil
      add("no burst \(kind.title)", tally.map { "\($0.count); the first: \($0.first)" })
    }
    for check in checks { add(check.name, check.passed ? nil : check.text) }
    for figure in comparison?.figures ?? [] {
      add("baseline: \(figure.name)", figure.isRegression ? figure.description : nil)
    }
    return JUnitSuite("easim burst", time: measured, cases, output: text(comparison)).xml
  }
}
