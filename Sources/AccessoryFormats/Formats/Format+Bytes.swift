extension Format<[UInt8]> {
  /// Bytes: a text, which means its UTF-8, or `{ hex: "0a 0b" }`.
  public static let bytes = bytes(named: "bytes", atLeast: 0)

  /// Bytes, at least so many of them as the schema says it; `name` is that of the object `{ hex: … }`.
  public static func bytes(named name: String, atLeast least: Int) -> Format {
    let hex = Record(name, "bytes in hex", HexBytes()) {
      Field(
        "hex", \.bytes, .hex(atLeast: least), "two hex digits for each byte, with or without spaces", isRequired: true)
    }
    return Format(.either([.text(TextShape(length: least...Int.max)), hex.format.shape])) { value, place in
      switch value.content {
      case .text(let text): Array(text.utf8)
      case .object: hex.format.read(value, at: place)?.bytes
      case .null, .boolean, .number, .array: place.expected("text or { hex: … }", value)
      }
    } write: { bytes in
      if let text = String(validating: bytes, as: UTF8.self) { return .text(text) }
      return hex.format.write(HexBytes(bytes: bytes))
    }
  }

  private static func hex(atLeast least: Int) -> Format {
    let pattern = "^\\s*([0-9A-Fa-f]{2}\\s*)\(least == 0 ? "*" : "+")$"
    return Format(.text(TextShape(pattern: pattern))) { value, place in
      guard case .text(let text) = value.content else { return place.expected("text", value) }
      do { return try Hex.parse(text) } catch {
        place.error(value, "\(error)")
        return nil
      }
    } write: {
      .text(Hex.spaced($0))
    }
  }
}

private struct HexBytes: Equatable {
  var bytes: [UInt8] = []
}
