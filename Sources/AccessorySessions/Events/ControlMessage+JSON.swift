import AccessoryCore
import AccessoryFormats
import IAP2

extension JSONObject {
  /// Adds a control message as the fields of a `message` event.
  ///
  /// ```json
  /// "direction":"received","id":"EA03","name":"StatusExternalAccessoryProtocolSession",
  /// "parameters":[{"id":0,"name":"session","value":1},{"id":1,"name":"status","value":0}]
  /// ```
  mutating func add(_ passed: PassedMessage) {
    let message = passed.message
    add("direction", passed.direction.rawValue)
    add("id", Hex.number(message.id.rawValue))
    if let name = MessageCatalog.entry(message.id)?.name, !name.isEmpty { add("name", name) }
    do throws(ParameterError) {
      add("parameters", raw: Self.list(try message.decoded()))
    } catch {
      add("unreadable", error.description)
      addHex(message.body)
    }
  }

  private static func list(_ parameters: [DecodedParameter]) -> String {
    let objects = parameters.map { parameter in
      var object = JSONObject()
      object.add("id", Int(parameter.id))
      if !parameter.name.isEmpty { object.add("name", parameter.name) }
      switch parameter.value {
      case .text(let text): object.add("value", text)
      case .number(let number): object.add("value", raw: "\(number)")
      case .signed(let number): object.add("value", raw: "\(number)")
      case .list(let list): object.add("value", list.map { Hex.number($0) })
      case .group(let group): object.add("parameters", raw: list(group))
      case .present: object.add("value", true)
      case .bytes(let bytes): object.addHex(bytes)
      }
      return object.text
    }
    return "[\(objects.joined(separator: ","))]"
  }

  /// Adds bytes; of many the first, and how many there are.
  private mutating func addHex(_ bytes: [UInt8]) {
    let shown = 1_024
    add("hex", Hex.plain(bytes.prefix(shown)))
    if bytes.count > shown { add("bytes", bytes.count) }
  }
}
