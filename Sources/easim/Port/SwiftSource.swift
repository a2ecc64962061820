/// A Swift file as tokens, for edits that leave strings and comments alone.
///
/// It recognises nested comments, string literals of one and several lines, raw ones, and interpolation. It is not a
/// parser: to find a construct, search for its tokens.
struct SwiftSource {
  enum Kind: Equatable {
    case word
    case number
    /// A literal with its quotes and all that is interpolated in it.
    case string
    case punctuation
    case newline
  }

  struct Token: Equatable {
    let kind: Kind
    let text: String
    /// Where its bytes are in the file.
    let range: Range<Int>
  }

  let bytes: [UInt8]
  /// Words, literals and punctuation; newlines too, because statements end there. Spaces and comments are left out.
  private(set) var tokens: [Token] = []

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    var position = 0
    while position < bytes.count {
      let begin = position
      let kind = take(&position)
      if let kind {
        tokens.append(
          Token(kind: kind, text: String(decoding: bytes[begin..<position], as: UTF8.self), range: begin..<position))
      }
    }
  }

  /// Line and column, both from 1; columns count bytes, as compilers do.
  func place(of offset: Int) -> (line: Int, column: Int) {
    var (line, start) = (1, 0)
    for index in 0..<min(offset, bytes.count) where bytes[index] == UInt8(ascii: "\n") {
      (line, start) = (line + 1, index + 1)
    }
    return (line, offset - start + 1)
  }

  /// The index of the token that closes the bracket at `index`; nil where none does.
  func close(of index: Int) -> Int? {
    var depth = 0
    for next in index..<tokens.count where tokens[next].kind == .punctuation {
      switch tokens[next].text {
      case "(", "[", "{": depth += 1
      case ")", "]", "}":
        depth -= 1
        if depth == 0 { return next }
      default: break
      }
    }
    return nil
  }

  /// Whether the tokens from `index` on, newlines aside, read like this.
  func reads(_ words: [String], at index: Int) -> Bool { end(of: words, at: index) != nil }

  /// The index after these tokens, ignoring newlines.
  func end(of words: [String], at index: Int) -> Int? {
    var next = index
    for word in words {
      while next < tokens.count, tokens[next].kind == .newline { next += 1 }
      guard next < tokens.count, tokens[next].text == word else { return nil }
      next += 1
    }
    return next
  }

  /// The text between two offsets, as it is written.
  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  // MARK: - Cutting

  private func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }

  private func take(_ position: inout Int) -> Kind? {
    let first = bytes[position]
    switch first {
    case UInt8(ascii: "\n"):
      position += 1
      return .newline
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
      position += 1
      return nil
    case UInt8(ascii: "/") where byte(position + 1) == UInt8(ascii: "/"):
      while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
      return nil
    case UInt8(ascii: "/") where byte(position + 1) == UInt8(ascii: "*"):
      skipComment(&position)
      return nil
    case UInt8(ascii: "\""):
      takeString(&position, hashes: 0)
      return .string
    case UInt8(ascii: "#"):
      var hashes = 0
      while byte(position + hashes) == UInt8(ascii: "#") { hashes += 1 }
      if byte(position + hashes) == UInt8(ascii: "\"") {
        position += hashes
        takeString(&position, hashes: hashes)
        return .string
      }
      position += 1
      // "#if", "#selector" are one word each.
      takeWord(&position)
      return .punctuation
    case UInt8(ascii: "@"):
      position += 1
      takeWord(&position)
      return .punctuation
    case UInt8(ascii: "`"):
      position += 1
      takeWord(&position)
      if byte(position) == UInt8(ascii: "`") { position += 1 }
      return .word
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      position += 1
      while Self.isWord(byte(position)) || byte(position) == UInt8(ascii: ".") && Self.isDigit(byte(position + 1)) {
        position += 1
      }
      return .number
    default:
      if Self.isWord(first) {
        takeWord(&position)
        return .word
      }
      position += 1
      return .punctuation
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), 0x80...: true
    default: isDigit(byte)
    }
  }

  private func takeWord(_ position: inout Int) {
    while position < bytes.count, Self.isWord(bytes[position]) { position += 1 }
  }

  private func skipComment(_ position: inout Int) {
    var depth = 0
    while position < bytes.count {
      if bytes[position] == UInt8(ascii: "/"), byte(position + 1) == UInt8(ascii: "*") {
        (depth, position) = (depth + 1, position + 2)
      } else if bytes[position] == UInt8(ascii: "*"), byte(position + 1) == UInt8(ascii: "/") {
        (depth, position) = (depth - 1, position + 2)
        if depth == 0 { return }
      } else {
        position += 1
      }
    }
  }

  /// From the opening quote to after the closing one; an unfinished literal ends with its line, or the file.
  private func takeString(_ position: inout Int, hashes: Int) {
    let quote = UInt8(ascii: "\"")
    let isLong = byte(position + 1) == quote && byte(position + 2) == quote
    position += isLong ? 3 : 1
    while position < bytes.count {
      let next = bytes[position]
      if next == UInt8(ascii: "\\"), hasHashes(hashes, at: position + 1) {
        position += 1 + hashes
        if byte(position) == UInt8(ascii: "(") {
          skipInterpolation(&position)
        } else {
          position = min(position + 1, bytes.count)
        }
      } else if next == quote, !isLong || byte(position + 1) == quote && byte(position + 2) == quote,
        hasHashes(hashes, at: position + (isLong ? 3 : 1))
      {
        position += (isLong ? 3 : 1) + hashes
        return
      } else if next == UInt8(ascii: "\n"), !isLong {
        return
      } else {
        position += 1
      }
    }
  }

  private func hasHashes(_ count: Int, at index: Int) -> Bool {
    (0..<count).allSatisfy { byte(index + $0) == UInt8(ascii: "#") }
  }

  private func skipInterpolation(_ position: inout Int) {
    var depth = 0
    while position < bytes.count {
      let begin = position
      _ = take(&position)
      guard position == begin + 1 else { continue }
      if bytes[begin] == UInt8(ascii: "(") { depth += 1 }
      if bytes[begin] == UInt8(ascii: ")") {
        depth -= 1
        if depth == 0 { return }
      }
    }
  }
}
