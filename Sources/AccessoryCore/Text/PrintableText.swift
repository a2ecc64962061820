extension String {
  /// The text on one line, with U+FFFD for whatever would begin another or give orders to a terminal. Accessories and
  /// devices choose their names themselves, and people read them on terminals; JSON and an app get them as they are.
  ///
  /// ```swift
  /// "Glasses\u{1B}[2J".printable   // "Glasses\u{FFFD}[2J"
  /// ```
  package var printable: String {
    guard unicodeScalars.contains(where: \.isOrder) else { return self }
    return String(UnicodeScalarView(unicodeScalars.map { $0.isOrder ? "\u{FFFD}" : $0 }))
  }
}

extension Unicode.Scalar {
  /// Whether it is a control character, of C0 or C1.
  fileprivate var isOrder: Bool { properties.generalCategory == .control }
}
