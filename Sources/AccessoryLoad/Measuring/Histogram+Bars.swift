extension Histogram {
  /// Groups the values into a limited number of bars for a chart: one bar per value if there are few values, otherwise
  /// bars of a round width or, if the values are far apart, bars that double in width. Empty bars between other bars
  /// are included.
  func bars(atMost limit: Int) -> [(low: Int, high: Int, count: Int)] {
    guard let minimum, let maximum else { return [] }
    let steps = steps
    if steps.count <= limit {
      return steps.map { (max($0.lowest, minimum), min($0.highest, maximum), $0.count) }
    }
    var edges = maximum / max(1, minimum) < 64 ? Self.evenEdges(minimum, maximum, limit) : [minimum]
    if edges.count == 1 {
      // If doubling widths would give too many bars, each bar is four times as wide as the previous one.
      let factor = Self.doublings(minimum, maximum) < limit ? 2 : 4
      var edge = 1
      while edge <= minimum { edge *= factor }
      while edge <= maximum {
        edges.append(edge)
        edge *= factor
      }
    }
    return edges.indices.map { index in
      let next = index + 1 < edges.count ? edges[index + 1] : maximum + 1
      let count = steps.reduce(0) { edges[index]..<next ~= max($1.lowest, minimum) ? $0 + $1.count : $0 }
      return (edges[index], next - 1, count)
    }
  }

  private static func evenEdges(_ minimum: Int, _ maximum: Int, _ limit: Int) -> [Int] {
    var width = 1
    var factors = [2, 5, 10]
    var power = 1
    while (maximum / width - minimum / width) + 1 > limit {
      if factors.isEmpty { (factors, power) = ([2, 5, 10], power * 10) }
      width = factors.removeFirst() * power
    }
    return (minimum / width...maximum / width).map { max(minimum, $0 * width) }
  }

  private static func doublings(_ minimum: Int, _ maximum: Int) -> Int {
    max(1, maximum).bitWidth - max(1, maximum).leadingZeroBitCount
      - (max(1, minimum).bitWidth - max(1, minimum).leadingZeroBitCount) + 1
  }
}
