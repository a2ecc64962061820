import AccessoryFormats
import IAP2

/// Finds secrets in control messages that are shown as text. Such text occurs in transcripts, in the output of `easim
/// decode`, in comments in captures, and in reports.
struct ShownMessages {
  private let text: [UInt8]
  private var place = 0

  private init(_ text: [UInt8]) { self.text = text }

  /// Adds the secrets in text such as `1D01 IdentificationInformation name="…"` or `0 name = "…"`.
  static func collect(_ text: [UInt8], into names: inout SecretNames) {
    for line in text.split(separator: UInt8(ascii: "\n")) {
      collectPlaces(line, into: &names)
      var reader = ShownMessages(Array(line))
      if !reader.readParameterLine(into: &names) { reader.readMessages(into: &names) }
    }
  }

  /// Adds MAC addresses, serial numbers in addresses such as `local:EW1-0001` and `usb:serial=C02X`, and user names in
  /// paths.
  private static func collectPlaces(_ line: ArraySlice<UInt8>, into names: inout SecretNames) {
    for (place, byte) in zip(line.indices, line) where byte == UInt8(ascii: ":") && place >= line.startIndex + 2 {
      // Most colons are not part of an address, so this check saves needless parsing.
      guard place + 3 < line.endIndex, [UInt8(ascii: ":"), UInt8(ascii: "-")].contains(line[place + 3]) else {
        continue
      }
      let text = line[(place - 2)...].prefix(17)
      if text.count == 17, let address = SecretNames.address(text) { names.add(address, .address) }
    }
    for (mark, kind) in [("/home/", SecretKind.name), ("/Users/", .name), ("usb:serial=", .serial)] {
      for end in ends(of: mark, in: line) { names.add(word(line[end...]), kind) }
    }
    for end in ends(of: "local:", in: line) {
      let address = line[end...].prefix { $0 > 0x20 }
      if let mark = address.firstIndex(of: UInt8(ascii: "#")) {
        names.add(word(address[(mark + 1)...]), .serial)
      } else if address.first != UInt8(ascii: "/") {
        names.add(word(address), .serial)
      }
    }
  }

  /// Returns the position that follows each occurrence of `mark`.
  private static func ends(of mark: String, in line: ArraySlice<UInt8>) -> [Int] {
    let mark = Array(mark.utf8)
    return line.indices.dropLast(mark.count - 1)
      .filter { line[$0] == mark[0] && line[$0..<$0 + mark.count].elementsEqual(mark) }.map { $0 + mark.count }
  }

  private static func word(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    text.prefix { $0 > 0x20 && !Array("/,;'\"()[]{}".utf8).contains($0) }
  }

  // MARK: One line

  private mutating func readMessages(into names: inout SecretNames) {
    while place < text.count {
      let word = readWord()
      if word.count == 4, let number = UInt16(word, radix: 16), word == Hex.number(number),
        let entry = MessageCatalog.entry(MessageID(rawValue: number))
      {
        let start = place
        skipBlanks()
        if entry.name.isEmpty || readWord() != entry.name { place = start }
        readItems(number, [], entry.parameters, into: &names)
      }
      if place < text.count { place += 1 }
    }
  }

  private mutating func skipBlanks() { while place < text.count, text[place] == UInt8(ascii: " ") { place += 1 } }

  private mutating func readWord() -> String { read { $0 == UInt8(ascii: " ") } }

  private mutating func read(until isEnd: (UInt8) -> Bool) -> String {
    let start = place
    while place < text.count, !isEnd(text[place]) { place += 1 }
    return String(decoding: text[start..<place], as: UTF8.self)
  }

  private mutating func readItems(
    _ message: UInt16, _ path: [UInt16], _ known: [MessageCatalog.ParameterEntry], into names: inout SecretNames
  ) {
    while true {
      skipBlanks()
      let start = place
      let key = read { [UInt8(ascii: " "), UInt8(ascii: "="), UInt8(ascii: "}")].contains($0) }
      guard place < text.count, text[place] == UInt8(ascii: "="), !key.isEmpty else {
        if place < text.count, text[place] == UInt8(ascii: "}") { place += 1 } else { place = start }
        return
      }
      place += 1
      let entry = known.first { $0.name.replacing(" ", with: "-") == key || $0.name.isEmpty && "\($0.id)" == key }
      let id = entry?.id ?? UInt16(key) ?? .max
      readValue(ParameterPlace(message: message, path: path + [id], entry: entry), into: &names)
    }
  }

  private mutating func readValue(_ parameter: ParameterPlace, into names: inout SecretNames) {
    guard place < text.count else { return }
    switch text[place] {
    case UInt8(ascii: "{"):
      place += 1
      readItems(parameter.message, parameter.path, parameter.entry?.group ?? [], into: &names)
    case UInt8(ascii: "["):
      _ = read { $0 == UInt8(ascii: "]") }
      if place < text.count { place += 1 }
    case UInt8(ascii: "\""):
      place += 1
      let start = place
      while place < text.count, text[place] != UInt8(ascii: "\"") { place += text[place] == UInt8(ascii: "\\") ? 2 : 1 }
      let end = min(place, text.count)
      place = min(end + 1, text.count)
      note(text[start..<end], parameter, into: &names)
    default:
      let word = read { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "}") }
      let digits = word.prefix { $0.isHexDigit }
      guard digits.count >= 2, digits.count.isMultiple(of: 2), digits.count == word.count || word.contains("…"),
        let kind = parameter.kind(count: digits.count / 2), let bytes = try? Hex.parse(digits)
      else { return }
      names.add(bytes, kind)
      names.add(digits.utf8, kind)
    }
  }

  private func note(_ shown: ArraySlice<UInt8>, _ parameter: ParameterPlace, into names: inout SecretNames) {
    // Every truncated line ends with an ellipsis.
    let cut = Array("…".utf8)
    let shown =
      shown.count >= cut.count && shown.suffix(cut.count).elementsEqual(cut) ? shown.dropLast(cut.count) : shown
    guard let kind = parameter.kind(count: shown.count) else { return }
    names.add(shown, kind)
    let plain = String(decoding: shown, as: UTF8.self).replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
    names.add(plain.utf8, kind)
  }

  // MARK: One parameter

  /// Reads a line such as `3 serial number = "…"`. A line of this form does not name the message, and it is indented if
  /// it belongs to a group.
  private mutating func readParameterLine(into names: inout SecretNames) -> Bool {
    skipBlanks()
    let depth = place
    let whole = String(decoding: text, as: UTF8.self)
    guard let equals = whole.firstRange(of: " = ") else { return false }
    let title = whole[..<equals.lowerBound].drop { $0 == " " }
    guard let id = UInt16(title.prefix { $0.isNumber }) else { return false }
    let name = title.drop { $0.isNumber }.drop { $0 == " " }
    place = whole[..<equals.upperBound].utf8.count
    let start = place
    for entry in MessageCatalog.all {
      let groups: [(path: [UInt16], known: [MessageCatalog.ParameterEntry])] =
        depth == 0 ? [([], entry.parameters)] : entry.parameters.map { ([$0.id], $0.group) }
      for (path, known) in groups {
        let found = known.first { $0.id == id }
        guard name == found?.name ?? "", found != nil || name.isEmpty && entry.id.rawValue == 0x5701 else { continue }
        place = start
        readValue(ParameterPlace(message: entry.id.rawValue, path: path + [id], entry: found), into: &names)
      }
    }
    return true
  }
}

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
