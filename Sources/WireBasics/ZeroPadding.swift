extension StringProtocol {
  /// Digits with leading zeros, at least as wide as asked for: "7" to three is "007".
  public func zeroPadded(to width: Int) -> String {
    String(repeating: "0", count: Swift.max(0, width - utf8.count)) + self
  }
}
