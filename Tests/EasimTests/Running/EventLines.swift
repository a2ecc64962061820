import TestSupport
import Testing

/// The output of `--json`, line by line.
struct EventLines {
  let events: [StrictJSON]

  /// Reads every line; a line without the common form is an error that quotes it.
  init(_ out: String) throws {
    events = try out.split(separator: "\n").map { line in
      // Version, time and event come first, so that users can read the lines as well.
      try #require(line.hasPrefix("{\"v\":1,\"t\":"), "\(line)")
      let event = try StrictJSON(reading: String(line))
      try #require(event["v"] == .number(1) && event["t"]?.number != nil && event["event"]?.text != nil, "\(line)")
      return event
    }
  }

  /// The names of the events, in order.
  var names: [String] { events.compactMap { $0["event"]?.text } }

  /// The events with these names, in order.
  func events(_ names: String...) -> [StrictJSON] {
    events.filter { names.contains($0["event"]?.text ?? "") }
  }
}

extension StrictJSON {
  /// The protocols of the event's accessory.
  var protocols: [String]? {
    guard case .list(let names)? = self["accessory"]?["protocols"] else { return nil }
    return names.compactMap(\.text)
  }

  /// The number of the event's publication.
  var connectionID: Double? { self["accessory"]?["connectionID"]?.number }
}
