import AccessoryFormats
import AccessoryWorlds

extension Scenario {
  /// A Markdown page about the scenario: what happened, how to play the scenario, and how an app survives it.
  public var page: String {
    let client = naiveClient.map { "The client \($0) fails: it \(mistake(of: $0))." }
    return about.page(commands: commands, client: client)
  }

  private var commands: String {
    // A file may have any name, so the name may have to be quoted.
    let name = name.shellWord
    var played = [("easim scenario run \(name)", "a client that survives")]
    if naiveClient != nil {
      played.append(("easim scenario run \(name) --client naive", "a client that fails (exit code 1)"))
    }
    let address = "unix:/tmp/\(name)\(accessories.count > 1 ? "-{index}" : "").sock"
    let inRealTime = [
      ("easim run --scenario \(name) --on \(address)", "the accessory, in real time (\(DurationText.format(length)))"),
      ("easim scenario run \(name) --at \(address)", "the device and the app, in a second terminal"),
    ]
    return "```sh\n\(aligned(played))\n```\n\n```sh\n\(aligned(inRealTime))\n```"
  }

  private func aligned(_ lines: [(command: String, meaning: String)]) -> String {
    let width = lines.map(\.command.count).max() ?? 0
    return lines.map { "\($0.command.padded(to: width))   # \($0.meaning)" }.joined(separator: "\n")
  }

  private func mistake(of client: String) -> String {
    ScenarioClients.naive.first { $0.name == client }?.mistake ?? "makes a different mistake"
  }
}

extension Scenario.About {
  package func page(commands: String, client: String? = nil) -> String {
    var parts = ["# \(name)", "\(summary.prefix(1).uppercased())\(summary.dropFirst())."]
    let numbers = reproduces.map(FieldNumber.described)
    let earlier = numbers.dropLast().joined(separator: ", ")
    var facts = numbers.last.map { "Reproduces " + (earlier.isEmpty ? $0 : "\(earlier) and \($0)") + "." } ?? ""
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

enum TextWrap {
  /// Breaks `text` between words into lines of no more than `width` characters. A word that is longer than a line gets
  /// a line of its own.
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

/// Short descriptions of the numbered behaviors and failures in scenarios and docs/external-accessory.md.
enum FieldNumber {
  /// The descriptions, keyed by number. A test compares the numbers with those that shipped scenarios reproduce.
  static let words: [String: String] = [
    // F: variants of the flicker
    "F1": "the flicker", "F2": "a double connect", "F3": "a disconnect during the app's delay",
    "F4": "a missing connect",
    "F5": "a connect after thirty seconds", "F6": "background and foreground", "F8": "a stale accessory",
    "F9": "no reply to an early write", "F11": "the accessory closes the session",
    // W: failures reported from the field
    "W1": "no protocols before authentication", "W2": "notifications coalesced during suspension",
    "W3": "two connection IDs", "W4": "unregistered by a freed object", "W5": "a connect without a notification",
    "W6": "an early write is never answered", "W7": "bytes-available fires once", "W8": "nil sessions",
    "W9": "writes without space", "W10": "slow large writes", "W11": "slow after coming to the foreground",
    "W12": "unplugged while busy", "W13": "set-up too slow for the background",
    "W14": "endless retries",
    "W15": "ignored after fast replugging", "W16": "races during set-up", "W17": "bytes of an earlier session",
    "W18": "an unnoticed pulled cable", "W19": "the disconnect of another accessory",
    "W20": "another SDK takes the session", "W21": "an app killed with a session open",
    "W22": "busy after a cancelled request", "W23": "sessions that end in episodes",
    "W24": "wedged by opening sessions too quickly", "W25": "a phantom session", "W26": "a silent stall",
    "W27": "no data after the background", "W28": "a retry or timer from an earlier connect",
    "W29": "an event from freed streams", "W30": "only the first transaction works",
    "W31": "an unnoticed dead session", "W32": "a small buffer that overflows", "W33": "replies in pieces",
    "W34": "only the first settings are obeyed", "W35": "a radio shared with audio",
    // N, S, E, T: normal behavior of External Accessory (notifications, suspension, sessions, streams)
    "N3": "one registration count per process", "N8": "no connect at launch", "N15": "a transport switch",
    "S6": "ten seconds in the background", "E7": "no session at first", "T7": "short writes", "T20": "field throughput",
  ]

  static func described(_ number: String) -> String { words[number].map { "\(number) (\($0))" } ?? number }
}
