import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessorySessions

/// An event in a world, as sent to clients: a timeline entry, an app's notification, a session's event, or a change
/// made by a request. The notices of each world are numbered starting at 1.
struct ControlNotice {
  enum Content {
    case event(TimelineEvent)
    case app(AppNews)
    case session(SessionNews)
    case change(ChangeNews)
  }

  let number: Int
  let world: String
  let content: Content
  var accessory: String?

  var method: String {
    switch content {
    case .event: "event"
    case .app: "app"
    case .session: "session"
    case .change: "change"
    }
  }

  var name: String {
    switch content {
    case .event(let event): event.kind.name
    case .app(let news): news.name
    case .session(let news): news.name
    case .change(let news): news.request
    }
  }

  var time: Instant {
    switch content {
    case .event(let event): event.time
    case .app(let news): news.time
    case .session(let news): news.time
    case .change(let news): news.time
    }
  }

  var json: String {
    var object: JSONObject = ["world": world, "number": number, "accessory": accessory]
    switch content {
    case .event(let event): object.add("event", event.object { $0 == .transcript ? "capture.start" : nil })
    case .app(let news): object.add(news.json)
    case .session(let news): object.add(news.json)
    case .change(let news): object.add(news.json)
    }
    return object.text
  }
}

/// A message that the server sends without being asked: a notice or the state of a job.
package final class ControlNews {
  private enum Content {
    case notice(ControlNotice)
    case made(JSON5Value)
  }

  package let method: String
  private let content: Content

  init(_ notice: ControlNotice) { (method, content) = (notice.method, .notice(notice)) }

  init(_ method: String, _ params: JSON5Value) { (self.method, content) = (method, .made(params)) }

  package private(set) lazy var params: JSON5Value =
    switch content {
    case .notice(let notice): (try? JSON5.read(notice.json, file: "notice")) ?? .null
    case .made(let tree): tree
    }

  var tree: JSON5Value { .object([.init("method", .text(method)), .init("params", params)]) }

  /// The notification as a line, which is encoded only once for all clients.
  private(set) lazy var line: String =
    switch content {
    case .notice(let notice): RPCDocument.notification(method, notice.json)
    case .made(let tree): RPCDocument.notification(method, JSON5Writer.line(tree))
    }
}

struct AppNews {
  let app: String
  let name: String
  var accessory: PublishedAccessory?
  var reason: String?
  /// Whether the accessory was chosen in the Bluetooth picker.
  var isSelected = false
  let time: Instant

  var json: JSONObject {
    [
      "t": time, "app": app, "event": name,
      "accessory": accessory.map { PublishedAccessory.answer.tree($0) },
      "selected": isSelected ? true : nil, "reason": reason,
    ]
  }
}

struct SessionNews {
  let session: String
  let name: String
  let time: Instant
  /// The accessory's ID if the event occurred at an accessory's end, or nil if it occurred at an app's end.
  var accessory: String?
  var app: String?
  var protocolName: String?
  var reason: String?
  var counters: (read: Int, written: Int)?

  var json: JSONObject {
    [
      "t": time, "session": session, "event": name, "app": app, "accessory": accessory, "protocol": protocolName,
      "reason": reason, "bytesRead": counters?.read, "bytesWritten": counters?.written,
    ]
  }
}

struct ChangeNews {
  /// Longer parameters and results are omitted, because each world keeps thousands of notices.
  private static let longest = 1_000

  let request: String
  let time: Instant
  private let params: String?
  private let result: String?

  init(_ request: String, _ params: JSON5Value, _ result: JSON5Value, of shape: RecordShape, at time: Instant) {
    (self.request, self.time) = (request, time)
    self.params = Self.line(params)
    // If the result describes the state of an object, the notice contains only the IDs in the result. If a result has
    // only one key, the value is the ID of a new object.
    guard case .object(let members) = result.content, !members.isEmpty else {
      self.result = nil
      return
    }
    let ids = ["world", "accessory", "app", "session", "fault", "host", "proxy", "capture", "job"]
    let told = shape.fields.count == 1 ? members : members.filter { ids.contains($0.key) }
    self.result = told.isEmpty ? nil : Self.line(.object(told))
  }

  private static func line(_ tree: JSON5Value) -> String? {
    let line = JSON5Writer.write(tree, as: .jsonLine).dropLast()
    return line.utf8.count > longest ? nil : String(line)
  }

  var json: JSONObject {
    ["t": time, "request": request, "params": params.map { RawJSON($0) }, "result": result.map { RawJSON($0) }]
  }
}

struct NoticeFilter: Sendable {
  var event = ""
  var side: TimelineEvent.Side?
  var accessory: (id: String, serial: String)?
  var app: String?
  var session: String?

  func takes(_ notice: ControlNotice) -> Bool {
    guard event.isEmpty || notice.name == event else { return false }
    switch notice.content {
    case .event(let event):
      return app == nil && session == nil && (side == nil || event.side == side)
        && (accessory == nil || notice.accessory == accessory?.id)
    case .app(let news):
      return news.app == app && (accessory == nil || news.accessory?.serialNumber == accessory?.serial)
    case .session(let news): return news.session == session
    case .change: return !event.isEmpty && side == nil && accessory == nil && app == nil && session == nil
    }
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
