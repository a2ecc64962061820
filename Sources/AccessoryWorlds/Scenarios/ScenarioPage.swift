import AccessoryFormats

extension Scenario {
  /// A page in Markdown: what happened, how to play it, how an app survives it.
  public var page: String {
    let client = naiveClient.map { "The client that breaks: \($0), which \(mistake(of: $0))." }
    return about.page(commands: commands, client: client)
  }

  /// Its duration in real time.
  public var length: Duration { (steps.last?.at ?? .zero) + tail }

  /// What to type: in virtual time, and in real time in two terminals.
  private var commands: String {
    // A file may have any name.
    let name = name.shellWord
    var played = [("easim scenario run \(name)", "a client that survives")]
    if naiveClient != nil {
      played.append(("easim scenario run \(name) --client naive", "exit code 1: a client that breaks"))
    }
    let address = "unix:/tmp/\(name)\(accessories.count > 1 ? "-{index}" : "").sock"
    let inRealTime = [
      ("easim run --scenario \(name) --on \(address)", "in real time (\(DurationText.format(length))): the accessory"),
      ("easim scenario run \(name) --at \(address)", "in a second terminal: the device with the app"),
    ]
    return "```sh\n\(aligned(played))\n```\n\n```sh skip=\"two terminals\"\n\(aligned(inRealTime))\n```"
  }

  private func aligned(_ lines: [(command: String, meaning: String)]) -> String {
    let width = lines.map(\.command.count).max() ?? 0
    return lines.map { line in
      line.command + String(repeating: " ", count: width - line.command.count) + "   # " + line.meaning
    }.joined(separator: "\n")
  }

  private func mistake(of client: String) -> String {
    ScenarioClients.naive.first { $0.name == client }?.mistake ?? "has a mistake of its own"
  }
}

extension Scenario.About {
  /// A page in Markdown: what happened, the commands that play it, how an app survives it, and the client that does not.
  package func page(commands: String, client: String? = nil) -> String {
    var parts = ["# \(name)", "\(summary.prefix(1).uppercased())\(summary.dropFirst())."]
    var facts = reproduces.isEmpty ? "" : "Reproduces \(reproduces.map(FieldNumber.described).joined(separator: ", "))."
    if !source.isEmpty { facts += (facts.isEmpty ? "" : " ") + "Source: \(source)." }
    if !facts.isEmpty { parts.append(facts) }
    if !story.isEmpty { parts += ["## What happened", story] }
    parts += ["## How to play it", commands]
    if !survival.isEmpty { parts += ["## How an app survives it", survival] }
    if let client { parts.append(client) }
    return parts.map { $0.hasPrefix("```") || $0.hasPrefix("#") ? $0 : TextWrap.lines($0, width: 118) }
      .joined(separator: "\n\n")
  }
}

/// Breaks text into lines.
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
