import AccessoryCore
import AccessoryFormats

/// The text of an answer, with values that are inserted when the answer is sent: `"SCAN ${next:scan:04}\r\n"`.
///
/// Everything outside `${…}` is sent as UTF-8, including a `$` in front of a placeholder. To send a literal `${`, write
/// `${hex:24}{`.
public struct ScriptTemplate: Equatable, Sendable {
  /// How a template was written.
  public enum Source: Equatable, Sendable {
    case text(String)
    case bytes([UInt8])
  }

  package enum NumberForm: Equatable, Sendable {
    case binary(width: Int, isLittle: Bool)
    /// A number that is written with at least this many digits.
    case digits(Int, radix: Int, isUppercase: Bool)

    fileprivate static let plain = Self.digits(0, radix: 10, isUppercase: false)

    /// The length of the number in bytes, or nil if it may have any number of digits.
    package var width: Int? {
      switch self {
      case .binary(let width, _): width
      case .digits(let count, _, _): count > 0 ? count : nil
      }
    }
  }

  package enum Part: Equatable, Sendable {
    case bytes([UInt8])
    case group(Int)
    case namedGroup(String)
    /// A counter. If `counts` is set, the counter is incremented before it is inserted.
    case counter(String, counts: Bool, NumberForm)
    case random(ClosedRange<Int>, NumberForm)
    /// The time of day in a strftime format.
    case time(String)
    case unixTime(NumberForm)
    case state
    /// The start of the bytes that lengths and checksums cover. Without this placeholder, lengths and checksums cover
    /// the bytes from the start of the answer.
    case begin
    /// The end of the bytes that lengths and checksums cover. Without this placeholder, a checksum covers the bytes up
    /// to its own position, and a length covers the bytes up to the end of the answer.
    case end
    case length(NumberForm)
    case checksum(FrameChecksum, NumberForm)
  }

  /// The template as originally written.
  public let source: Source
  package let parts: [Part]

  /// Parses a string. The error quotes the part that is invalid.
  public init(_ text: String) throws(OptionError) {
    source = .text(text)
    parts = try Self.parts(of: text)
  }

  /// Creates a template from bytes that are sent unchanged.
  public init(bytes: [UInt8]) { (source, parts) = (.bytes(bytes), [.bytes(bytes)]) }

  private static func parts(of text: String) throws(OptionError) -> [Part] {
    let bytes = Array(text.utf8)
    var parts: [Part] = []
    var plain: [UInt8] = []
    var place = 0
    while place < bytes.count {
      let rest = bytes[place...]
      if rest.starts(with: Array("${".utf8)) {
        guard let close = rest.firstIndex(of: UInt8(ascii: "}")) else {
          throw OptionError(
            "'\(Excerpt.of(String(decoding: rest, as: UTF8.self)))' has no }; a literal ${ is ${hex:24}{")
        }
        if !plain.isEmpty { parts.append(.bytes(plain)) }
        plain = []
        parts.append(try part(String(decoding: bytes[(place + 2)..<close], as: UTF8.self)))
        place = close + 1
      } else {
        plain.append(bytes[place])
        place += 1
      }
    }
    if !plain.isEmpty { parts.append(.bytes(plain)) }
    try check(parts)
    return parts
  }

  private static func check(_ parts: [Part]) throws(OptionError) {
    for (part, name) in [(Part.begin, "begin"), (.end, "end")] where parts.count(where: { $0 == part }) > 1 {
      throw OptionError("'${\(name)}' is there twice")
    }
    if let begin = parts.firstIndex(of: .begin), let end = parts.firstIndex(of: .end), end < begin {
      throw OptionError("'${end}' is before '${begin}'")
    }
  }

  // MARK: - The contents of ${…}

  private static let forms = [
    "next:NAME", "last:NAME", "random:LOW-HIGH", "time", "state", "begin", "end", "length", "checksum:NAME",
    "hex:BYTES",
  ]
  private static let words = forms.map { String($0.prefix { $0 != ":" }) }

  private static func part(_ text: String) throws(OptionError) -> Part {
    let shown = "'${\(Excerpt.of(text))}'"
    let pieces = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let rest = pieces.count > 1 ? pieces[1] : nil
    if let group = Int(text), String(group) == text, group >= 0 { return .group(group) }
    switch pieces[0] {
    case "begin" where rest == nil: return .begin
    case "end" where rest == nil: return .end
    case "state" where rest == nil: return .state
    case "time": return try time(rest)
    case "next", "last": return try counter(counts: pieces[0] == "next", rest, shown)
    case "random": return try random(rest, shown)
    case "length":
      guard let rest else {
        throw OptionError("\(shown) has no form, such as '${length:u16be}' or '${length:04}'")
      }
      return .length(try fixedForm(rest, shown))
    case "checksum": return try checksum(rest, shown)
    case "hex":
      do { return .bytes(try Hex.parse(rest ?? "")) } catch { throw OptionError("\(shown): \(error)") }
    default:
      let isName =
        rest == nil && !text.isEmpty && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
      // A later check of the whole script verifies that the rule's regex has a group with this name.
      if isName, !words.contains(text) { return .namedGroup(text) }
      throw OptionError("unknown \(shown)\(hint(for: pieces[0]))")
    }
  }

