import AccessoryFormats
import AccessoryRuns
import Glibc

/// A value that varies from burst to burst: sizes and times.
///
/// ```swift
/// var random = SeededRandom(seed: 7)
/// Distribution<Int>.uniform(.init(from: 10, to: 20)).draw(&random)   // the same for the same seed
/// ```
package enum Distribution<Value: Drawable>: Equatable, Sendable {
  /// The same value always.
  case fixed(Value)
  /// Uniform: every value between two limits is equally likely.
  case uniform(Uniform)
  /// A normal distribution around a mean.
  case normal(Normal)
  /// Many values around a median, and a few that are much greater.
  case lognormal(Lognormal)
  /// The time between independent events.
  case exponential(Exponential)
  /// One of a list of values, each with a weight.
  case list(Choices)

  /// See ``Distribution/uniform(_:)``.
  package struct Uniform: Equatable, Sendable {
    /// The least value.
    package var from = Value.drawStandard
    /// The greatest value.
    package var to = Value.drawStandard

    /// Creates a range from both limits.
    package init(from: Value = .drawStandard, to: Value = .drawStandard) { (self.from, self.to) = (from, to) }
  }

  /// See ``Distribution/normal(_:)``.
  package struct Normal: Equatable, Sendable {
    /// The mean.
    package var mean = Value.drawStandard
    /// The standard deviation.
    package var deviation = Value.drawStandard
    /// The range to which values are limited.
    package var bounds = Bounds()

    /// Creates a distribution with default values.
    package init() {}
  }

  /// See ``Distribution/lognormal(_:)``.
  package struct Lognormal: Equatable, Sendable {
    /// Half of the values are below this.
    package var median = Value.drawStandard
    /// The standard deviation of the natural logarithm: with 1, one value in 44 is more than 7.4 times the median.
    package var sigma = 1.0
    /// The range to which values are limited.
    package var bounds = Bounds()

    /// Creates a distribution with default values.
    package init() {}
  }

  /// See ``Distribution/exponential(_:)``.
  package struct Exponential: Equatable, Sendable {
    /// The mean.
    package var mean = Value.drawStandard
    /// The range to which values are limited.
    package var bounds = Bounds()

    /// Creates a distribution with default values.
    package init() {}
  }

  /// The smallest and the largest value that are used.
  package struct Bounds: Equatable, Sendable {
    /// The least.
    package var least = Value.drawLimits.lowerBound
    /// The greatest.
    package var most = Value.drawLimits.upperBound

    /// Allows all possible values.
    package init() {}
  }

  /// See ``Distribution/list(_:)``.
  package struct Choices: Equatable, Sendable {
    /// The values.
    package var values: [Choice] = []

    /// Values with their weights.
    package init(_ values: [Choice] = []) { self.values = values }
  }

  /// A value of a list.
  package struct Choice: Equatable, Sendable {
    /// The value.
    package var value = Value.drawStandard
    /// The weight relative to the other values.
    package var weight = 1.0

    /// A value with its weight.
    package init(_ value: Value = .drawStandard, weight: Double = 1) { (self.value, self.weight) = (value, weight) }
  }

  /// Draws the next value.
  package func draw(_ random: inout SeededRandom) -> Value {
    switch self {
    case .fixed(let value): return value
    case .uniform(let range):
      // Makes the first and last whole numbers as likely as all others.
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
  /// The value of a distribution if nothing else is specified.
  static var drawStandard: Self { get }
  /// The smallest and the largest possible value.
  static var drawLimits: ClosedRange<Self> { get }
  /// As a number: of bytes, or of nanoseconds.
  var drawNumber: Double { get }
  /// The value nearest to a number, within the limits.
  init(drawn number: Double)
  /// The value as users write it.
  var drawText: String { get }
}

extension Drawable {
  fileprivate func clamped(_ low: Self, _ high: Self) -> Self { min(max(self, low), high) }
}

extension Int: Drawable {
  /// 10,000 bytes.
  package static var drawStandard: Int { 10_000 }
  /// The range of sizes: up to 64 MiB.
  package static var drawLimits: ClosedRange<Int> { 1...(64 << 20) }
  /// As a number.
  package var drawNumber: Double { Double(self) }
  /// The nearest whole number.
  package init(drawn number: Double) { self = Int(number.rounded()) }
  /// In digits.
  package var drawText: String { "\(self)" }
}

extension Duration: Drawable {
  /// A second.
  package static var drawStandard: Duration { .seconds(1) }
  /// The range of times: up to an hour.
  package static var drawLimits: ClosedRange<Duration> { .zero ... .seconds(3_600) }
  /// In nanoseconds.
  package var drawNumber: Double { Double(wholeNanoseconds) }
  /// The nearest number of nanoseconds.
  package init(drawn number: Double) { self = .nanoseconds(Int64(number.rounded())) }
  /// "250ms".
  package var drawText: String { DurationText.format(self) }
}

extension SeededRandom {
  /// A number from 0 up to, but not including, 1.
  fileprivate var unit: Double {
    mutating get { Double(next() >> 11) * 0x1p-53 }
  }

  /// Normally distributed with mean 0 and standard deviation 1, by the Box–Muller method.
  fileprivate var bell: Double {
    mutating get {
      let radius = (-2 * log(1 - unit)).squareRoot()
      return radius * cos(2 * Double.pi * unit)
    }
  }

  /// Draws an index according to the weights; nil if all weights are zero.
  mutating func index(weights: some Collection<Double>) -> Int? {
    var left = unit * weights.reduce(0, +)
    var last: Int?
    for (index, weight) in weights.enumerated() where weight > 0 {
      if left < weight { return index }
      left -= weight
      last = index
    }
    // Rounding may leave a remainder, which is assigned to the last value.
    return last
  }
}

// MARK: - Words

extension Distribution: CustomStringConvertible {
  /// "500", "uniform,from=10,to=2000", "list 20 (9), 10000 (1)".
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
  /// The kinds; `value` is the format of a single value, and `name` is the name used in documents.
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
      "lognormal", "most values near the median and a few much larger, like the sizes of files and replies", Lognormal()
    ) {
      Field("median", \.median, value, "the median", isRequired: true)
      Field("sigma", \.sigma, .number(0...10), "the standard deviation of the natural logarithm")
      bounds(\Lognormal.bounds)
    }.checked { Self.check($0.bounds, $1) }
    let exponential = Record("exponential", "like the times between independent events", Exponential()) {
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

  /// One value, or a distribution. Text that begins with a digit is a single value.
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
  /// The size of bursts.
  static let sizes = Distribution<Int>.format("sizes", .integer(Int.drawLimits))
}

extension Format<Distribution<Duration>> {
  /// A time that varies.
  static let times = Distribution<Duration>.format("times", .duration(Duration.drawLimits))
}

extension Format<Double> {
  /// A relative weight.
  static let weight = number(0.001...1_000_000)
}
