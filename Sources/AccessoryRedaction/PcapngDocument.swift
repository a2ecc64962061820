import AccessoryCaptures
import AccessoryFormats

/// A capture written by `--capture`. Redaction changes iAP2 packets, native transfers, comments and interface
/// descriptions in place.
///
/// Files with blocks from other programs are refused, because easim does not know what these blocks contain.
struct PcapngDocument: RedactedDocument {
  let isCapture = true
  let namesSecrets = true
  private var bytes: [UInt8]
  /// The bytes that each side of each interface sent.
  private var streams: [WireStream] = []
  /// Where the streams' bytes are in the file.
  private var pieces: [(stream: Int, range: Range<Int>, place: Int)] = []
  /// The positions of comments and other text.
  private var texts: [Range<Int>] = []
  /// The positions of interface descriptions, which contain accessories' names.
  private var descriptions: [Range<Int>] = []

  init(_ bytes: [UInt8]) throws(RedactionRefusal) {
    self.bytes = bytes
    var order = ByteOrder.little
    /// The index of each interface's first stream; every interface has two.
    var interfaces: [Int] = []
    var place = 0
    func number(_ place: Int, _ count: Int) -> Int { Int(bytes.number(at: place, count, order)) }
    while place < bytes.count {
      func refusal(_ reason: String) -> RedactionRefusal { RedactionRefusal("", "byte \(place): \(reason)") }
      guard place + 12 <= bytes.count else { throw refusal("the file ends in the middle of a block") }
      if bytes[place..<place + 4].elementsEqual([0x0A, 0x0D, 0x0D, 0x0A]) {
        order = bytes[place + 8] == 0x4D ? .little : .big
        interfaces = []
      }
      let (type, count) = (number(place, 4), number(place + 4, 4))
      guard count >= 12, count % 4 == 0, place + count <= bytes.count else { throw refusal("a block without its end") }
      let end = place + count - 4
      var options: Int
      switch type {
      case 0x0A0D_0D0A: options = place + 24
      case 1:
        guard count >= 20 else { throw refusal("an interface block that is too short") }
        let link = number(place + 8, 2)
        guard link == 147 || link == 148 else {
          throw refusal(
            "the link type \(link) has more than iAP2, which easim does not understand: \(Redaction.wayOut)")
        }
        interfaces.append(streams.count)
        streams += [WireStream(isNative: link == 148), WireStream(isNative: link == 148)]
        options = place + 16
      case 6:
        guard count >= 32 else { throw refusal("a packet block that is too short") }
        let (interface, size) = (number(place + 8, 4), number(place + 20, 4))
        guard interface < interfaces.count, place + 28 + size <= end else { throw refusal("a packet of no interface") }
        options = place + 28 + (size + 3) / 4 * 4
        var stream = interfaces[interface]
        var option = options
        while option + 4 <= end, number(option, 2) != 0 {
          if number(option, 2) == 2, option + 8 <= end, number(option + 4, 4) & 3 == 2 { stream += 1 }
          option += 4 + (number(option + 2, 2) + 3) / 4 * 4
        }
        let range = streams[stream].append(bytes[place + 28..<place + 28 + size])
        pieces.append((stream, range, place + 28))
      default: throw refusal("a block of the type \(type), which easim does not write")
      }
      while options + 4 <= end, number(options, 2) != 0 {
        let (code, size) = (number(options, 2), number(options + 2, 2))
        guard options + 4 + size <= end else { throw refusal("an option without its end") }
        let range = options + 4..<options + 4 + size
        let isText = type == 6 ? code == 1 : type == 1 ? [1, 2, 3].contains(code) : [1, 2, 3, 4].contains(code)
        if isText { texts.append(range) }
        if type == 1, code == 3, number(place + 8, 2) == 147 { descriptions.append(range) }
        options += 4 + (size + 3) / 4 * 4
      }
      place += count
    }
  }

  mutating func collect(into names: inout SecretNames) {
    for index in streams.indices { streams[index].collect(into: &names) }
    for range in texts { ShownMessages.collect(Array(bytes[range]), into: &names) }
    for range in descriptions where !bytes[range].elementsEqual("events".utf8) { names.add(bytes[range], .name) }
  }

  mutating func rewrite(_ names: inout SecretNames) -> [UInt8] {
    for index in streams.indices { streams[index].rewrite(&names) }
    for piece in pieces {
      bytes.replaceSubrange(
        piece.place..<piece.place + piece.range.count, with: streams[piece.stream].bytes[piece.range])
    }
    for range in texts {
      var text = Array(bytes[range])
      HexInText.rewrite(&text, &names)
      bytes.replaceSubrange(range, with: text)
    }
    return bytes
  }
}
