import AccessoryFormats
import AccessoryRuns
import Glibc

/// The distribution of a size or a time that varies from burst to burst.
///
/// ```swift
/// var random = SeededRandom(seed: 7)
/// Distribution<Int>.uniform(.init(from: 10, to: 20)).draw(&random)   // the same for the same seed
/// ```
package enum Distribution<Value: Drawable>: Equatable, Sendable {
  case fixed(Value)
  case uniform(Uniform)
  case normal(Normal)
  /// Most values are near the median, but a few are much greater.
  case lognormal(Lognormal)
  /// Values are distributed like the intervals between independent events.
  case exponential(Exponential)
  case list(Choices)

  package struct Uniform: Equatable, Sendable {
    package var from = Value.drawStandard
    package var to = Value.drawStandard

    package init(from: Value = .drawStandard, to: Value = .drawStandard) { (self.from, self.to) = (from, to) }
  }

  package struct Normal: Equatable, Sendable {
    package var mean = Value.drawStandard
    package var deviation = Value.drawStandard
    package var bounds = Bounds()

    package init() {}
  }

  package struct Lognormal: Equatable, Sendable {
    package var median = Value.drawStandard
    /// The standard deviation of the value's natural logarithm. At 1, one value in 44 exceeds 7.4 times the median.
    package var sigma = 1.0
    package var bounds = Bounds()

    package init() {}
  }

  package struct Exponential: Equatable, Sendable {
    package var mean = Value.drawStandard
    package var bounds = Bounds()

    package init() {}
  }

  package struct Bounds: Equatable, Sendable {
    package var least = Value.drawLimits.lowerBound
    package var most = Value.drawLimits.upperBound

    package init() {}
  }

  package struct Choices: Equatable, Sendable {
    package var values: [Choice] = []

    package init(_ values: [Choice] = []) { self.values = values }
  }

  package struct Choice: Equatable, Sendable {
    package var value = Value.drawStandard
    package var weight = 1.0

    package init(_ value: Value = .drawStandard, weight: Double = 1) { (self.value, self.weight) = (value, weight) }
  }

  package func draw(_ random: inout SeededRandom) -> Value {
    switch self {
    case .fixed(let value): return value
    case .uniform(let range):
      // Half a step more at each end makes the first and last whole numbers as likely as the others.
      let (low, high) = (range.from.drawNumber, range.to.drawNumber)
      return Value(drawn: low + (random.unit * (high - low + 1)).rounded(.down)).clamped(range.from, range.to)
    case .normal(let bell):
      return bell.bounds.value(bell.mean.drawNumber + random.bell * bell.deviation.drawNumber)
    case .lognormal(let bell): return bell.bounds.value(bell.median.drawNumber * exp(random.bell * bell.sigma))
    case .exponential(let wait): return wait.bounds.value(-log(1 - random.unit) * wait.mean.drawNumber)
    case .list(let choices):
      let index = random.index(weights: choices.values.lazy.map(\.weight))
      return index.map { choices.values[$0].value } ?? .drawStandard
    }
  }
}

extension Distribution.Bounds {
  fileprivate func value(_ number: Double) -> Value {
    Value(drawn: min(max(number, least.drawNumber), most.drawNumber)).clamped(least, most)
  }
}

/// A type whose values can be drawn from a ``Distribution``.
package protocol Drawable: Comparable, Sendable {
  /// The default value in a distribution.
  static var drawStandard: Self { get }
  static var drawLimits: ClosedRange<Self> { get }
  /// The value as a number of bytes or nanoseconds.
  var drawNumber: Double { get }
  init(drawn number: Double)
  var drawText: String { get }
}

extension Drawable {
  fileprivate func clamped(_ low: Self, _ high: Self) -> Self { min(max(self, low), high) }
}

extension Int: Drawable {
  package static var drawStandard: Int { 10_000 }
  package static var drawLimits: ClosedRange<Int> { 1...(64 << 20) }
  package var drawNumber: Double { Double(self) }
  package init(drawn number: Double) { self = Int(number.rounded()) }
  package var drawText: String { "\(self)" }
}

extension Duration: Drawable {
  package static var drawStandard: Duration { .seconds(1) }
  package static var drawLimits: ClosedRange<Duration> { .zero ... .seconds(3_600) }
  package var drawNumber: Double { Double(wholeNanoseconds) }
  package init(drawn number: Double) { self = .nanoseconds(Int64(number.rounded())) }
  package var drawText: String { DurationText.format(self) }
}

extension SeededRandom {
  /// A random number of at least 0 and less than 1.
  fileprivate var unit: Double {
    mutating get { Double(next() >> 11) * 0x1p-53 }
  }

  /// A normally distributed random number with mean 0 and standard deviation 1, from the Box–Muller method.
  fileprivate var bell: Double {
    mutating get {
      let radius = (-2 * log(1 - unit)).squareRoot()
      return radius * cos(2 * Double.pi * unit)
    }
  }

  /// Draws an index according to the weights, or returns nil if all weights are zero.
  mutating func index(weights: some Collection<Double>) -> Int? {
    var left = unit * weights.reduce(0, +)
    var last: Int?
    for (index, weight) in weights.enumerated() where weight > 0 {
      if left < weight { return index }
      left -= weight
      last = index
    }
    // Rounding errors may leave a remainder, which counts as the last index.
    return last
  }
}

