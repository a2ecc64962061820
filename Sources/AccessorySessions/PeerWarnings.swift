import AccessoryCore
import IAP2

/// Reports what the other end of one cable does wrong. It may do so with every packet, and a terminal is not to be filled
/// by that: see ``ReportLimit``.
public final class PeerWarnings {
  private let limit: ReportLimit

  /// Creates warnings that are passed to `report`.
  public init(on loop: any EventLoop, report: @escaping (TimelineEvent.Kind) -> Void) {
    limit = ReportLimit("warnings about bytes and messages from the other end", on: loop) { report(.warning($0)) }
  }

  /// Reports a warning, or counts it.
  public func note(_ warning: TimelineEvent.Kind) {
    guard case .warning(let text) = warning else { preconditionFailure("\(warning) is no warning") }
    limit.report(text)
  }

  /// Reports at once how many were counted: the cable is gone.
  public func flush() {
    limit.flush()
  }
}

/// Finds control messages that an identification does not declare. Each is reported once for a cable.
///
/// Authentication and identification (AA.., 1D..) go without saying.
public struct DeclarationWatch {
  private var reported: Set<MessageID> = []

  /// One that has reported nothing.
  public init() {}

  /// The warning about a message that came from the accessory; `declared` are those that it may send, nil before its
  /// identification was accepted.
  public mutating func warning(about message: MessageID, sentByAccessory declared: [MessageID]?) -> String? {
    guard isNew(message, declared) else { return nil }
    let hint = Self.hint(message, .accessory)
    guard declared != nil else {
      return "the accessory sent \(message) before an identification was accepted\(hint)"
    }
    return "the accessory sent \(message), which it did not declare (parameter 6)\(hint)"
  }

  /// The warning about a message that came from the device; `declared` are those that the accessory wants.
  public mutating func warning(about message: MessageID, sentByDevice declared: [MessageID]) -> String? {
    guard isNew(message, declared) else { return nil }
    return
      "the device sent \(message), which the accessory did not declare (parameter 7)\(Self.hint(message, .device))"
  }

  private mutating func isNew(_ message: MessageID, _ declared: [MessageID]?) -> Bool {
    if [0x1D, 0xAA].contains(message.rawValue >> 8) || declared?.contains(message) == true { return false }
    return reported.insert(message).inserted
  }

  private static func hint(_ message: MessageID, _ sender: Link.Role) -> String {
    guard let entry = MessageCatalog.entry(message) else { return "; no message with this number is known" }
    guard let known = entry.sender, known != sender else { return "" }
    return "; only the \(known == .device ? "device" : "accessory") sends it"
  }
}
