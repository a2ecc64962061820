import AccessoryFormats

/// Redacts bytes that appear as hex in text, such as data, damaged packets, and parts of messages.
enum HexInText {
  /// Redacts the text in place, without changing its length.
  static func rewrite(_ text: inout [UInt8], _ names: inout SecretNames) {
    var start = 0
    while let run = nextRun(in: text, from: start) {
      start = run.upperBound
      guard let use = use(before: text[..<run.lowerBound], names) else { continue }
      var bytes = stride(from: run.lowerBound, to: run.upperBound, by: 3).map { byte(text, $0) ?? 0 }
      switch use {
      case .damaged: bytes = bytes.map { [0x00, 0x55, 0x5A, 0xFF].contains($0) ? $0 : UInt8(ascii: "x") }
      case .blank: bytes = bytes.map { _ in UInt8(ascii: "x") }
      case .data:
        _ = names.replace(in: &bytes, isText: false)
        if text[run.upperBound...].starts(with: " …".utf8) { names.replaceTail(of: &bytes) }
      }
      for (index, byte) in bytes.enumerated() {
        let place = run.lowerBound + 3 * index
        text.replaceSubrange(place..<place + 2, with: Hex.plain([byte]).utf8)
      }
    }
    _ = names.replace(in: &text, isText: true)
  }

  private enum Use {
    case damaged
    case blank
    case data
  }

  /// Returns the kind of bytes that follow `before`, or nil if the digits that follow are not bytes.
  private static func use(before: ArraySlice<UInt8>, _ names: SecretNames) -> Use? {
    let text = String(decoding: before.suffix(200), as: UTF8.self)
    if text.hasSuffix("to no packet: ") { return .damaged }
    if text.hasSuffix("IAP1 ") { return .blank }
    guard let unit = ["bytes ", "byte "].first(where: text.hasSuffix) else { return nil }
    let before = text.dropLast(unit.count + 1)
    let phrase = String(before.reversed().drop { $0.isNumber }.reversed())
    guard phrase.count < before.count else { return nil }
    if phrase.hasSuffix("part of a message: ") || phrase.hasSuffix("no message: ") { return .blank }
    return names.kept.contains(.payload) ? .data : .blank
  }

  /// Returns the next run of hex bytes that are separated by blanks.
  private static func nextRun(in text: [UInt8], from start: Int) -> Range<Int>? {
    var place = start
    while place + 1 < text.count {
      guard byte(text, place) != nil, place == 0 || text[place - 1] == UInt8(ascii: " ") else {
        place += 1
        continue
      }
      var end = place + 2
      while end + 2 < text.count, text[end] == UInt8(ascii: " "), byte(text, end + 1) != nil { end += 3 }
      if end < text.count, text[end] != UInt8(ascii: " ") {
        // What looked like the last pair of digits was the start of a longer word.
        if ![UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\"")].contains(text[end]) { end -= 3 }
      }
      if end > place { return place..<end }
      place += 2
    }
    return nil
  }

  private static func byte(_ text: [UInt8], _ place: Int) -> UInt8? {
    guard place + 1 < text.count, let high = Hex.digit(text[place]), let low = Hex.digit(text[place + 1]) else {
      return nil
    }
    return high << 4 | low
  }
}
