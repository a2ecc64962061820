import TestSupport
import Testing

struct EventLines {
  let events: [StrictJSON]

  init(_ out: String) throws {
    events = try out.split(separator: "\n").map { line in
      // The version, the time and the event come first, so that people can read the lines too.
      try #require(line.hasPrefix("{\"v\":1,\"t\":"), "\(line)")
      let event = try StrictJSON(reading: String(line))
      try #require(event["v"] == .number(1) && event["t"]?.number != nil && event["event"]?.text != nil, "\(line)")
      return event
    }
  }

  var names: [String] { events.compactMap { $0["event"]?.text } }

  func events(_ names: String...) -> [StrictJSON] {
    events.filter { names.contains($0["event"]?.text ?? "") }
  }
}

extension StrictJSON {
  var protocols: [String]? {
    guard case .list(let names)? = self["accessory"]?["protocols"] else { return nil }
    return names.compactMap(\.text)
  }

  var connectionID: Double? { self["accessory"]?["connectionID"]?.number }
}
