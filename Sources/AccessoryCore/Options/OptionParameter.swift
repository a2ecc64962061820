/// One parameter of a quirk or a fault: its name, what its values may be, and the one it has when none is given.
public struct OptionParameter: Equatable, Sendable {
  /// What a parameter's values may be.
  public enum Domain: Equatable, Sendable {
    /// One of these words.
    case choice([String])
    /// A whole number within a range.
    case count(ClosedRange<Int>)
    /// A duration within a range.
    case duration(ClosedRange<Duration>)
    /// A chance.
    case chance
  }

  /// The name.
  public let name: String
  /// What it changes.
  public let summary: String
  /// What its values may be.
  public let domain: Domain
  /// The value when it is not given.
  public let standard: OptionValue

  /// A choice; the first word is the default.
  public static func choice(_ name: String, _ words: [String], _ summary: String) -> Self {
    Self(name: name, summary: summary, domain: .choice(words), standard: .choice(words.first ?? ""))
  }

  /// A whole number.
  public static func count(_ name: String, _ range: ClosedRange<Int>, _ standard: Int, _ summary: String) -> Self {
    Self(name: name, summary: summary, domain: .count(range), standard: .count(standard))
  }

  /// A duration.
  public static func duration(
    _ name: String, _ range: ClosedRange<Duration>, _ standard: Duration, _ summary: String
  ) -> Self {
    Self(name: name, summary: summary, domain: .duration(range), standard: .duration(standard))
  }

  /// A chance.
  public static func chance(_ name: String, _ standard: Chance, _ summary: String) -> Self {
    Self(name: name, summary: summary, domain: .chance, standard: .chance(standard))
  }

  /// The words of a choice; none for other kinds.
  public var words: [String] {
    if case .choice(let words) = domain { words } else { [] }
  }

  /// Whether a value is one of those the parameter may have.
  public func admits(_ value: OptionValue) -> Bool {
    switch (domain, value) {
    case (.choice(let words), .choice(let word)): words.contains(word)
    case (.count(let range), .count(let count)): range.contains(count)
    case (.duration(let range), .duration(let duration)): range.contains(duration)
    case (.chance, .chance): true
    default: false
    }
  }

  /// What its values may be, for help: `0ms to 1h`.
  public var range: String {
    switch domain {
    case .choice(let words): words.joined(separator: ", ")
    case .count(let range): "\(range.lowerBound) to \(range.upperBound)"
    case .duration(let range):
      "\(DurationText.format(range.lowerBound)) to \(DurationText.format(range.upperBound))"
    case .chance: "0% to 100%"
    }
  }

  /// Reads a value as people write it; the error says what is wrong with it.
  public func value(_ text: String) throws(OptionError) -> OptionValue {
    switch domain {
    case .choice(let words):
      if words.contains(text) { return .choice(text) }
      throw OptionError("'\(Excerpt.of(text))' is no \(name)\(Suggestion.hint(for: text, in: words))")
    case .count(let range):
      if let count = Int(text), range.contains(count) { return .count(count) }
      throw OptionError("\(name) is a whole number from \(self.range), not '\(Excerpt.of(text))'")
    case .duration(let range):
      let duration: Duration
      do { duration = try DurationText.parse(text) } catch { throw OptionError("\(name): \(error)") }
      if range.contains(duration) { return .duration(duration) }
      throw OptionError("\(name) is a duration from \(self.range), not '\(Excerpt.of(text))'")
    case .chance:
      do { return .chance(try Chance(text)) } catch { throw OptionError("\(name): \(error)") }
    }
  }
}

/// The value of a parameter.
public enum OptionValue: Equatable, Sendable, CustomStringConvertible {
  /// One of a few words.
  case choice(String)
  /// A whole number.
  case count(Int)
  /// A length of time.
  case duration(Duration)
  /// A chance.
  case chance(Chance)

  /// The value as it is written: `never`, `3`, `250ms`, `5%`.
  public var description: String {
    switch self {
    case .choice(let word): word
    case .count(let count): "\(count)"
    case .duration(let duration): DurationText.format(duration)
    case .chance(let chance): "\(chance)"
    }
  }
}
