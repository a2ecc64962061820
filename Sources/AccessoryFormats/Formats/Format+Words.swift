// What the command line has beyond files: one word for a value.

extension Format {
  /// Reads a word of the command line. The error describes the mistake; the caller adds which word it was.
  public func read(word: String) throws(OptionError) -> Value {
    let problems = ProblemCollector(ofOneWord: true)
    let read = decode(JSON5Value(shape.content(of: word)), nil, Place(problems))
    if let read, problems.errorCount == 0 { return read }
    throw OptionError(problems.problems.map(\.description).joined(separator: "; "))
  }

  /// Writes a value as a word of the command line; nil for one that is left out there.
  public func word(of value: Value) -> String? { encode(value, nil)?.word }
}

extension Format<Duration> {
  /// A duration of any length.
  public static let duration = duration(.zero...DurationText.longest)
}
