/// Whether every numbered behaviour of Apple's framework is proven, and the table of proofs is true. Each check returns
/// its findings as sentences; none is what is wanted.
enum BehaviourChecks {
  /// The series and how many numbers each has: registration, flicker, suspension, sessions, streams, picker, browser.
  static let series = [("N", 17), ("F", 11), ("S", 9), ("E", 14), ("T", 22), ("P", 3), ("B", 6)]
  /// How many behaviours may be left unplayed.
  static let mostMissing = 8

  static func everyNumberHasARow(_ table: BehaviourTable) -> [String] {
    let wanted = series.flatMap { series in (1...series.1).map { "\(series.0)\($0)" } }
    let given = table.rows.map(\.number)
    return wanted.filter { !given.contains($0) }.map { "\($0) has no row" }
      + table.rows.filter { $0.tests.isEmpty }.map { "\($0.number) has a row and no test" }
  }

  /// The tests of the rows are there, and carry the number of their row.
  static func theTestsAreThere(_ table: BehaviourTable, _ files: [SourceFile]) -> [String] {
    let known = Set(tests(in: files).map { "\($0.suite)/\($0.name)" })
    return table.rows.flatMap { row in
      row.tests.compactMap { test in
        guard known.contains(test) else { return "\(row.number) names \(test), which is no test" }
        let name = test.split(separator: "/").last ?? ""
        return BehaviourTable.numbers(of: name).contains(row.number)
          ? nil : "\(row.number) names \(test), which does not carry that number"
      }
    }
  }

  /// A test that carries a number is in the row of that number.
  static func noNumberedTestIsForgotten(_ table: BehaviourTable, _ files: [SourceFile]) -> [String] {
    tests(in: files).flatMap { test in
      BehaviourTable.numbers(of: test.name).compactMap { number in
        let isNamed = table.rows.contains { $0.number == number && $0.tests.contains("\(test.suite)/\(test.name)") }
        return isNamed ? nil : "\(test.suite)/\(test.name) is not in the row of \(number)"
      }
    }
  }

  /// What is not played is little, and was tried.
  static func whatIsMissingWasTried(_ table: BehaviourTable) -> [String] {
    var findings = table.missing.filter { $0.experiment.count < 20 || $0.outcome.count < 20 }.map {
      "\($0.number) is said to be not reproducible without the experiment that failed"
    }
    if table.missing.count > mostMissing { findings.append("\(table.missing.count) behaviours are not played") }
    return findings
  }

  /// The test functions of files, each with the suite it is in.
  private static func tests(in files: [SourceFile]) -> [(suite: Substring, name: Substring)] {
    files.flatMap { file in
      let suites = file.lines(with: "struct").compactMap { line, number in
        line.range(of: "@Suite struct ").map { (name: name(line[$0.upperBound...]), number: number) }
      }
      return file.lines(with: "func").compactMap { line, number -> (Substring, Substring)? in
        // Of the suite itself and not of something inside it.
        guard line.hasPrefix("  "), !line.hasPrefix("   "), let start = line.range(of: "func "),
          let suite = suites.last(where: { $0.number < number })
        else { return nil }
        return (suite.name, name(line[start.upperBound...]))
      }
    }
  }

  private static func name(_ text: Substring) -> Substring { text.prefix { $0.isLetter || $0.isNumber } }
}
