import AccessoryFormats

/// The result of a figure, for people and for programs.
struct Report {
  let figure: Figure
  let measurement: Measurement

  /// Several lines of text. The last one is the command that repeats the measurement.
  var text: String {
    var lines = ["\(figure.name)  \(figure.summary)"]
    var result = "  ours \(Number.text(measurement.ours.median)) \(figure.unit)"
    if let floor = measurement.floor, let ratio = measurement.ratio {
      result += "   floor \(Number.text(floor.median))   ratio \(Self.ratio(ratio))"
      if let bare = measurement.bare {
        result += "   bare floor \(Number.text(bare.floor.median))   ratio \(Self.ratio(bare.ratio))"
      }
    } else {
      result += " (\(Number.text(measurement.ours.lowest)) – \(Number.text(measurement.ours.highest)))"
    }
    lines.append(result + "   \(measurement.pairs) \(measurement.floor == nil ? "times" : "pairs")")
    for note in measurement.notes { lines.append("  \(note.name) \(Self.ratio(note.series))") }
    if let target = figure.target.text(unit: figure.unit), let isMet = figure.target.isMet(by: measurement) {
      lines.append("  target \(target): \(isMet ? "met" : "MISSED")")
    }
    lines.append("  floor: \(figure.floor)")
    if let bare = figure.bareFloor { lines.append("  bare floor: \(bare)") }
    lines.append("  again: \(figure.command)")
    return lines.joined(separator: "\n")
  }

  private static func ratio(_ series: Measurement.Series) -> String {
    "\(Number.fixed(series.median, places: 3)) (\(Number.fixed(series.lowest, places: 3)) – "
      + "\(Number.fixed(series.highest, places: 3)))"
  }

  /// One JSON object on one line.
  var json: String {
    var object: JSONObject = [
      "v": 1, "figure": figure.name, "summary": figure.summary, "unit": figure.unit,
      "ours": Self.object(measurement.ours), "floor": measurement.floor.map { Self.object($0) },
      "ratio": measurement.ratio.map { Self.object($0) },
      "bareFloor": measurement.bare.map { Self.object($0.floor) },
      "bareRatio": measurement.bare.map { Self.object($0.ratio) },
    ]
    for note in measurement.notes { object.add(note.name, Self.object(note.series)) }
    object.add([
      "pairs": measurement.pairs, "target": figure.target.text(unit: figure.unit),
      "met": figure.target.isMet(by: measurement), "floorIs": figure.floor, "bareFloorIs": figure.bareFloor,
      "command": figure.command,
    ])
    return object.text
  }

  private static func object(_ series: Measurement.Series) -> JSONObject {
    ["median": series.median, "lowest": series.lowest, "highest": series.highest]
  }
}
