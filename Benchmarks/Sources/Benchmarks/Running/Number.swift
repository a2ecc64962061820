/// Formats numbers for a table of figures.
enum Number {
  /// Returns a number with three significant digits and grouped thousands: "71,200", "0.83", "12.4".
  static func text(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    if value == 0 { return "0" }
    var unit = 1.0
    while value.magnitude / unit >= 1_000 { unit *= 10 }
    while value.magnitude / unit < 100 { unit /= 10 }
    let rounded = (value / unit).rounded() * unit
    if unit >= 1 || rounded == rounded.rounded() { return grouped(Int(rounded)) }
    let places = unit > 0.05 ? 1 : unit > 0.005 ? 2 : 3
    return fixed(value, places: places)
  }

  /// Returns a number with this many decimal places: "0.830".
  static func fixed(_ value: Double, places: Int) -> String {
    guard value.isFinite else { return "–" }
    var scale = 1
    for _ in 0..<places { scale *= 10 }
    let scaled = Int((value.magnitude * Double(scale)).rounded())
    let fraction = String(scaled % scale)
    let sign = value < 0 ? "-" : ""
    return "\(sign)\(grouped(scaled / scale)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
  }

  private static func grouped(_ value: Int) -> String {
    var digits = String(value.magnitude)
    var parts: [String] = []
    while digits.count > 3 {
      parts.insert(String(digits.suffix(3)), at: 0)
      digits = String(digits.dropLast(3))
    }
    parts.insert(digits, at: 0)
    return (value < 0 ? "-" : "") + parts.joined(separator: ",")
  }
}
