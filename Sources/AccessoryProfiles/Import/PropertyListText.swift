import AccessoryCore

/// Texts and lists as Foundation's `description` writes them: the old property list format, in ASCII.
enum PropertyListText {
  /// A list with its elements on lines of their own, four spaces in; an element is quoted as soon as it holds more
  /// than letters and digits, which every protocol's name does.
  static func array(_ elements: [String]) -> String {
    let lines = elements.map { "    \(element($0))" }.joined(separator: ",\n")
    return elements.isEmpty ? "(\n)" : "(\n\(lines)\n)"
  }

  private static func element(_ text: String) -> String {
    let isPlain = !text.isEmpty && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    return isPlain ? text : "\"\(escaped(text))\""
  }

  private static func escaped(_ text: String) -> String {
    text.utf16.map { unit in
      switch unit {
      case 0x22: return "\\\""
      case 0x5C: return "\\\\"
      case 0x0A: return "\\n"
      case 0x20...0x7E: return String(UnicodeScalar(UInt8(unit)))
      default:
        return "\\U" + Hex.number(unit, uppercase: false)
      }
    }.joined()
  }

  /// Resolves the escapes; any other backslash stays, since a name may have one that was not escaped.
  static func unescaped(_ text: some StringProtocol) -> String {
    var units: [UInt16] = []
    var rest = Array(text.utf16)[...]
    while let unit = rest.popFirst() {
      if unit == 0x5C, let (value, length) = escape(rest) {
        units.append(value)
        rest = rest.dropFirst(length)
      } else {
        units.append(unit)
      }
    }
    return String(decoding: units, as: UTF16.self)
  }

  /// The character of the escape whose backslash is before `rest`, and how much of `rest` it takes.
  private static func escape(_ rest: ArraySlice<UInt16>) -> (value: UInt16, length: Int)? {
    switch rest.first {
    case 0x22: return (0x22, 1)
    case 0x5C: return (0x5C, 1)
    case 0x6E: return (0x0A, 1)
    case 0x55:
      let digits = String(decoding: rest.dropFirst().prefix(4), as: UTF16.self)
      guard digits.count == 4, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
      return UInt16(digits, radix: 16).map { ($0, 5) }
    default: return nil
    }
  }
}
