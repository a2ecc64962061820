import AccessoryCore
import AccessoryHost
import AccessorySessions
import AccessoryUSB

/// Accessories on USB, one line each, near misses with the reason.
enum USBList {
  /// Indented lines, for the end of a message.
  static func text(_ accessories: [USBAccessory]) -> String {
    TextTable.lines(rows(accessories)).joined(separator: "\n")
  }

  static func rows(_ accessories: [USBAccessory]) -> [[String]] {
    accessories.map { accessory in
      let state = accessory.trouble.map { "(\($0.brief))" } ?? "iAP2"
      return [
        "\(accessory.address)", accessory.title, accessory.manufacturer ?? "-", accessory.numbers,
        accessory.serial ?? "-", state,
      ]
    }
  }
}

extension USBAccessory {
  /// Who it is, as events name it. Its protocols are known when it has identified itself.
  var subject: TimelineEvent.Subject { .init(name: title, serial: serial ?? "", protocols: []) }

  /// The accessory as one line of JSON, in the shape of an `attach` event; a near miss is a `warning` with the reason.
  var listing: String {
    var accessory = JSONObject()
    accessory.add("name", title)
    accessory.add("serial", serial ?? "")
    if let manufacturer { accessory.add("manufacturer", manufacturer) }
    var object = JSONObject(event: trouble == nil ? "attach" : "warning", at: .origin, side: .accessory)
    object.add("accessory", accessory)
    object.add("on", "\(address)")
    object.add("usb", numbers)
    if let trouble { object.add("text", trouble.description) }
    return object.text
  }
}

extension USBDevices.Change {
  /// What happened as events, of the accessories that are meant.
  func events(at time: Instant, _ selector: Address.USBSelector) -> [TimelineEvent] {
    func event(_ kind: TimelineEvent.Kind, _ accessory: USBAccessory) -> [TimelineEvent] {
      guard accessory.isMeant(by: selector) else { return [] }
      return [TimelineEvent(time: time, side: .accessory, kind: kind, subject: accessory.subject)]
    }
    switch self {
    case .arrived(let it):
      return event(.attach("\(it.address)"), it)
        + (it.trouble.map { event(.warning("\(it.address): \($0)"), it) } ?? [])
    case .left(let it): return event(.detach("unplugged"), it)
    case .changed(let it, let before):
      guard it.trouble != before.trouble else { return [] }
      let text = it.trouble.map { "\(it.address): \($0)" } ?? "\(it.address) can be used now"
      return event(it.trouble == nil ? .note(text) : .warning(text), it)
    }
  }
}
