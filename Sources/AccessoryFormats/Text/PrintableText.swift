// Untrusted text, such as the name of an accessory, for a terminal: on one line, without control sequences, and in
// the order in which it was written. JSON and apps get it unchanged.

extension StringProtocol {
  /// The text with U+FFFD for each unprintable character; see ``Unicode/Scalar/isUnprintable``.
  ///
  /// ```swift
  /// "Glasses\u{1B}[2J".printable   // "Glasses\u{FFFD}[2J"
  /// ```
  package var printable: String { printable(keeping: []) }

  /// The same, but for those that may stay.
  package func printable(keeping kept: [Unicode.Scalar]) -> String {
    replacingControls { kept.contains($0) ? String($0) : "\u{FFFD}" }
  }

  /// The text with an escape for each of them, where users may need to know which it was.
  ///
  /// ```swift
  /// "Glasses\u{1B}[2J".spelledOut   // #"Glasses\u{1b}[2J"#
  /// ```
  package var spelledOut: String { spelledOut(keeping: []) }

  /// The same, but for those that may stay.
  package func spelledOut(keeping kept: [Unicode.Scalar]) -> String {
    replacingControls { kept.contains($0) ? String($0) : "\\u{\(String($0.value, radix: 16))}" }
  }

  private func replacingControls(_ replacement: (Unicode.Scalar) -> String) -> String {
    var result = ""
    var before: Unicode.Scalar?
    for scalar in unicodeScalars {
      if scalar.isUnprintable, !(scalar.isJoiner && before?.takesJoiner == true) {
        result += replacement(scalar)
      } else {
        result.unicodeScalars.append(scalar)
      }
      before = scalar
    }
    return result
  }
}

extension Unicode.Scalar {
  /// Zero-width joiner and non-joiner, which several scripts and many emoji need.
  fileprivate var isJoiner: Bool { value == 0x200C || value == 0x200D }

  /// Whether a joiner after it is meaningful: after Latin letters it would only be invisible.
  fileprivate var takesJoiner: Bool {
    properties.isEmoji && value > 0x7F || properties.isVariationSelector || properties.isEmojiModifier
      || properties.isAlphabetic && value >= 0x0600 || properties.generalCategory == .nonspacingMark
  }
}
