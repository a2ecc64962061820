// Makes untrusted text, such as an accessory's name, safe to print in a terminal. The result is on one line, has no
// control sequences, and does not change the text direction. Apps and JSON output receive the original text.

extension StringProtocol {
  /// The text with each unprintable character replaced by U+FFFD. See ``Unicode/Scalar/isUnprintable``.
  ///
  /// ```swift
  /// "Glasses\u{1B}[2J".printable   // "Glasses\u{FFFD}[2J"
  /// ```
  package var printable: String { printable(keeping: []) }

  /// Returns the text with each unprintable character replaced, except the characters in `kept`.
  package func printable(keeping kept: [Unicode.Scalar]) -> String {
    replacingControls { kept.contains($0) ? String($0) : "\u{FFFD}" }
  }

  /// The text with each unprintable character escaped, so that users can see which character it is.
  ///
  /// ```swift
  /// "Glasses\u{1B}[2J".spelledOut   // #"Glasses\u{1b}[2J"#
  /// ```
  package var spelledOut: String { spelledOut(keeping: []) }

  /// Returns the text with each unprintable character escaped, except the characters in `kept`.
  package func spelledOut(keeping kept: [Unicode.Scalar]) -> String {
    replacingControls { kept.contains($0) ? String($0) : "\\u{\(String($0.value, radix: 16))}" }
  }

  private func replacingControls(_ replacement: (Unicode.Scalar) -> String) -> String {
    var result = ""
    var before: Unicode.Scalar?
    for scalar in unicodeScalars {
      if scalar.isUnprintable, !(scalar.isJoiner && before?.takesJoiner == true) {
        result += replacement(scalar)
      } else {
        result.unicodeScalars.append(scalar)
      }
      before = scalar
    }
    return result
  }
}

extension Unicode.Scalar {
  /// Whether the character is a zero-width joiner or non-joiner. Several scripts and many emoji need these characters.
  fileprivate var isJoiner: Bool { value == 0x200C || value == 0x200D }

  /// Whether a joiner may follow this character. After a Latin letter, for example, a joiner would be invisible.
  fileprivate var takesJoiner: Bool {
    properties.isEmoji && value > 0x7F || properties.isVariationSelector || properties.isEmojiModifier
      || properties.isAlphabetic && value >= 0x0600 || properties.generalCategory == .nonspacingMark
  }
}

/// Shortens quoted text in messages so that a long file or argument cannot fill the screen.
public enum Excerpt {
  /// The maximum number of characters to show.
  public static let longest = 40

  /// Returns the text on one line, cut off after 40 characters.
  public static func of(_ text: some StringProtocol) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(longest) {
      switch scalar {
      case "\n": shown += "\\n"
      case "\r": shown += "\\r"
      case "\t": shown += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F: shown += "\\x" + Hex.number(scalar.value, digits: 2)
      case _ where scalar.isUnprintable: shown += String(scalar).spelledOut
      default: shown.unicodeScalars.append(scalar)
      }
    }
    return text.unicodeScalars.count > longest ? shown + "…" : shown
  }

  /// The maximum length of a line in a message.
  public static let longestLine = 1_000

  /// Returns the message with the middle removed from each line that has more than 1,000 characters. The beginning of a
  /// long line states the problem, and the end says how to fix it. The middle usually quotes long text.
  public static func ofLines(_ message: String) -> String {
    guard message.utf8.count > longestLine else { return message }
    let lines = message.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let scalars = line.unicodeScalars
      guard scalars.count > longestLine else { return String(line) }
      return String(scalars.prefix(longestLine * 2 / 3)) + " … " + String(scalars.suffix(longestLine / 3))
    }
    return lines.joined(separator: "\n")
  }
}

