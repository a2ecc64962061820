// What others chose, such as the name of an accessory, and people read on a terminal: on one line, and without orders to the
// terminal. JSON and an app get it as it is.

extension StringProtocol {
  /// The text with U+FFFD for each control character.
  ///
  /// ```swift
  /// "Glasses\u{1B}[2J".printable   // "Glasses\u{FFFD}[2J"
  /// ```
  package var printable: String { replacingControls { _ in "\u{FFFD}" } }

  /// The text with an escape for each control character, where people may want to know which it was.
  ///
  /// ```swift
  /// "Glasses\u{1B}[2J".spelledOut   // #"Glasses\u{1b}[2J"#
  /// ```
  package var spelledOut: String { spelledOut(keeping: []) }

  /// The same, but for those control characters that may stay.
  package func spelledOut(keeping kept: [Unicode.Scalar]) -> String {
    replacingControls { kept.contains($0) ? String($0) : "\\u{\(String($0.value, radix: 16))}" }
  }

  private func replacingControls(_ replacement: (Unicode.Scalar) -> String) -> String {
    var result = ""
    for scalar in unicodeScalars {
      if scalar.properties.generalCategory == .control {
        result += replacement(scalar)
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
