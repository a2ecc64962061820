import AccessoryCore
import AccessoryFormats

extension JSONObject {
  /// Begins an event in the common shape of `--json`.
  ///
  /// - Parameter side: where it happened; nil for events of no particular role.
  public init(event: String, at time: Instant, side: TimelineEvent.Side? = nil) {
    self.init()
    add("v", TimelineEvent.jsonVersion)
    add("t", seconds: time)
    if let side { add("side", side.rawValue) }
    add("event", event)
  }
}

extension TimelineEvent {
  /// The version of the shape that ``json`` has.
  public static let jsonVersion = 1

  /// The event as one line of JSON, in the one shape that all of `--json` has.
  ///
  /// ```json
  /// {"v":1,"t":0.250113,"side":"device","event":"connect","accessory":{"name":"…","serial":"…","protocols":[],"connectionID":33685633}}
  /// ```
  public var json: String { object().text }

  /// The same as an object; `name` is what a remedy against a refusal is called where this is read.
  public func object(naming name: (Refusal.Remedy) -> String? = { _ in nil }) -> JSONObject {
    var object = JSONObject(event: kind.name, at: time, side: side)
    if let subject { object.add("accessory", subject.json) }
    switch kind {
    case .attach(let place): object.add("on", place)
    case .detach(let reason): object.add("reason", reason)
    case .link(let isUp, let text):
      object.add("up", isUp)
      object.add("text", text)
    case .message(let passed): object.add(passed)
    case .identification(let text), .alert(let text), .fault(let text), .warning(let text), .note(let text):
      object.add("text", text)
    case .authentication(let step): object.add("text", step.description)
    case .refused(let refusal):
      object.add("reason", refusal.name)
      object.add("text", refusal.sentence)
      let advice = refusal.advice(naming: name)
      if !advice.isEmpty { object.add("advice", advice) }
    case .connect, .disconnect: break
    case .sessionOpen(let id, let name):
      object.add("session", id)
      object.add("protocol", name)
    case .sessionClose(let id, let name, let reason, let read, let written):
      object.add("session", id)
      object.add("protocol", name)
      object.add("reason", reason)
      object.add("bytesRead", read)
      object.add("bytesWritten", written)
    case .result(let passed, let text):
      object.add("passed", passed)
      object.add("text", text)
    }
    return object
  }
}

extension TimelineEvent.Subject {
  /// The subject as an object of JSON.
  public var json: JSONObject {
    var object = JSONObject()
    object.add("name", name)
    object.add("serial", serial)
    object.add("protocols", protocols)
    if let connectionID { object.add("connectionID", connectionID) }
    return object
  }
}