package enum ShownBytes {
  package static let most = 32

  /// Returns the first few bytes, either as text or, if they are not valid UTF-8, in hex.
  ///
  /// ```swift
  /// ShownBytes.of(Array("OK\r\n".utf8))     // "'OK\\r\\n'"
  /// ShownBytes.of([0xFF, 0x5A])             // "hex ff 5a"
  /// ```
  package static func of(_ bytes: some Collection<UInt8>) -> String {
    let start = Array(bytes.prefix(most))
    let more = bytes.count > most ? " …" : ""
    if let text = String(validating: start, as: UTF8.self), !text.isEmpty { return "'\(Excerpt.of(text))'\(more)" }
    return start.isEmpty ? "empty" : "hex \(Hex.spaced(start))\(more)"
  }

  /// Describes the first byte that differs from the expected bytes, or returns nil if all bytes are equal. The
  /// description can be inserted into a sentence.
  ///
  /// ```swift
  /// ShownBytes.difference(of: Array("VERSON?".utf8), from: Array("VERSION?".utf8))
  ///                                         // "byte 4 is 4f ('O') and not 49 ('I')"
  /// ```
  package static func difference(of found: some Collection<UInt8>, from wanted: some Collection<UInt8>) -> String? {
    let same = zip(found, wanted).prefix { $0 == $1 }.count
    switch (found.dropFirst(same).first, wanted.dropFirst(same).first) {
    case (nil, nil): return nil
    case (let byte?, let other?): return "byte \(same) is \(one(byte)), not \(one(other))"
    case (nil, _): return "the bytes end after \(same)"
    case (_, nil): return "more follows after byte \(same - 1)"
    }
  }

  private static func one(_ byte: UInt8) -> String {
    let digits = Hex.spaced([byte])
    return (0x20..<0x7F).contains(byte) ? "\(digits) ('\(Character(Unicode.Scalar(byte)))')" : digits
  }
}

package enum MarkupText {
  /// Escapes markup and replaces characters that are invalid in XML or invisible on a page.
  package static func escaped(_ text: some StringProtocol) -> String {
    var out = ""
    for scalar in text.printable(keeping: ["\t", "\n", "\r"]).unicodeScalars {
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\"": out += "&quot;"
      case "'": out += "&#39;"
      case "\u{FFFE}", "\u{FFFF}": out += "\u{FFFD}"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }
}

// Users paste printed commands into shells, so each untrusted path or name in them must remain a single literal word.

extension StringProtocol {
  /// The text as one shell word. The word is quoted only if it contains characters that are special to the shell.
  ///
  /// Control characters and characters that change the text direction are written as escapes in `$'…'`, which bash, zsh
  /// and ksh support. As a result, the word stays on one line, and users see it as the shell reads it. All other text
  /// is put in plain quotes, which every shell supports.
  ///
  /// ```swift
  /// "/tmp/local".shellWord         // /tmp/local
  /// "/tmp/$(reboot)".shellWord     // '/tmp/$(reboot)'
  /// "it's".shellWord               // 'it'\''s'
  /// "two\nlines".shellWord         // $'two\nlines'
  /// ```
  package var shellWord: String {
    if unicodeScalars.contains(where: \.isUnprintable) { return escapedShellWord }
    // zsh expands a word that begins with '=' to the path of a command.
    if !isEmpty, !hasPrefix("="), unicodeScalars.allSatisfy(\.isPlainInShells) { return String(self) }
    return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }

  private var escapedShellWord: String {
    var word = "$'"
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": word += #"\n"#
      case "\t": word += #"\t"#
      case "'", "\\": word += "\\\(scalar)"
      // Bytes are written as three octal digits, so a digit that follows cannot become part of the escape.
      case _ where scalar.isUnprintable:
        for byte in String(scalar).utf8 {
          word += "\\" + String(byte, radix: 8).zeroPadded(to: 3)
        }
      default: word.unicodeScalars.append(scalar)
      }
    }
    return word + "'"
  }
}

extension Unicode.Scalar {
  fileprivate var isPlainInShells: Bool {
    switch self {
    case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ".", "/", ":", ",", "=", "@", "%", "+": true
    default: !isASCII && properties.isAlphabetic
    }
  }
}

extension Int {
  /// Returns a count with its noun in the singular or plural.
  ///
  /// ```swift
  /// 1.counted("byte")                            // "1 byte"
  /// 3.counted("accessory", "accessories")        // "3 accessories"
  /// ```
  package func counted(_ one: String, _ several: String? = nil) -> String {
    "\(self) \(self == 1 ? one : several ?? one + "s")"
  }

  /// The number with separators: "1,234,567".
  package var groupedDigits: String {
    var digits = String(magnitude)
    var parts: [String] = []
    while digits.count > 3 {
      parts.insert(String(digits.suffix(3)), at: 0)
      digits = String(digits.dropLast(3))
    }
    return (self < 0 ? "-" : "") + ([digits] + parts).joined(separator: ",")
  }
}
