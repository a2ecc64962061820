import AccessoryCore
import AccessoryFormats

/// A capture file that was written with `--capture`, or recorded from USB or Bluetooth by another program. Redaction
/// changes iAP2 packets, native transfers, comments and interface descriptions in place. All other USB and Bluetooth
/// traffic is erased except for its headers, and Bluetooth addresses are replaced.
///
/// A file that contains unknown link types or blocks is refused because such data could contain secrets.
struct PacketDocument: RedactedDocument {
  private var bytes: [UInt8]
  private let places: CapturePlaces
  private var streams: [WireStream] = []
  private var texts: [Range<Int>] = []
  /// The positions of interface descriptions, which contain the names of accessories.
  private var descriptions: [Range<Int>] = []

  init(_ bytes: [UInt8], as form: CaptureForm) throws(RedactionRefusal) {
    self.bytes = bytes
    do throws(CaptureProblem) {
      places = try CapturePlaces(bytes, as: form)
    } catch { throw RedactionRefusal("", "\(error)") }
    for stream in places.streams {
      var wire = WireStream(isNative: stream.isNative)
      for piece in stream.pieces { _ = wire.append(bytes[piece]) }
      streams.append(wire)
    }
    if form == .pcapng { try readTexts() }
  }

  private mutating func readTexts() throws(RedactionRefusal) {
    var order = ByteOrder.little
    var place = 0
    func number(_ place: Int, _ count: Int) -> Int { Int(bytes.number(at: place, count, order)) }
    while place < bytes.count {
      func refusal(_ reason: String) -> RedactionRefusal { RedactionRefusal("", "byte \(place): \(reason)") }
      if bytes[place..<place + 4].elementsEqual([0x0A, 0x0D, 0x0D, 0x0A]) {
        order = bytes[place + 8] == 0x4D ? .little : .big
      }
      let (type, count) = (number(place, 4), number(place + 4, 4))
      let end = place + count - 4
      var options: Int
      switch type {
      case 0x0A0D_0D0A: options = place + 24
      case 1: options = place + 16
      case 3: options = end
      case 5: options = place + 20
      case 6 where count >= 32: options = place + 28 + (number(place + 20, 4) + 3) / 4 * 4
      default: throw refusal("a block of type \(type), which may contain names")
      }
      while options + 4 <= end, number(options, 2) != 0 {
        let (code, size) = (number(options, 2), number(options + 2, 2))
        guard options + 4 + size <= end else { throw refusal("an option without its end") }
        let range = options + 4..<options + 4 + size
        // These options contain comments, the names of hardware, systems and programs, and the names, descriptions and
        // filters of interfaces.
        let isText = code == 1 || (type == 1 && [2, 3, 11, 12].contains(code)) || (type == 0x0A0D_0D0A && code <= 4)
        if isText { texts.append(range) }
        if type == 1, code == 3, number(place + 8, 2) == 147 { descriptions.append(range) }
        options += 4 + (size + 3) / 4 * 4
      }
      place += count
    }
  }

  mutating func collect(into names: inout SecretNames, _: (Double) -> Void) {
    for index in streams.indices { streams[index].collect(into: &names) }
    for range in places.addresses { names.add(bytes[range].reversed(), .address) }
    for range in places.names { names.add(bytes[range].prefix { $0 != 0 }, .name) }
    for range in texts { ShownMessages.collect(Array(bytes[range]), into: &names) }
    for range in descriptions where !bytes[range].elementsEqual("events".utf8) { names.add(bytes[range], .name) }
  }

  mutating func rewrite(_ names: inout SecretNames, _: (Double) -> Void) -> [UInt8] {
    // A copy is needed only if USB or Bluetooth headers must be kept.
    let original = places.headers.isEmpty && places.addresses.isEmpty ? [] : bytes
    for range in places.frames { bytes.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count)) }
    for range in places.headers { bytes.replaceSubrange(range, with: original[range]) }
    for range in places.addresses {
      let address = Array(original[range].reversed())
      let name = names.kept.contains(.address) ? address : names.name(of: address) ?? []
      bytes.replaceSubrange(range, with: name.isEmpty ? [UInt8](repeating: 0, count: 6) : name.reversed())
    }
    for (index, stream) in places.streams.enumerated() {
      streams[index].rewrite(&names)
      var start = 0
      for piece in stream.pieces {
        bytes.replaceSubrange(piece, with: streams[index].bytes[start..<start + piece.count])
        start += piece.count
      }
      streams[index] = WireStream()
    }
    for range in texts {
      var text = Array(bytes[range])
      HexInText.rewrite(&text, &names)
      bytes.replaceSubrange(range, with: text)
    }
    return bytes
  }
}
