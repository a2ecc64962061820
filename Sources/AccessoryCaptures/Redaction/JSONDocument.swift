import Certificates
import IAP2

/// JSON written by easim, such as reports, `--json` output, decoded captures, and the data in a trace.
struct JSONDocument: RedactedDocument {
  let isCapture = false
  let namesSecrets = true
  private let bytes: [UInt8]
  private let pieces: [JSONText.Piece]
  private var streams: [String: WireStream] = [:]
  /// For each string that contains bytes: the stream that the bytes belong to, and their range in that stream.
  private var ranges: [Int: (stream: String, range: Range<Int>)] = [:]

  init(_ bytes: [UInt8]) throws(RedactionRefusal) { try self.init(bytes, in: 0..<bytes.count) }

  init(_ bytes: [UInt8], in range: Range<Int>) throws(RedactionRefusal) {
    self.bytes = bytes
    pieces = try JSONText(bytes[range]).pieces
    for (index, piece) in pieces.enumerated() {
      let (name, found): (String, [UInt8]?) =
        switch piece.use {
        case .hex(let name): (name, try? Hex.parse(String(decoding: piece.text, as: UTF8.self)))
        case .base64(let name): (name, Base64.bytes(String(decoding: piece.text, as: UTF8.self)))
        case .text, .secret: ("", [])
        }
      guard let found else { throw RedactionRefusal("", "byte \(piece.range.lowerBound): bytes that cannot be read") }
      guard !name.isEmpty, !found.isEmpty else { continue }
      let isNative = name.hasPrefix("native")
      ranges[index] = (name, streams[name, default: WireStream(isNative: isNative)].append(found))
    }
  }

  mutating func collect(into names: inout SecretNames, _: (Double) -> Void) {
    for key in streams.keys.sorted() { streams[key]?.collect(into: &names) }
    for piece in pieces {
      switch piece.use {
      case .text: ShownMessages.collect(piece.text, into: &names)
      case .secret(.payload): break
      case .secret(let kind): names.add(piece.text, kind)
      case .hex, .base64: break
      }
    }
  }

  mutating func rewrite(_ names: inout SecretNames, _: (Double) -> Void) -> [UInt8] {
    for key in streams.keys.sorted() { streams[key]?.rewrite(&names) }
    var made: [UInt8] = []
    var place = 0
    for (index, piece) in pieces.enumerated() {
      made += bytes[place..<piece.range.lowerBound]
      place = piece.range.upperBound
      made += written(piece, index, &names)
    }
    return made + bytes[place...]
  }

  private func written(_ piece: JSONText.Piece, _ index: Int, _ names: inout SecretNames) -> [UInt8] {
    if let (name, range) = ranges[index], let stream = streams[name] {
      let new = Array(stream.bytes[range])
      let text =
        switch piece.use {
        case .base64: Base64.text(new)
        default: Hex.plain(new)
        }
      return Array(text.utf8)
    }
    var text = piece.text
    if piece.use == .secret(.payload), !names.kept.contains(.payload) {
      text = [UInt8](repeating: UInt8(ascii: "x"), count: text.count)
    } else {
      HexInText.rewrite(&text, &names)
    }
    return text == piece.text ? Array(bytes[piece.range]) : JSONText.written(text)
  }
}
