/// The tables of all cases, for docs/check.md.
package enum CheckPage {
  /// A table for each group of cases, with each case's number, name, rule, sources and severity.
  package static var tables: String {
    CheckGroup.allCases.filter { $0 != .own }.map { group in
      let rows = CheckCase.all.filter { $0.group == group }.map { rule in
        let sources = rule.sources.map(\.description).joined(separator: ", ")
        let hostile = rule.isHostile ? " Only with `--hostile`." : ""
        return
          "| \(rule.number) | `\(rule.name)` | \(rule.sentence)\(hostile) | \(sources) | \(rule.severity.rawValue) |"
      }
      return """
        ### \(group.title)

        | case | name | rule | known from | severity |
        |---|---|---|---|---|
        \(rows.joined(separator: "\n"))
        """
    }.joined(separator: "\n\n")
  }
}
