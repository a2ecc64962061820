import AccessoryCore
import AccessoryFormats
import IAP2

extension JSONObject {
  /// Starts an event in the format that all events of `--json` share.
  ///
  /// - Parameters:
  ///   - side: the side on which the event happened; nil for an event that belongs to neither role.
  ///   - members: the event's additional members.
  public init(
    event: String, at time: Instant, side: TimelineEvent.Side? = nil, _ members: JSONObject = [:]
  ) {
    self = ["v": TimelineEvent.jsonVersion, "t": time, "side": side?.rawValue, "event": event]
    add(members)
  }
}

extension TimelineEvent {
  /// The version of the format that ``json`` uses.
  public static let jsonVersion = 1

  /// The event as a line of JSON, in the format that all events of `--json` share.
  ///
  /// ```json
  /// {"v":1,"t":0.250113,"side":"device","event":"connect",
  ///  "accessory":{"name":"…","serial":"…","protocols":[],"connectionID":33685633}}
  /// ```
  public var json: String { object().text }

  /// Returns the event as a JSON object. The closure `name` returns the name of a remedy in the program that shows the
  /// event.
  public func object(naming name: (Refusal.Remedy) -> String? = { _ in nil }) -> JSONObject {
    var object = JSONObject(event: kind.name, at: time, side: side, ["accessory": subject?.json])
    switch kind {
    case .attach(let place): object.add("on", place)
    case .detach(let reason): object.add("reason", reason)
    case .link(let isUp, let text): object.add(["up": isUp, "text": text])
    case .message(let passed): object.add(passed)
    case .identification(let text), .alert(let text), .fault(let text), .warning(let text), .note(let text):
      object.add("text", text)
    case .authentication(let step): object.add("text", step.description)
    case .refused(let refusal):
      let advice = refusal.advice(naming: name)
      object.add(["reason": refusal.name, "text": refusal.sentence, "advice": advice.isEmpty ? nil : advice])
    case .connect, .disconnect: break
    case .sessionOpen(let id, let name): object.add(["session": id, "protocol": name])
    case .sessionClose(let id, let name, let reason, let read, let written):
      object.add(["session": id, "protocol": name, "reason": reason, "bytesRead": read, "bytesWritten": written])
    case .result(let passed, let text): object.add(["passed": passed, "text": text])
    }
    return object
  }
}

extension TimelineEvent.Subject {
  /// The accessory as a JSON object.
  public var json: JSONObject {
    return ["name": name, "serial": serial, "protocols": protocols, "connectionID": connectionID]
  }
}

extension JSONObject {
  /// Adds a control message as the fields of a `message` event.
  ///
  /// ```json
  /// "direction":"received","id":"EA03","name":"StatusExternalAccessoryProtocolSession",
  /// "parameters":[{"id":0,"name":"session","value":1},{"id":1,"name":"status","value":0}]
  /// ```
  mutating func add(_ passed: PassedMessage) {
    let message = passed.message
    let name = MessageCatalog.entry(message.id)?.name ?? ""
    add([
      "direction": passed.direction.rawValue, "id": Hex.number(message.id.rawValue), "name": name.isEmpty ? nil : name,
    ])
    do throws(ParameterError) {
      add("parameters", Self.list(try message.decoded()))
    } catch {
      add("unreadable", error.description)
      addHex(message.body)
    }
  }

  private static func list(_ parameters: [DecodedParameter]) -> [JSONObject] {
    parameters.map { parameter in
      var object: JSONObject = ["id": Int(parameter.id), "name": parameter.name.isEmpty ? nil : parameter.name]
      switch parameter.value {
      case .text(let text): object.add("value", text)
      case .number(let number): object.add("value", number)
      case .signed(let number): object.add("value", number)
      case .list(let list): object.add("value", list.map { Hex.number($0) })
      case .group(let group): object.add("parameters", list(group))
      case .present: object.add("value", true)
      case .bytes(let bytes): object.addHex(bytes)
      }
      return object
    }
  }

  /// Adds bytes. Long data is truncated, and its full length is added.
  private mutating func addHex(_ bytes: [UInt8]) {
    let shown = 1_024
    add(["hex": Hex.plain(bytes.prefix(shown)), "bytes": bytes.count > shown ? bytes.count : nil])
  }
}
