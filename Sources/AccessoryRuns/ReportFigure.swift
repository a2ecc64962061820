import AccessoryCore

/// Something that a run measured or counted.
public struct ReportFigure: Sendable {
  /// The kind of value, which decides how it is written.
  public enum Unit: Sendable {
    /// Nanoseconds.
    case time
    /// Bytes a second.
    case rate
    /// How many.
    case count
    /// A number per second, or another number that is not whole.
    case number
  }

  /// What it is.
  public let name: String
  /// How much.
  public let value: Double
  package let unit: Unit
  /// Whether a higher value is better; nil if neither.
  package let moreIsBetter: Bool?
  /// Whether the figure is shown at the top of a page.
  let isMain: Bool

  /// A figure.
  public init(_ name: String, _ value: Double, _ unit: Unit, moreIsBetter: Bool? = nil, isMain: Bool = true) {
    (self.name, self.value, self.unit) = (name, value, unit)
    (self.moreIsBetter, self.isMain) = (moreIsBetter, isMain)
  }

  /// How many.
  public init(_ name: String, _ count: Int, moreIsBetter: Bool? = nil, isMain: Bool = true) {
    self.init(name, Double(count), .count, moreIsBetter: moreIsBetter, isMain: isMain)
  }

  /// The value in a readable form.
  var text: String { unit.text(value) }
}

extension ReportFigure.Unit {
  package func text(_ value: Double) -> String {
    switch self {
    case .time: FixedText.time(value)
    case .rate: FixedText.rate(value)
    case .count: FixedText.grouped(Int(value))
    case .number: FixedText.text(value, places: 1)
    }
  }

  /// How charts mark the figure.
  var axis: Axis.Unit {
    switch self {
    case .time: .time
    case .rate: .rate
    case .count, .number: .count
    }
  }
}
