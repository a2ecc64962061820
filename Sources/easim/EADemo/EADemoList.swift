import AccessoryFormats
import AccessoryHost

enum EADemoList {
  static func lines(_ accessories: [PublishedAccessory], place: String) -> [String] {
    if accessories.isEmpty { return [nothing(place)] }
    return accessories.enumerated().map { "\($0.offset + 1)  \(line($0.element))" }
  }

  static func nothing(_ place: String) -> String { "No Accessories Connected (looked at \(place))" }

  static func line(_ accessory: PublishedAccessory) -> String {
    let offer = accessory.protocols.isEmpty ? "no protocols" : accessory.protocols.joined(separator: " ")
    return "\(accessory.name.spelledOut) (\(accessory.serialNumber.spelledOut)) [\(offer.spelledOut)] connectionID "
      + "\(accessory.connectionID)"
  }

  static func details(_ accessory: PublishedAccessory) -> [String] {
    properties(accessory)
      + (accessory.protocols.isEmpty
        ? ["protocols: none yet"] : accessory.protocols.map { "protocol: \($0.spelledOut)" })
  }

  static func properties(_ accessory: PublishedAccessory) -> [String] {
    let fields = [
      ("name", accessory.name), ("manufacturer", accessory.manufacturer), ("model", accessory.modelNumber),
      ("serial", accessory.serialNumber), ("firmware", accessory.firmwareRevision),
      ("hardware", accessory.hardwareRevision), ("connectionID", "\(accessory.connectionID)"),
    ]
    return fields.map { "\($0.0): \($0.1.spelledOut)" }
  }

  static var help: [String] {
    let width = EADemoCommand.table.map(\.form.count).max() ?? 0
    return EADemoCommand.table.map { form, summary, _ in
      "\(form.padded(to: width))  \(summary)"
    }
  }

  static func unfit(_ accessories: [PublishedAccessory], _ name: String?) -> String {
    let offered = accessories.flatMap(\.protocols).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    guard let name, !offered.isEmpty else { return "no connected accessory offers \(name ?? "a protocol")" }
    let near = Suggestion.nearHint(for: name, in: offered)
    return "no connected accessory offers \(name); offered: \(offered.map(\.spelledOut).joined(separator: ", "))\(near)"
  }
}

enum EADemoChoice: Equatable {
  case one(PublishedAccessory, String)
  /// No accessory matches yet, but one may appear: an accessory may reconnect with protocols, or a new one may appear
  /// in a local directory.
  case notYet
  /// The selection is invalid or incomplete for the given reason.
  case wrong(String)

  init(among accessories: [PublishedAccessory], protocolName name: String?, number: Int?) {
    let meant = number.map { $0 <= accessories.count ? [accessories[$0 - 1]] : [] } ?? accessories
    let fit = meant.filter { name.map($0.protocols.contains) ?? !$0.protocols.isEmpty }
    if let accessory = fit.first, fit.count == 1 {
      if let name {
        self = .one(accessory, name)
      } else if accessory.protocols.count == 1 {
        self = .one(accessory, accessory.protocols[0])
      } else {
        self = .wrong("several protocols are offered, choose one: \(accessory.protocols.joined(separator: ", "))")
      }
    } else if fit.count > 1 {
      let numbers = fit.compactMap { one in accessories.firstIndex { $0.connectionID == one.connectionID } }
      let list = numbers.map { "\($0 + 1)" }.joined(separator: ", ")
      self = .wrong("several accessories offer the protocol, give a number after it: \(list)")
    } else {
      self = .notYet
    }
  }
}
