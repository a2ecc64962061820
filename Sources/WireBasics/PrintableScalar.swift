extension Unicode.Scalar {
  /// Whether it shows nothing and changes how its neighbours are shown: controls, line and paragraph separators, the marks
  /// that turn the direction of writing around (U+202E and its kind), and what has no width, such as tags.
  public var isUnprintable: Bool {
    if value < 0x7F { return value < 0x20 }
    return switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .format: true
    default: properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
    }
  }
}
