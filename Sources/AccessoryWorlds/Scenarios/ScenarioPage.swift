import AccessoryCore

extension Scenario {
  /// A page for people, in Markdown: what happened to whom, how to play it, how an app survives it.
  public var page: String {
    var parts = ["# \(name)", "\(summary.prefix(1).uppercased())\(summary.dropFirst())."]
    var facts = reproduces.isEmpty ? "" : "Reproduces \(reproduces.joined(separator: ", "))."
    if !source.isEmpty { facts += (facts.isEmpty ? "" : " ") + "Source: \(source)." }
    if !facts.isEmpty { parts.append(facts) }
    if !story.isEmpty { parts += ["## What happened", story] }
    parts += ["## How to play it", "```sh\n\(commands)\n```"]
    if !survival.isEmpty { parts += ["## How an app survives it", survival] }
    if let naiveClient { parts.append("The client that it breaks: \(naiveClient), which \(mistake(of: naiveClient)).") }
    return parts.map { $0.hasPrefix("```") || $0.hasPrefix("#") ? $0 : TextWrap.lines($0, width: 118) }
      .joined(separator: "\n\n")
  }

  /// How long it takes in real time.
  public var length: Duration { (steps.last?.at ?? .zero) + tail }

  private var commands: String {
    let address = "unix:/tmp/\(name)\(accessories.count > 1 ? "-{index}" : "").sock"
    var lines = [("easim scenario run \(name)", "an app that survives: exit code 0")]
    if naiveClient != nil { lines.append(("easim scenario run \(name) --client naive", "the app that it breaks: 1")) }
    lines += [
      ("easim run --scenario \(name) --on \(address)", "in real time (\(DurationText.format(length))), one process"),
      ("easim scenario run \(name) --at \(address)", "and the other"),
    ]
    let width = lines.map(\.0.count).max() ?? 0
    return lines.map { line, meaning in
      line + String(repeating: " ", count: width - line.count) + "   # " + meaning
    }.joined(separator: "\n")
  }

  private func mistake(of client: String) -> String {
    ScenarioClients.naive.first { $0.name == client }?.mistake ?? "is not known here"
  }
}

/// Text broken into lines.
enum TextWrap {
  /// `text` in lines of at most `width` characters, broken between words; a longer word has a line of its own.
  static func lines(_ text: String, width: Int) -> String {
    var lines: [String] = []
    for word in text.split(whereSeparator: \.isWhitespace) {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines.joined(separator: "\n")
  }
}
