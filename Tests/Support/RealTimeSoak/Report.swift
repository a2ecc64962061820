import AccessoryFormats

struct Report {
  let rows: [Couple]
  let seconds: Double
  let seed: UInt64
  let stopped: Bool

  var wrongs: [String] { rows.flatMap { row in row.tally.wrongs.map { "\(row.name): \($0)" } } }
  var passed: Bool { wrongs.isEmpty }

  private var ends: [(words: [String], count: Int)] {
    var all: [String: Int] = [:]
    for row in rows { all.merge(row.tally.ends) { $0 + $1 } }
    return all.sorted { $0.key < $1.key }
      .map { ($0.key.split(separator: "|", omittingEmptySubsequences: false).map(String.init), $0.value) }
  }

  // MARK: For people

  var text: String {
    var lines = [
      "\(Int(seconds.rounded())) s in real time, seed \(seed), \(rows.count) couples of two processes"
        + (stopped ? ", stopped by Ctrl-C" : ""), "",
    ]
    lines += Columns.lines([Self.heads] + rows.map(cells))
    lines += [
      "", "RSS and fds are those of the end that lives: the median (of fds the most) of the second and the last third.",
    ]
    lines += ["", "How processes ended:"]
    lines += Columns.lines(
      [["who", "ended by", "how", "said last", "times"]] + ends.map { $0.words + ["\($0.count)"] })
    lines.append("")
    lines += wrongs.map { "WRONG  \($0)" }
    lines.append(
      passed
        ? "passed: nothing lost that was acknowledged, nothing grows, every end has a reason"
        : "failed: \(wrongs.count) things went wrong")
    return lines.joined(separator: "\n")
  }

  private static let heads = [
    "couple (who is killed)", "kills", "sessions", "sends", "bursts", "reconnects", "lost", "acknowledged", "missing",
    "RSS KiB", "fds", "verdict",
  ]

  private func cells(_ row: Couple) -> [String] {
    let (tally, growth) = (row.tally, row.growth)
    return [
      row.name, "\(tally.kills)", "\(tally.sessions)", "\(tally.sends)", "\(tally.bursts)", "\(tally.reconnections)",
      "\(tally.lost)", "\(tally.acknowledged)", "\(tally.missing)",
      "\(growth.memory.before) → \(growth.memory.after)",
      "\(growth.descriptors.before) → \(growth.descriptors.after)", tally.wrongs.isEmpty ? "ok" : "WRONG",
    ]
  }

  // MARK: For programs

  var json: JSONObject {
    [
      "easim": "soak report", "version": 1, "passed": passed, "seconds": seconds, "seed": Int(clamping: seed),
      "stopped": stopped, "couples": rows.map { json($0) },
      "ends": ends.map { Self.json($0.words, $0.count) }, "wrongs": wrongs,
    ]
  }

  private func json(_ row: Couple) -> JSONObject {
    var object: JSONObject = ["name": row.name]
    for (key, value) in [
      ("kills", row.tally.kills), ("sessions", row.tally.sessions), ("sends", row.tally.sends),
      ("bursts", row.tally.bursts), ("bytes", row.tally.bytes), ("reconnections", row.tally.reconnections),
      ("lost", row.tally.lost), ("acknowledged", row.tally.acknowledged), ("missing", row.tally.missing),
      ("samples", row.growth.samples.count), ("memoryBefore", row.growth.memory.before),
      ("memoryAfter", row.growth.memory.after), ("descriptorsBefore", row.growth.descriptors.before),
      ("descriptorsAfter", row.growth.descriptors.after),
    ] {
      object.add(key, value)
    }
    object.add("passed", row.tally.wrongs.isEmpty)
    return object
  }

  private static func json(_ words: [String], _ count: Int) -> JSONObject {
    var object = JSONObject()
    for (key, word) in zip(["who", "by", "how", "last"], words) { object.add(key, word) }
    object.add("count", count)
    return object
  }
}

enum Columns {
  static func lines(_ rows: [[String]]) -> [String] {
    let width = rows.map(\.count).max() ?? 0
    let widths = (0..<width).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
    return rows.map { row in
      let cells = row.enumerated().map { column, word in
        word + String(repeating: " ", count: widths[column] - word.count)
      }
      return "  " + String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
    }
  }
}
