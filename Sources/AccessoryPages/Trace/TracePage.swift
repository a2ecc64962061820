import AccessoryCore
import AccessoryFormats
import Certificates
import IAP2

/// The page of a trace, which is a single document. The page contains the data and the live page's style and modules,
/// and loads no other files.
enum TracePage {
  static func html(_ recorder: TraceRecorder, _ verdict: TraceVerdict, _ runs: [TracedRun]) -> [UInt8] {
    let title = MarkupText.escaped("\(verdict.word): \(recorder.command)")
    let head = """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta http-equiv="Content-Security-Policy" content="\(policy)">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(title)</title>
      <style>
      \(PageLook.style)\(text("style.css"))
      </style>
      </head>
      <body class="trace">
      <header><h1>easim</h1><div id="tabs" role="tablist" aria-label="Views"></div><span id="program"></span></header>
      <main></main>
      <noscript>A trace needs JavaScript; it uses no network.</noscript>
      <script type="application/json" id="data">
      """
    let tail = "</script>\n<script type=\"module\">\n\(program)\n</script>\n</body>\n</html>\n"
    return Array(head.utf8) + Array(TraceData.json(recorder, verdict, runs).utf8) + Array(tail.utf8)
  }

  /// The content security policy: the page loads nothing, and text cannot be turned into markup.
  private static let policy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    + "require-trusted-types-for 'script'; trusted-types 'none'"

  private static func text(_ name: String) -> String {
    PageFile.all["/\(name)"].map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
  }

  /// trace.js and the modules that it imports, combined into one script. Each module becomes a function that returns
  /// its exports.
  static let program: String = {
    var parts: [String] = []
    var done: Set<String> = []
    add("trace.js", to: &parts, &done)
    return parts.joined(separator: "\n")
  }()

  private static func add(_ name: String, to parts: inout [String], _ done: inout Set<String>) {
    guard done.insert(name).inserted else { return }
    var lines: [Substring] = []
    var exported: [Substring] = []
    for line in text(name).split(separator: "\n", omittingEmptySubsequences: false) {
      if let (names, file) = Self.importing(line) {
        add(file, to: &parts, &done)
        lines.append("const \(names) = \(variable(file));")
      } else if line.hasPrefix("export ") {
        let declaration = line.dropFirst("export ".count)
        exported.append(Self.name(declaredBy: declaration))
        lines.append(declaration)
      } else {
        lines.append(line)
      }
    }
    parts.append(
      "const \(variable(name)) = (() => {\n\(lines.joined(separator: "\n"))return { \(exported.joined(separator: ", ")) };\n})();"
    )
  }

  /// Returns the imported names and the file from a line such as `import { a } from "./b.js";`, or nil if the line
  /// imports nothing.
  private static func importing(_ line: Substring) -> (names: Substring, file: String)? {
    guard line.hasPrefix("import {"), line.hasSuffix(".js\";"), let open = line.firstIndex(of: "{"),
      let close = line.firstIndex(of: "}"), let slash = line.lastIndex(of: "/")
    else { return nil }
    return (line[open...close], String(line[line.index(after: slash)...].dropLast(2)))
  }

  /// Returns the name that a line declares, such as "save" for `async function save(name) {`.
  private static func name(declaredBy line: Substring) -> Substring {
    let words = line.split(separator: " ").drop { ["async", "function", "class", "const", "let"].contains($0) }
    return words.first?.prefix { $0.isLetter || $0.isNumber || $0 == "_" } ?? ""
  }

  private static func variable(_ name: some StringProtocol) -> String {
    "module_\(name.prefix { $0 != "." })"
  }
}

/// The contents of a trace as JSON, for the page's module trace.js.
///
/// A packet is a list of these elements: the time in microseconds, the cable, the sender (0 accessory, 1 device), the
/// event, a text, the bytes in base64, how many bytes were cut off, and an object with properties that few packets
/// have, such as messages and fields.
struct TraceData {
  /// If the packets exceed the limit, long packets are cut to this length.
  private static let shortest = 64

  private let recorder: TraceRecorder
  private var cutCount = 0
  private var droppedCount = 0

  private init(_ recorder: TraceRecorder) { self.recorder = recorder }

