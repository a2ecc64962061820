import CCrypto

/// Finds where bytes stop being DER, for messages: libcrypto's parsers say what is wrong but not where.
///
/// It follows tags and lengths only. What it finds sound may still be no certificate.
struct DERFault: Equatable {
  let offset: Int
  let what: String

  /// Deeper than any certificate, shallow enough for any stack.
  private static let depthLimit = 24

  /// The first fault in `bytes`, which should hold one value and nothing after it; nil when there is none.
  static func first(in bytes: [UInt8]) -> DERFault? {
    bytes.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return DERFault(offset: 0, what: "nothing is there") }
      var position = 0
      return fault(start, &position, end: buffer.count, depth: 0)
    }
  }

  /// Checks one value and moves past it.
  private static func fault(
    _ start: UnsafePointer<UInt8>, _ position: inout Int, end: Int, depth: Int
  ) -> DERFault? {
    let header = position
    var cursor: UnsafePointer<UInt8>? = start + position
    var length = -1
    var tag: Int32 = 0
    var kind: Int32 = 0
    let flags = ASN1_get_object(&cursor, &length, &tag, &kind, end - position)
    LibraryReasons.take()
    // A header that is none leaves the length as it was, and one that promises too much does not.
    guard let cursor, length >= 0 else { return DERFault(offset: header, what: "no whole tag and length") }
    position = cursor - start
    if flags & 0x80 != 0 {
      return DERFault(offset: header, what: "a value of \(length) bytes where only \(end - position) are left")
    }
    if flags & 0x01 != 0 { return DERFault(offset: header, what: "a length left open, which DER forbids") }
    let valueEnd = position + length
    if flags & V_ASN1_CONSTRUCTED != 0 {
      if depth == depthLimit { return DERFault(offset: header, what: "values nested deeper than \(depthLimit)") }
      while position < valueEnd {
        if let fault = fault(start, &position, end: valueEnd, depth: depth + 1) { return fault }
      }
    }
    position = valueEnd
    return nil
  }
}
