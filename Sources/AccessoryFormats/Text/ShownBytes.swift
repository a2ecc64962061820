/// Formats bytes for messages.
package enum ShownBytes {
  /// The maximum number of bytes shown.
  package static let most = 32

  /// Returns the first few bytes, either as text or, if they are not valid UTF-8, in hex.
  ///
  /// ```swift
  /// ShownBytes.of(Array("OK\r\n".utf8))     // "'OK\\r\\n'"
  /// ShownBytes.of([0xFF, 0x5A])             // "hex ff 5a"
  /// ```
  package static func of(_ bytes: some Collection<UInt8>) -> String {
    let start = Array(bytes.prefix(most))
    let more = bytes.count > most ? " …" : ""
    if let text = String(validating: start, as: UTF8.self), !text.isEmpty { return "'\(Excerpt.of(text))'\(more)" }
    return start.isEmpty ? "empty" : "hex \(Hex.spaced(start))\(more)"
  }

  /// Describes the first byte that differs from the expected bytes, or returns nil if all bytes are equal. The
  /// description can be inserted into a sentence.
  ///
  /// ```swift
  /// ShownBytes.difference(of: Array("VERSON?".utf8), from: Array("VERSION?".utf8))
  ///                                         // "byte 4 is 4f ('O') and not 49 ('I')"
  /// ```
  package static func difference(of found: some Collection<UInt8>, from wanted: some Collection<UInt8>) -> String? {
    let same = zip(found, wanted).prefix { $0 == $1 }.count
    switch (found.dropFirst(same).first, wanted.dropFirst(same).first) {
    case (nil, nil): return nil
    case (let byte?, let other?): return "byte \(same) is \(one(byte)), not \(one(other))"
    case (nil, _): return "the bytes end after \(same)"
    case (_, nil): return "more follows after byte \(same - 1)"
    }
  }

  private static func one(_ byte: UInt8) -> String {
    let digits = Hex.spaced([byte])
    return (0x20..<0x7F).contains(byte) ? "\(digits) ('\(Character(Unicode.Scalar(byte)))')" : digits
  }
}