// MARK: - Words

extension Distribution: CustomStringConvertible {
  package var description: String {
    switch self {
    case .fixed(let value): value.drawText
    case .uniform(let range): "uniform,from=\(range.from.drawText),to=\(range.to.drawText)"
    case .normal(let bell): "normal,mean=\(bell.mean.drawText),deviation=\(bell.deviation.drawText)\(bell.bounds.text)"
    case .lognormal(let bell):
      "lognormal,median=\(bell.median.drawText),sigma=\(FixedText.short(bell.sigma))\(bell.bounds.text)"
    case .exponential(let wait): "exponential,mean=\(wait.mean.drawText)\(wait.bounds.text)"
    case .list(let choices):
      "list \(choices.values.map { "\($0.value.drawText) (\(FixedText.short($0.weight)))" }.joined(separator: ", "))"
    }
  }
}

extension Distribution.Bounds {
  fileprivate var text: String {
    (least == Value.drawLimits.lowerBound ? "" : ",least=\(least.drawText)")
      + (most == Value.drawLimits.upperBound ? "" : ",most=\(most.drawText)")
  }
}

// MARK: - Files

extension Distribution {
  /// Returns the formats of all kinds of distributions. `value` is the format of one value, and `name` is its name in
  /// the documentation.
  static func kinds(_ name: String, _ value: Format<Value>) -> OneOf<Distribution> {
    func bounds<Root>(_ path: Property<Root, Bounds>) -> [Field<Root>] {
      Record("bounds", "", Bounds()) {
        Field("least", \.least, value, "minimum; smaller values are raised to this")
        Field("most", \.most, value, "maximum; larger values are capped")
      }.fields(at: path)
    }
    let uniform = Record("uniform", "all values between two limits are equally likely", Uniform()) {
      Field("from", \.from, value, "the minimum", isRequired: true)
      Field("to", \.to, value, "the maximum", isRequired: true)
    }.checked { range, object in
      if object.value("from") != nil, object.value("to") != nil, range.from > range.to {
        object.error("to", "is less than 'from'")
      }
    }
    let normal = Record("normal", "a normal distribution", Normal()) {
      Field("mean", \.mean, value, "the mean", isRequired: true)
      Field("deviation", \.deviation, value, "the standard deviation", isRequired: true)
      bounds(\Normal.bounds)
    }.checked { Self.check($0.bounds, $1) }
    let lognormal = Record(
      "lognormal", "most values are near the median and a few are much larger, as with the sizes of files and replies",
      Lognormal()
    ) {
      Field("median", \.median, value, "the median", isRequired: true)
      Field("sigma", \.sigma, .number(0...10), "the standard deviation of the natural logarithm")
      bounds(\Lognormal.bounds)
    }.checked { Self.check($0.bounds, $1) }
    let exponential = Record(
      "exponential", "exponentially distributed, like the times between independent events", Exponential()
    ) {
      Field("mean", \.mean, value, "the mean", isRequired: true)
      bounds(\Exponential.bounds)
    }.checked { Self.check($0.bounds, $1) }
    let choice = Record("\(name) of a list", "a value with its weight", Choice()) {
      Field("value", \.value, value, "the value", isRequired: true)
      Field("weight", \.weight, .weight, "relative weight")
    }
    let list = Record("list", "one of several values", Choices()) {
      Field("values", \.values, .list(of: .object(choice), count: 1...100), "the values", isRequired: true)
    }
    return OneOf(
      name, key: "kind",
      example: "uniform,from=\(Value.drawLimits.lowerBound.drawText),to=\(Value.drawStandard.drawText)"
    ) {
      Kind(uniform, Distribution.uniform) { if case .uniform(let range) = $0 { range } else { nil } }
      Kind(normal, Distribution.normal) { if case .normal(let bell) = $0 { bell } else { nil } }
      Kind(lognormal, Distribution.lognormal) { if case .lognormal(let bell) = $0 { bell } else { nil } }
      Kind(exponential, Distribution.exponential) { if case .exponential(let wait) = $0 { wait } else { nil } }
      Kind(list, Distribution.list) { if case .list(let choices) = $0 { choices } else { nil } }
    }
  }

  private static func check(_ bounds: Bounds, _ object: ObjectReader) {
    if bounds.least > bounds.most { object.error("most", "is less than 'least'") }
  }

  /// Returns the format for a single value or a distribution; a string that begins with a digit is a single value.
  static func format(_ name: String, _ value: Format<Value>) -> Format<Distribution> {
    let kinds = kinds(name, value)
    return Format(.either([value.shape, kinds.format.shape])) { json, place in
      let isKind =
        switch json.content {
        case .object: true
        case .text(let text): text.first.map { !$0.isNumber } ?? false
        case .null, .boolean, .number, .array: false
        }
      return isKind ? kinds.format.read(json, at: place) : value.read(json, at: place).map(Distribution.fixed)
    } write: { distribution in
      if case .fixed(let only) = distribution { return value.write(only) }
      return kinds.format.write(distribution)
    }
  }
}

extension Format<Distribution<Int>> {
  static let sizes = Distribution<Int>.format("sizes", .integer(Int.drawLimits))
}

extension Format<Distribution<Duration>> {
  static let times = Distribution<Duration>.format("times", .duration(Duration.drawLimits))
}

extension Format<Double> {
  static let weight = number(0.001...1_000_000)
}
