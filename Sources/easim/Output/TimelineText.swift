import AccessoryCore
import AccessorySessions
import IAP2

/// Formats events as lines for users. Each line has columns for the time, the role, a mark and the text.
enum TimelineText {
  static func line(_ event: TimelineEvent, colors: Bool) -> String {
    let (mark, text, style) = content(event)
    let time = event.time.shortSeconds.rightAligned(in: 8)
    // Only a result, such as a scenario's error, may have several lines. Elsewhere, a line break comes from a name.
    var lines = [text[...]]
    if case .result = event.kind { lines = text.split(separator: "\n", omittingEmptySubsequences: false) }
    let body = "\(mark) \(lines.map(\.printable).joined(separator: "\n"))"
    return "\(time)  \(event.side.rawValue.padded(to: 9))  \(colors ? "\(style)\(body)\u{1B}[0m" : body)"
  }

  /// How many characters of a message to show. `--json` and `--transcript` always show the whole message.
  private static let messageLimit = 100

  private static func content(_ event: TimelineEvent) -> (mark: String, text: String, style: String) {
    let name = event.subject?.name ?? ""
    let protocols = event.subject?.protocols ?? []
    let offer = protocols.isEmpty ? "no protocols" : protocols.joined(separator: ", ")
    let id = event.subject?.connectionID.map { "  connectionID \($0)" } ?? ""
    switch event.kind {
    // USB and Bluetooth accessories reveal their protocols only when they identify themselves.
    case .attach(let place)
    where event.side == .accessory && !name.isEmpty && protocols.isEmpty && [.usb, .bt].contains(address(place)?.kind):
      return ("+", "plugged in at \(shown(place)): \(name)", Style.plain)
    case .attach(let place):
      return event.side == .accessory && event.subject != nil
        ? ("+", "plugged in at \(shown(place)), offering \(offer)", Style.plain)
        : ("+", "cable at \(shown(place))", Style.quiet)
    case .detach(let reason):
      let text = reason == "unplugged" ? reason : "unplugged: \(reason)"
      return ("-", text, event.side == .accessory ? Style.plain : Style.quiet)
    case .link(let isUp, let text):
      return (" ", isUp ? (text == "up" ? "link up" : "link up: \(text)") : "link down: \(text)", Style.quiet)
    case .message(let passed):
      let arrow = passed.direction == .sent ? "→" : "←"
      return (arrow, MessageText.line(passed.message, atMost: messageLimit), Style.quiet)
    case .identification(let text): return (" ", "identification: \(text)", Style.quiet)
    case .authentication(let step): return (" ", "authentication: \(step)", Style.quiet)
    case .connect: return ("●", "connect     \(name)  [\(offer)]\(id)", Style.strong)
    case .disconnect: return ("○", "disconnect  \(name)  [\(offer)]\(id)", Style.strong)
    case .sessionOpen(let number, let name): return (" ", "session \(number) open on \(name)", Style.plain)
    case .sessionClose(let number, _, let reason, let read, let written):
      return (" ", "session \(number) ended: \(reason) (\(read) bytes read, \(written) written)", Style.plain)
    case .alert(let text): return ("!", "alert: \(text)", Style.strong)
    case .fault(let text): return ("!", "fault: \(text)", Style.bad)
    case .warning(let text): return ("!", text, Style.bad)
    case .refused(let refusal): return ("✗", "refused: \(refusal.sentence)", Style.bad)
    case .note(let text): return (" ", text, Style.plain)
    case .result(let passed, let text): return (passed ? "✓" : "✗", text, passed ? Style.good : Style.bad)
    }
  }

  /// Formats the place where an event occurred. An address is quoted for the shell; a description such as "a cable in
  /// memory" is not.
  private static func shown(_ place: String) -> String {
    address(place) == nil ? place : place.shellWord
  }

  private static func address(_ place: String) -> Address? { try? Address(parsing: place) }
}

extension Instant {
  /// The duration in seconds with three decimal places, such as "0.250 s".
  var shortSeconds: String { String(secondsText.dropLast(3)) }
}

/// Colors the verdicts in lines: the first word or symbol of a line, and counts such as "2 failed".
enum JudgedText {
  private static let styles = [
    ("passed", Style.good), ("✓", Style.good), ("failed", Style.bad), ("✗", Style.bad), ("skipped", Style.doubtful),
    ("!", Style.doubtful), ("warning", Style.doubtful), ("empty", Style.doubtful),
  ]
  private static let counted = ["passed": Style.good, "failed": Style.bad, "skipped": Style.doubtful]

  static func colored(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let indent = line.prefix { $0 == " " }
      let rest = line.dropFirst(indent.count)
      for (word, style) in styles where rest.hasPrefix(word) {
        let after = rest.dropFirst(word.count)
        if after.first?.isLetter ?? false { continue }
        return "\(indent)\(style)\(word)\u{1B}[0m\(after)"
      }
      return counts(line)
    }.joined(separator: "\n")
  }

  /// Colors counts such as "61 passed, 2 failed". Each number except 0 gets the color of its word.
  private static func counts(_ line: Substring) -> String {
    var words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    for (index, word) in words.enumerated().dropFirst() {
      let bare = word.prefix { $0.isLetter }
      let number = words[index - 1]
      guard let style = counted[String(bare)], number != "0", !number.isEmpty,
        number == "all" || number.allSatisfy({ $0.isNumber || $0 == "," })
      else { continue }
      words[index - 1] = style + number
      words[index] = "\(bare)\u{1B}[0m\(word.dropFirst(bare.count))"
    }
    return words.joined(separator: " ")
  }
}

private enum Style {
  static let plain = ""
  static let good = "\u{1B}[32m"
  static let bad = "\u{1B}[31m"
  static let doubtful = "\u{1B}[33m"
  static let strong = "\u{1B}[1m"
  static let quiet = "\u{1B}[2m"
}

enum TextTable {
  /// Returns one line per row. Each column is as wide as its widest word.
  static func lines(_ rows: [[String]]) -> [String] {
    let rows = rows.map { $0.map(\.printable) }
    var widths = [Int](repeating: 0, count: rows.map(\.count).max() ?? 0)
    for row in rows {
      for (column, word) in row.enumerated() { widths[column] = max(widths[column], width(of: word)) }
    }
    return rows.map { row in
      var line = ""
      for (column, word) in row.enumerated() {
        line += "  " + word
        if column < row.count - 1 { line += String(repeating: " ", count: widths[column] - width(of: word)) }
      }
      return line
    }
  }

  /// Returns the width of a word in terminal columns. Most Chinese and Japanese characters take up two columns.
  static func width(of word: String) -> Int {
    word.unicodeScalars.reduce(0) { width, scalar in
      switch scalar.value {
      case 0x300...0x36F, 0x200B...0x200F, 0xFE00...0xFE0F: width
      case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0x1F300...0x1FAFF, 0x20000...0x3FFFD:
        width + 2
      default: width + 1
      }
    }
  }
}
