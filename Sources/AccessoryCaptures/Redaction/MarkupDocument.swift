import AccessoryFormats

/// An HTML page or a JUnit file. Redaction changes the text, the attribute values and, in a trace, the data.
///
/// A trace shows which values are secrets. Any other page must be redacted together with the JSON report of the same
/// run.
struct MarkupDocument: RedactedDocument {
  let isCapture = false
  var namesSecrets: Bool { !data.isEmpty }
  private let bytes: [UInt8]
  private var texts: [Range<Int>] = []
  private var data: [(range: Range<Int>, document: JSONDocument)] = []

  init(_ bytes: [UInt8]) throws(RedactionRefusal) {
    self.bytes = bytes
    var place = 0
    while place < bytes.count {
      let end = bytes[place...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
      if end > place { texts.append(place..<end) }
      guard end < bytes.count else { return }
      if bytes[end...].starts(with: "<![CDATA[".utf8) || bytes[end...].starts(with: "<!--".utf8) {
        throw RedactionRefusal("", "byte \(end): a comment or CDATA, which easim does not write")
      }
      place = try readTag(end)
      for element in ["script", "style"] where bytes[end...].starts(with: "<\(element)".utf8) {
        let close = Array("</\(element)>".utf8)
        guard let found = bytes[place...].firstRange(of: close)?.lowerBound else {
          throw RedactionRefusal("", "byte \(end): an unclosed element")
        }
        if bytes[end..<place].firstRange(of: Array("application/json".utf8)) != nil {
          data.append((place..<found, try JSONDocument(bytes, in: place..<found)))
        }
        place = found
      }
    }
  }

  /// Reads a tag, records the positions of its attribute values, and returns the position that follows the tag.
  private mutating func readTag(_ start: Int) throws(RedactionRefusal) -> Int {
    var place = start + 1
    while place < bytes.count, bytes[place] != UInt8(ascii: ">") {
      if bytes[place] == UInt8(ascii: "\"") || bytes[place] == UInt8(ascii: "'") {
        guard let end = bytes[(place + 1)...].firstIndex(of: bytes[place]) else { break }
        texts.append(place + 1..<end)
        place = end
      }
      place += 1
    }
    guard place < bytes.count else { throw RedactionRefusal("", "byte \(start): an unclosed tag") }
    return place + 1
  }

  mutating func collect(into names: inout SecretNames, _ progress: (Double) -> Void) {
    for index in data.indices { data[index].document.collect(into: &names, progress) }
    for range in texts { ShownMessages.collect(Self.plain(bytes[range]), into: &names) }
  }

  mutating func rewrite(_ names: inout SecretNames, _ progress: (Double) -> Void) -> [UInt8] {
    var changes: [(range: Range<Int>, bytes: [UInt8])] = []
    for range in texts {
      let before = Self.plain(bytes[range])
      var text = before
      HexInText.rewrite(&text, &names)
      if text != before {
        changes.append((range, Array(MarkupText.escaped(String(decoding: text, as: UTF8.self)).utf8)))
      }
    }
    for index in data.indices {
      let whole = data[index].document.rewrite(&names, progress)
      let range = data[index].range
      let tail = bytes.count - range.upperBound
      changes.append((range, Array(whole[range.lowerBound..<whole.count - tail])))
    }
    var made: [UInt8] = []
    var place = 0
    for change in changes.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      made += bytes[place..<change.range.lowerBound] + change.bytes
      place = change.range.upperBound
    }
    return made + bytes[place...]
  }

  private static func plain(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var plain = String(decoding: text, as: UTF8.self)
    for (entity, character) in [
      ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#10;", "\n"), ("&amp;", "&"),
    ]
    where plain.contains("&") {
      plain = plain.replacing(entity, with: character)
    }
    return Array(plain.utf8)
  }
}
