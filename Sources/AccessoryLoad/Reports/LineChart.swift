import AccessoryCore

/// One line over an axis, drawn as SVG: no script, no style sheet from elsewhere, so that the page is one file.
struct LineChart {
  /// One point of the line, with its tooltip.
  struct Point {
    let x: Double
    let y: Double
    let title: String
  }

  private static let width = 860.0
  private static let height = 260.0
  private static let left = 80.0
  private static let right = 20.0
  private static let top = 14.0
  private static let bottom = 34.0

  let name: String
  let points: [Point]
  /// Marks on the horizontal axis.
  let xMarks: [(x: Double, text: String)]
  let yText: (Double) -> String
  /// Points at which something went wrong.
  var alarms: [Point] = []

  var svg: String {
    let xs = points.map(\.x) + xMarks.map(\.x)
    let (low, high) = (xs.min() ?? 0, max(xs.max() ?? 1, (xs.min() ?? 0) + 1e-9))
    let most = max(points.map(\.y).max() ?? 0, 1e-9)
    func x(_ value: Double) -> String {
      Self.number(Self.left + (value - low) / (high - low) * (Self.width - Self.left - Self.right))
    }
    func y(_ value: Double) -> String {
      Self.number(Self.height - Self.bottom - value / most * (Self.height - Self.top - Self.bottom))
    }
    var parts: [String] = []
    for step in 0...4 {
      let value = most * Double(step) / 4
      parts.append(
        "<line class=\"grid\" x1=\"\(Self.number(Self.left))\" x2=\"\(Self.number(Self.width - Self.right))\" "
          + "y1=\"\(y(value))\" y2=\"\(y(value))\"/>"
          + "<text x=\"\(Self.number(Self.left - 8))\" y=\"\(y(value))\" text-anchor=\"end\" dy=\"4\">"
          + "\(MarkupText.escaped(yText(value)))</text>")
    }
    for mark in xMarks {
      parts.append(
        "<text x=\"\(x(mark.x))\" y=\"\(Self.number(Self.height - 10))\" text-anchor=\"middle\">"
          + "\(MarkupText.escaped(mark.text))</text>")
    }
    let path = points.enumerated().map { "\($0.offset == 0 ? "M" : "L")\(x($0.element.x)) \(y($0.element.y))" }
    parts.append("<path class=\"line\" d=\"\(path.joined(separator: " "))\"/>")
    for point in points where points.count <= 200 {
      parts.append(Self.dot(x(point.x), y(point.y), "dot", point.title))
    }
    for alarm in alarms { parts.append(Self.dot(x(alarm.x), y(alarm.y), "alarm", alarm.title)) }
    return Self.svg(name, height: Self.height, parts)
  }

  static func svg(_ name: String, height: Double, _ parts: [String]) -> String {
    "<svg viewBox=\"0 0 \(number(width)) \(number(height))\" role=\"img\" aria-label=\"\(MarkupText.escaped(name))\">\n"
      + "\(parts.joined(separator: "\n"))\n</svg>"
  }

  private static func dot(_ x: String, _ y: String, _ style: String, _ title: String) -> String {
    "<circle class=\"\(style)\" cx=\"\(x)\" cy=\"\(y)\" r=\"3\"><title>\(MarkupText.escaped(title))</title></circle>"
  }

  static func number(_ value: Double) -> String { FixedText.text(value, places: 1) }
}
