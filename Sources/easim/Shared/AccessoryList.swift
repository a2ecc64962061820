import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessorySessions

/// Lists accessories, one per line. A line shows what the medium reports about the accessory, or why it cannot be used.
enum AccessoryList {
  static func text(_ accessories: [FoundAccessory]) -> String {
    TextTable.lines(rows(accessories)).joined(separator: "\n")
  }

  static func rows(_ accessories: [FoundAccessory]) -> [[String]] {
    accessories.map { accessory in
      let offer = accessory.protocols.map { $0.isEmpty ? "(no protocols)" : $0.joined(separator: " ") }
      let state = accessory.card.map { "pid \($0.process.pid)" } ?? accessory.trouble.map { "(\($0.detail))" } ?? "iAP2"
      return [
        "\(accessory.address)".shellWord, accessory.name, accessory.manufacturer ?? "-", accessory.model ?? "-",
        offer ?? accessory.serial ?? "-", state,
      ]
    }
  }
}

extension FoundAccessory {
  /// The accessory as a line of JSON: an `attach` event, or, if the accessory cannot be used, a `warning` with the
  /// reason.
  var listing: String {
    let accessory: JSONObject = [
      "name": name, "serial": serial ?? "", "manufacturer": manufacturer, "model": card?.appearance.model,
      "protocols": card?.appearance.protocols,
    ]
    let usb: String? = if case .usb = address { model } else { nil }
    return JSONObject(
      event: trouble == nil ? "attach" : "warning", at: .origin, side: .accessory,
      [
        "accessory": accessory, "on": "\(address)", "pid": card.map { Int($0.process.pid) },
        "attachedAt": card?.attachedSeconds, "usb": usb, "text": trouble?.description,
      ]
    ).text
  }
}

extension AccessoryChange {
  func events(at time: Instant) -> [TimelineEvent] {
    func event(_ kind: TimelineEvent.Kind, _ accessory: FoundAccessory?) -> TimelineEvent {
      TimelineEvent(time: time, side: .accessory, kind: kind, subject: accessory?.subject)
    }
    switch self {
    case .arrived(let it):
      return [event(.attach("\(it.address)"), it)] + (it.trouble.map { [event(.warning($0.description), it)] } ?? [])
    case .left(let it, let reason): return [event(.detach(reason), it)]
    case .changed(let it, let before):
      if let protocols = it.protocols {
        let offer = protocols.isEmpty ? "no protocols" : protocols.joined(separator: ", ")
        return [event(.note("\(it.name) offers \(offer) now"), it)]
      }
      guard it.trouble != before.trouble else { return [] }
      return [event(it.trouble.map { .warning($0.description) } ?? .note("\(it.address) can be used now"), it)]
    case .passed(let it):
      return [
        event(.attach(it.map { "\($0.address)" } ?? "a local accessory, unplugged before easim could identify it"), it),
        event(.detach("it was plugged in too briefly"), it),
      ]
    case .warning(let text): return [event(.warning(text), nil)]
    }
  }
}
