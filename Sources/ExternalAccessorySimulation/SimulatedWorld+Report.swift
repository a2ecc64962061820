import AccessorySessions
import Foundation

/// What a failed test says of its world.
extension SimulatedWorld {
  /// The timeline and the transcript, for the message of a failure.
  public var report: String { (events.map(\.json) + transcript).joined(separator: "\n") }

  /// How many lines of each are shown at most: the last ones tell how it came to a failure.
  private static let lineLimit = 500

  /// The same, as far as it was not shown before.
  package var reportOfWhatIsNew: String {
    let (events, lines) = (events.map(\.json), transcript)
    let shown = beginShowing(events.count, lines.count)
    let parts = [
      Self.part("timeline", events, from: shown.events),
      lines.isEmpty ? nil : Self.part("transcript", lines, from: shown.lines),
    ]
    return parts.compactMap(\.self).joined(separator: "\n")
  }

  private static func part(_ name: String, _ lines: [String], from first: Int) -> String {
    let new = lines.dropFirst(first)
    var text = first == 0 ? "the world's \(name):" : "the world's \(name), from line \(first + 1):"
    if new.isEmpty { return text + " nothing more" }
    if new.count > lineLimit { text += " (\(new.count - lineLimit) lines are left out)" }
    return ([text] + new.suffix(lineLimit)).joined(separator: "\n")
  }
}
