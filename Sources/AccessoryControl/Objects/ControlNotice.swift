import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessorySessions

/// An event in a world, as sent to clients: a timeline entry, an app's notification, a session's event, or a change
/// made by a request. The notices of each world are numbered starting at 1.
struct ControlNotice {
  /// What a notice is about.
  enum Content {
    case event(TimelineEvent)
    case app(String, PublishedAccessory?)
    case session(String)
    case change
  }

  let number: Int
  let world: String
  let content: Content
  /// The name of the event, or of the request that changed something.
  let name: String
  let time: Instant
  let accessory: String?
  /// The keys of a notice that is not a timeline entry.
  let details: JSONObject

  var method: String {
    switch content {
    case .event: "event"
    case .app: "app"
    case .session: "session"
    case .change: "change"
    }
  }

  var json: String {
    var object: JSONObject = ["world": world, "number": number, "accessory": accessory]
    if case .event(let event) = content {
      object.add("event", event.object { $0 == .transcript ? "capture.start" : nil })
    } else {
      object.add("t", time)
      object.add(details)
    }
    return object.text
  }

  /// The notice with its method, for use in results.
  var tree: JSON5Value {
    let params = (try? JSON5.read(json, file: "notice")) ?? .null
    return .object([.init("method", .text(method)), .init("params", params)])
  }
}

extension PublishedAccessory {
  static let answer = Answer<PublishedAccessory>("connected accessory", "an accessory as an app sees it") {
    Key("connectionID", .integer(0...Int.max), "the connection ID; a new one for each connection") { $0.connectionID }
    Key("name", .text, "the accessory's name") { $0.name }
    Key("manufacturer", .text, "the accessory's manufacturer") { $0.manufacturer }
    Key("modelNumber", .text, "the accessory's model number") { $0.modelNumber }
    Key("serialNumber", .text, "the accessory's serial number") { $0.serialNumber }
    Key("firmwareRevision", .text, "the accessory's firmware version") { $0.firmwareRevision }
    Key("hardwareRevision", .text, "the accessory's hardware version") { $0.hardwareRevision }
    Key(
      "protocols", .list(of: .text),
      "the protocols that the accessory currently offers; empty in the first half of a flicker"
    ) { $0.protocols }
  }
}
