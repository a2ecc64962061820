import AccessoryCore
import AccessoryFormats
import IAP2

/// What is expected of a reply, as users write it: `echo`, `none`, `text:OK`, `hex:06`, `prefix:V`, `regex:V\d+`, `file:F`.
package enum ReplyWord: Equatable, Sendable {
  case none
  case echo
  case text(String)
  case hex([UInt8])
  case regex(BytePattern)
  case file(String)
  case prefix(String)

  /// The forms, for messages.
  package static let forms = "echo, none, text:…, hex:…, prefix:…, regex:… or file:…"

  /// Reads a word. Bare hex digits mean the same as with `hex:`. The error says what is wrong with it, after the word.
  package init(_ word: String, forms: String = ReplyWord.forms) throws(OptionError) {
    let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count == 2 ? String(parts[1]) : ""
    switch (parts.first ?? "", parts.count) {
    case ("none", 1): self = .none
    case ("echo", 1): self = .echo
    case ("", 1): throw OptionError("is empty: expected \(forms)")
    case ("text", 2) where !value.isEmpty: self = .text(value)
    case ("prefix", 2) where !value.isEmpty: self = .prefix(value)
    case ("regex", 2) where !value.isEmpty:
      do throws(BytePatternError) { self = .regex(try BytePattern(value)) } catch {
        throw OptionError("'\(Excerpt.of(word))': the regex is wrong \(error)")
      }
    case ("file", 2) where !value.isEmpty: self = .file(value)
    case ("text", 2), ("prefix", 2), ("regex", 2), ("file", 2):
      throw OptionError("'\(Excerpt.of(word))': nothing follows the colon; expected \(forms)")
    case ("hex", 2): self = .hex(try Self.hex(value, word, forms))
    default: self = .hex(try Self.hex(word, word, forms))
    }
  }

  private static func hex(_ digits: String, _ word: String, _ forms: String) throws(OptionError) -> [UInt8] {
    guard let bytes = try? Hex.parse(digits), !bytes.isEmpty else {
      throw OptionError("'\(Excerpt.of(word))': expected \(forms)")
    }
    return bytes
  }
}

/// How much of a reply is read, as users write it: a number of bytes, a duration, or `until:TEXT`.
package enum ReadingWord: Equatable, Sendable {
  case count(Int)
  case time(Duration)
  case until(String)

  /// Reads a word. The error says what is wrong with it, after the word.
  package init(_ word: String) throws(OptionError) {
    if word.hasPrefix("until:"), word.count > 6 {
      self = .until(String(word.dropFirst(6)))
    } else if let count = Int(word), (1...ReplyRule.longest).contains(count) {
      self = .count(count)
    } else if Int(word) == nil, let time = try? DurationText.parse(word) {
      self = .time(time)
    } else {
      throw OptionError(
        "'\(word)': expected a number of bytes from 1 to \(ReplyRule.longest), a time such as 500ms, or until:TEXT")
    }
  }
}