  static func hint(for word: String) -> String {
    if let near = Suggestion.nearest(to: word, in: words), let form = forms.first(where: { $0.hasPrefix(near) }) {
      return ", did you mean '${\(form)}'?"
    }
    return ": expected a group's number or name, or " + forms.map { "'${\($0)}'" }.joined(separator: ", ")
  }

  private static func time(_ format: String?) throws(OptionError) -> Part {
    guard let format else { return .time("%Y-%m-%dT%H:%M:%SZ") }
    if case .binary(let width, let isLittle)? = form(format) {
      return .unixTime(.binary(width: width, isLittle: isLittle))
    }
    var letters = format.unicodeScalars.makeIterator()
    while let letter = letters.next() {
      if letter != "%" { continue }
      guard let code = letters.next(), "YymdHMSLs%".unicodeScalars.contains(code) else {
        throw OptionError(
          "'${time:\(Excerpt.of(format))}': the format letters are %Y %y %m %d %H %M %S, %L (milliseconds) and %s "
            + "(Unix time)"
        )
      }
    }
    return .time(format)
  }

  private static func pieces(of rest: String?) -> [String] {
    (rest ?? "").split(separator: ":", omittingEmptySubsequences: false).map(String.init)
  }

  private static func counter(
    counts: Bool, _ rest: String?, _ shown: String
  ) throws(OptionError) -> Part {
    let pieces = pieces(of: rest)
    guard pieces.count <= 2, let name = pieces.first, !name.isEmpty else {
      throw OptionError("\(shown): a counter is written '${next:NAME}' or '${next:NAME:04}'")
    }
    return .counter(name, counts: counts, try pieces.count == 2 ? anyForm(pieces[1], shown) : .plain)
  }

  private static func random(_ rest: String?, _ shown: String) throws(OptionError) -> Part {
    let pieces = pieces(of: rest)
    let ends = (pieces.first ?? "").split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard (1...2).contains(pieces.count), ends.count == 2, let low = ends[0], let high = ends[1], low <= high else {
      throw OptionError("\(shown): a random number is written '${random:60-75}' or '${random:0-255:u8}'")
    }
    return .random(low...high, try pieces.count == 2 ? anyForm(pieces[1], shown) : .plain)
  }

  private static func checksum(_ rest: String?, _ shown: String) throws(OptionError) -> Part {
    let pieces = pieces(of: rest)
    let name = pieces.first ?? ""
    guard let checksum = FrameChecksum.named(name) else {
      throw OptionError(
        "\(shown): unknown checksum '\(name)'\(Suggestion.hint(for: name, in: FrameChecksum.all.map(\.name)))")
    }
    guard pieces.count <= 2 else { throw OptionError("\(shown) has too many parts") }
    return .checksum(
      checksum, try pieces.count == 2 ? fixedForm(pieces[1], shown) : .binary(width: checksum.width, isLittle: false))
  }

  private static func fixedForm(_ text: String, _ shown: String) throws(OptionError) -> NumberForm {
    let form = try anyForm(text, shown)
    if form.width == nil { throw OptionError("\(shown): specify the number of digits, such as 04 or 02X") }
    return form
  }

  private static func anyForm(_ text: String, _ shown: String) throws(OptionError) -> NumberForm {
    if let form = form(text) { return form }
    throw OptionError(
      "\(shown): a number's form is u8, u16be, u16le, u24be, u24le, u32be, u32le, or digits such as 04, 04x and 02X")
  }

  private static func form(_ text: String) -> NumberForm? {
    switch text {
    case "u8": return .binary(width: 1, isLittle: false)
    case "u16be", "u24be", "u32be", "u16le", "u24le", "u32le":
      let bits = Int(text.dropFirst().prefix(2)) ?? 8
      return .binary(width: bits / 8, isLittle: text.hasSuffix("le"))
    default:
      let (isHex, isUppercase) = (text.hasSuffix("x") || text.hasSuffix("X"), text.hasSuffix("X"))
      let digits = isHex ? text.dropLast() : text[...]
      guard digits.hasPrefix("0"), digits.utf8.count <= 3, let count = Int(digits), (1...16).contains(count) else {
        return nil
      }
      return .digits(count, radix: isHex ? 16 : 10, isUppercase: isUppercase)
    }
  }
}