  /// Returns the whole JSON object, which contains `runs` or, if there are none, the run of `recorder`. The character
  /// `<` is escaped, so that no text can close the HTML element that contains the object.
  static func json(_ recorder: TraceRecorder, _ verdict: TraceVerdict, _ runs: [TracedRun]) -> String {
    var object: JSONObject = [
      "easim": "trace", "version": 1, "program": recorder.program, "command": recorder.command, "verdict": verdict.word,
      "text": verdict.text,
    ]
    if runs.isEmpty {
      var data = TraceData(recorder)
      object.add(data.object())
    } else {
      let parts = runs.map { run in
        var data = TraceData(run.recorder)
        var part: JSONObject = [
          "group": run.group, "name": run.name, "verdict": run.verdict.word, "text": run.verdict.text,
        ]
        part.add(data.object())
        return part.text
      }
      object.add("runs", Self.lines(parts))
    }
    return object.text.replacing("<", with: "\\u003c")
  }

  /// Formats a list with one element per line.
  private static func lines(_ elements: [String]) -> RawJSON { RawJSON("[\(elements.joined(separator: ",\n"))]") }

  private mutating func object() -> JSONObject {
    let all = recorder.log.packets(after: 0, atMost: .max)
    let packets = fitting(all)
    var names: [Int: String] = [:]
    for packet in all { names[packet.cable] = packet.accessory }
    var cables = JSONObject()
    for (number, name) in names.sorted(by: { $0.key < $1.key }) { cables.add("\(number)", name) }
    return [
      "time": recorder.time, "left": left, "gone": recorder.lostEvents, "faults": recorder.faults,
      "events": Self.lines(recorder.allEvents), "cables": cables, "first": droppedCount + 1,
      "packets": Self.lines(packets),
    ]
  }

  /// Returns the newest packets that fit within the limit.
  private mutating func fitting(_ all: [LoggedPacket]) -> [String] {
    let gone = recorder.log.firstNumber - 1
    var lines = all.map { Self.line($0, atMost: .max) }
    var size = lines.reduce(0) { $0 + $1.utf8.count }
    if size > recorder.limit {
      // The oldest packets are cut first, because the end of a run is usually the most interesting part.
      for (index, packet) in all.enumerated() where size > recorder.limit && packet.bytes.count > Self.shortest {
        guard packet.messages.isEmpty else { continue }
        let short = Self.line(packet, atMost: Self.shortest)
        size -= lines[index].utf8.count - short.utf8.count
        lines[index] = short
        cutCount += 1
      }
    }
    var first = 0
    while size > recorder.limit, first < lines.count {
      size -= lines[first].utf8.count
      first += 1
    }
    droppedCount = gone + first
    return Array(lines[first...])
  }

  /// A sentence that says what is missing from the file, or an empty string if nothing is missing.
  private var left: String {
    var parts: [String] = []
    if droppedCount > 0 { parts.append("the \(droppedCount.counted("oldest packet", "oldest packets"))") }
    if cutCount > 0 { parts.append("all but the first \(Self.shortest) bytes of \(cutCount.counted("packet"))") }
    if recorder.lostEvents > 0 { parts.append(recorder.lostEvents.counted("older event")) }
    guard !parts.isEmpty else { return "" }
    let sizes = recorder.limit < 1_000_000 ? "\(recorder.limit / 1_000) kB" : "\(recorder.limit / 1_000_000) MB"
    return "Omitted to keep this file below \(sizes): \(parts.joined(separator: ", and "))."
  }

  private static func line(_ packet: LoggedPacket, atMost count: Int) -> String {
    let event = LoggedPacket.Event.allCases.firstIndex(of: packet.event) ?? 0
    let bytes = packet.bytes.count > count ? Array(packet.bytes.prefix(count)) : packet.bytes
    var parts = [
      "\(packet.time.nanoseconds / 1_000)", "\(packet.cable)", packet.from == .accessory ? "0" : "1", "\(event)",
      JSONObject.quoted(packet.text), "\"\(Base64.text(bytes))\"", "\(packet.bytes.count - bytes.count)",
    ]
    if let more = more(packet) { parts.append(more) }
    return "[\(parts.joined(separator: ","))]"
  }

  private static func more(_ packet: LoggedPacket) -> String? {
    var more: JSONObject = [
      "repeated": packet.isRepeated ? true : nil, "channel": packet.channel, "fault": packet.fault,
      "externalSession": packet.externalSession,
      "messages": packet.messages.isEmpty ? nil : packet.messages.map { "\($0)" },
    ]
    // The page itself derives the fields of data packets, and of acknowledgements without a payload.
    if let header = packet.header, header.payloadCount > 0, packet.externalSession == nil {
      more.add("fields", JSON5Value.array(PacketFields.of(packet)))
    }
    return more == [:] ? nil : more.text
  }
}
