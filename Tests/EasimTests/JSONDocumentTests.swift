import Glibc
import TestSupport
import Testing

/// Compares docs/commands.md with the events that commands print. The page must list exactly the events and fields that
/// exist.
@Suite(.waits) struct JSONDocumentTests {
  /// Returns the fields of each event in the document's table, except those that all events have.
  static func documentedEvents() throws -> [String: Set<String>] {
    try tables().events
  }

  private static func tables() throws -> (common: Set<String>, events: [String: Set<String>]) {
    var common: Set<String> = []
    var events: [String: Set<String>] = [:]
    var isInEvents = false
    let page = try Repository.text("docs/commands.md")
    let start = try #require(page.firstRange(of: "\n## JSON lines\n"))
    let end = page[start.upperBound...].firstRange(of: "\n## ")?.lowerBound ?? page.endIndex
    for line in page[start.upperBound..<end].split(separator: "\n") where line.hasPrefix("| `") {
      let cells = line.split(separator: "|").map { $0.trimming(while: { $0 == " " }) }
      let name = cells[0].quoted.first ?? ""
      // The first row of the second table is an event, not a field.
      isInEvents = isInEvents || name == "attach"
      if isInEvents { events[name] = Set(cells[1].quoted) } else { common.insert(name) }
    }
    return (common, events)
  }

  @Test func theDocumentNamesEveryEventThatTheSourcesHaveAndNoOther() throws {
    let source = try Repository.text("Sources/AccessorySessions/Events/TimelineEvent.swift")
    let start = try #require(source.firstRange(of: "public var name: String"))
    let lines = source[start.upperBound...].split(separator: "\n").prefix { $0 != "}" }
    let names = lines.filter { $0.contains("case .") && $0.contains(": \"") }.compactMap {
      $0.split(separator: "\"").dropFirst().first.map(String.init)
    }
    #expect(names.count > 10)
    #expect(Set(names) == Set(try Self.documentedEvents().keys))
  }

  /// The accessory and the host print events about a flicker, a session, a refused session, an unplugged accessory and
  /// a failed authentication.
  @Test func everyLineOfBothEndsIsAsDocumented() throws {
    let place = TemporaryFolder()
    var lines: [StrictJSON] = []
    for (quirk, expect) in [
      ("flicker,empty=5ms,gap=5ms", "echo"), ("session,refuse", "none"), ("authentication,wrong", "none"),
    ] {
      let accessory = try Accessory(on: .unix, in: place, "--quirk", quirk, "--json")
      let send = try Program.run("send", accessory.address, "--10k", "--expect", expect, "--json", "--timeout", "1s")
      lines += try EventLines(send.out).events
      lines += try EventLines(try accessory.interrupt().out).events
    }
    lines += try EventLines(try Program.run("demo", "--virtual", "--seed", "3", "--json").out).events
    for line in lines { try check(line) }
    let seen = Set(lines.compactMap { $0["event"]?.text })
    let common: Set = [
      "attach", "detach", "link", "identification", "authentication", "connect", "disconnect", "session.open",
      "session.close", "result",
    ]
    #expect(seen.isSuperset(of: common), "not played: \(common.subtracting(seen).sorted())")
  }

  private func check(_ line: StrictJSON) throws {
    let (common, events) = try Self.tables()
    let event = try #require(line["event"]?.text)
    let own = try #require(events[event], "'\(event)' is not in docs/commands.md")
    // The fields that only certain commands add.
    let more: Set = event == "result" ? ["verified", "verdict"] : []
    #expect(line.keys.subtracting(common).subtracting(more) == own, "\(line)")
    #expect(line.keys.isSuperset(of: ["v", "t", "side", "event"]), "\(line)")
    #expect(["accessory", "cable", "device", "app"].contains(line["side"]?.text), "\(line)")
    guard let accessory = line["accessory"] else { return }
    let known: Set = ["name", "serial", "protocols", "connectionID"]
    #expect(accessory.keys.isSubset(of: known), "\(line)")
    #expect(accessory.keys.isSuperset(of: known.subtracting(["connectionID"])), "\(line)")
    if ["connect", "disconnect"].contains(event) { #expect(line.connectionID != nil, "\(line)") }
  }
}

extension StringProtocol {
  fileprivate var quoted: [String] {
    split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
      .map { String($0.element) }
  }

  fileprivate func trimming(while isLoose: (Character) -> Bool) -> String {
    String(drop(while: isLoose).reversed().drop(while: isLoose).reversed())
  }
}
