extension Int {
  /// So many of something, in words: one thing, or several.
  ///
  /// ```swift
  /// 1.counted("byte")                            // "1 byte"
  /// 3.counted("accessory", "accessories")        // "3 accessories"
  /// ```
  package func counted(_ one: String, _ several: String? = nil) -> String {
    "\(self) \(self == 1 ? one : several ?? one + "s")"
  }

  /// The number with separators: "1,234,567".
  package var groupedDigits: String {
    var digits = String(magnitude)
    var parts: [String] = []
    while digits.count > 3 {
      parts.insert(String(digits.suffix(3)), at: 0)
      digits = String(digits.dropLast(3))
    }
    return (self < 0 ? "-" : "") + ([digits] + parts).joined(separator: ",")
  }
}
