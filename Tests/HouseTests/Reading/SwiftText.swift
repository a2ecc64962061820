/// Swift source with its comments and string literals told apart from its code, so that a check of the code does not
/// trip over a sentence about it. What is interpolated into a literal is code.
struct SwiftText {
  private enum Kind {
    case code
    case comment
    case literal
  }

  private let bytes: [UInt8]
  private var kinds: [Kind]

  init(_ text: String) {
    bytes = Array(text.utf8)
    kinds = Array(repeating: .code, count: bytes.count)
    _ = scanCode(from: 0, isInterpolated: false)
  }

  /// The code alone, the rest blanked; lines keep their numbers.
  var code: String { keeping { $0 == .code } }

  /// Code and literals, comments blanked.
  var withoutComments: String { keeping { $0 != .comment } }

  private func keeping(_ isKept: (Kind) -> Bool) -> String {
    var kept = bytes
    for index in 0..<kept.count where !isKept(kinds[index]) && kept[index] != UInt8(ascii: "\n") { kept[index] = 32 }
    return String(decoding: kept, as: UTF8.self)
  }

  private func has(_ text: StaticString, at index: Int) -> Bool {
    let count = text.utf8CodeUnitCount
    guard index + count <= bytes.count else { return false }
    return text.withUTF8Buffer { $0.elementsEqual(bytes[index..<index + count]) }
  }

  private mutating func mark(_ range: Range<Int>, _ kind: Kind) {
    for index in range where index < kinds.count { kinds[index] = kind }
  }

  /// Scans to the end, or to the parenthesis that closes an interpolation; returns the index behind it.
  private mutating func scanCode(from start: Int, isInterpolated: Bool) -> Int {
    var (index, depth) = (start, 1)
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "/") where has("//", at: index):
        index = scanLineComment(from: index)
        continue
      case UInt8(ascii: "/") where has("/*", at: index):
        index = scanBlockComment(from: index)
        continue
      case UInt8(ascii: "\""), UInt8(ascii: "#"):
        if let hashes = literalStart(at: index) {
          index = scanLiteral(from: index, hashes: hashes)
          continue
        }
      case UInt8(ascii: "(") where isInterpolated: depth += 1
      case UInt8(ascii: ")") where isInterpolated: depth -= 1
      default: break
      }
      index += 1
      if depth == 0 { return index }
    }
    return index
  }

  private mutating func scanLineComment(from start: Int) -> Int {
    var end = start
    while end < bytes.count, bytes[end] != UInt8(ascii: "\n") { end += 1 }
    mark(start..<end, .comment)
    return end
  }

  private mutating func scanBlockComment(from start: Int) -> Int {
    var (index, depth) = (start, 0)
    repeat {
      if has("/*", at: index) {
        (index, depth) = (index + 2, depth + 1)
      } else if has("*/", at: index) {
        (index, depth) = (index + 2, depth - 1)
      } else {
        index += 1
      }
    } while depth > 0 && index < bytes.count
    mark(start..<index, .comment)
    return index
  }

  /// The number of `#` before the quotation mark, when a literal begins here.
  private func literalStart(at index: Int) -> Int? {
    var end = index
    while end < bytes.count, bytes[end] == UInt8(ascii: "#") { end += 1 }
    return end < bytes.count && bytes[end] == UInt8(ascii: "\"") ? end - index : nil
  }

  private mutating func scanLiteral(from start: Int, hashes: Int) -> Int {
    var index = start + hashes
    let isLong = has("\"\"\"", at: index)
    let quotes = isLong ? 3 : 1
    index += quotes
    mark(start..<index, .literal)
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\n"), !isLong { return index }
      if bytes[index] == UInt8(ascii: "\\"), hasHashes(hashes, at: index + 1) {
        let escaped = index + 1 + hashes
        if has("(", at: escaped) {
          mark(index..<escaped, .literal)
          index = scanCode(from: escaped + 1, isInterpolated: true)
        } else {
          mark(index..<escaped + 1, .literal)
          index = escaped + 1
        }
      } else if isLong ? has("\"\"\"", at: index) : has("\"", at: index), hasHashes(hashes, at: index + quotes) {
        mark(index..<index + quotes + hashes, .literal)
        return index + quotes + hashes
      } else {
        mark(index..<index + 1, .literal)
        index += 1
      }
    }
    return index
  }

  private func hasHashes(_ count: Int, at index: Int) -> Bool {
    index + count <= bytes.count && bytes[index..<index + count].allSatisfy { $0 == UInt8(ascii: "#") }
  }
}
