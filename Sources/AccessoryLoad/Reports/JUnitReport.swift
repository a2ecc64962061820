import AccessoryCore

extension BurstReport {
  /// The report as JUnit XML, which CI servers show: a case for the bursts of each kind of error, and one for each figure
  /// that was compared with a baseline.
  public func junit(_ comparison: BaselineComparison? = nil) -> String {
    let seconds = FixedText.text(measured.inSeconds, places: 3)
    var cases: [String] = []
    var failures = 0
    func add(_ name: String, _ failure: String?) {
      let open = "    <testcase classname=\"easim.burst\" name=\"\(MarkupText.escaped(name))\" time=\"\(seconds)\""
      guard let failure else { return cases.append("\(open)/>") }
      failures += 1
      cases.append("\(open)>\n      <failure message=\"\(MarkupText.escaped(failure))\"/>\n    </testcase>")
    }
    add("bursts: \(plan.size) bytes, \(plan.verification)", passed ? nil : ending)
    for kind in ErrorKind.allCases {
      // With --reconnect, bursts lost in a flicker are reported and are not a failure.
      let tally = passed ? nil : errors[kind]
      add("no burst \(kind.title)", tally.map { "\($0.count); the first: \($0.first)" })
    }
    for figure in comparison?.figures ?? [] {
      add("baseline: \(figure.name)", figure.isRegression ? figure.description : nil)
    }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuites tests="\(cases.count)" failures="\(failures)">
        <testsuite name="easim burst" tests="\(cases.count)" failures="\(failures)" errors="0" time="\(seconds)">
      \(cases.joined(separator: "\n"))
          <system-out>\(MarkupText.escaped(text))</system-out>
        </testsuite>
      </testsuites>

      """
  }
}
