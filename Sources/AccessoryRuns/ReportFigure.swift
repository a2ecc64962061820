import AccessoryCore

/// A value that a run has measured or counted.
public struct ReportFigure: Sendable {
  /// The kind of value, which determines how the value is formatted.
  public enum Unit: Sendable {
    case time
    case rate
    case count
    case number
  }

  /// The name of the figure.
  public let name: String
  /// The value.
  public let value: Double
  package let unit: Unit
  /// Whether a higher value is better, or nil if neither higher nor lower is better.
  package let moreIsBetter: Bool?
  /// Whether the figure is shown at the top of the page.
  let isMain: Bool

  /// Creates a figure.
  public init(_ name: String, _ value: Double, _ unit: Unit, moreIsBetter: Bool? = nil, isMain: Bool = true) {
    (self.name, self.value, self.unit) = (name, value, unit)
    (self.moreIsBetter, self.isMain) = (moreIsBetter, isMain)
  }

  /// Creates a count.
  public init(_ name: String, _ count: Int, moreIsBetter: Bool? = nil, isMain: Bool = true) {
    self.init(name, Double(count), .count, moreIsBetter: moreIsBetter, isMain: isMain)
  }

  var text: String { unit.text(value) }
}

extension ReportFigure.Unit {
  package func text(_ value: Double) -> String {
    switch self {
    case .time where value >= 36_000e9: FixedText.text(value / 3_600e9, places: 1) + " h"
    case .time where value >= 600e9: FixedText.text(value / 60e9, places: 1) + " min"
    case .time: FixedText.time(value)
    case .rate: FixedText.rate(value)
    case .count: FixedText.grouped(Int(value))
    case .number: FixedText.text(value, places: 1)
    }
  }
}
