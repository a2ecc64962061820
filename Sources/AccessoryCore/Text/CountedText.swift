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
}
