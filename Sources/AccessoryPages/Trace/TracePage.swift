import AccessoryFormats

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
