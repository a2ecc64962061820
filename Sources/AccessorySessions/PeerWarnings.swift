import AccessoryCore
import IAP2

/// Reports mistakes made by the peer at the other end of a cable. Warnings are limited (see ``ReportLimit``), because
/// the peer may make a mistake in every packet and flood a terminal.
public final class PeerWarnings {
  private let limit: ReportLimit

  /// Creates an object that passes warnings to `report`.
  public init(on loop: any EventLoop, report: @escaping (TimelineEvent.Kind) -> Void) {
    limit = ReportLimit("warnings about bytes and messages from the other end", on: loop) { report(.warning($0)) }
  }

  /// Reports a warning, or only counts it if there have been too many.
  public func note(_ warning: TimelineEvent.Kind) {
    guard case .warning(let text) = warning else { preconditionFailure("\(warning) is no warning") }
    limit.report(text)
  }

  /// Reports the counted warnings immediately, because the cable has ended.
  public func flush() {
    limit.flush()
  }
}

/// Finds control messages that the identification does not declare, and reports each of them once per cable.
///
/// Authentication and identification messages (AAxx and 1Dxx) need not be declared.
public struct DeclarationWatch {
  private var reported: Set<MessageID> = []

  /// Creates a watch that has not reported anything.
  public init() {}

  /// Returns the warning about a message from the accessory. `declared` contains the messages that the accessory
  /// declares it may send. `declared` is nil until the identification is accepted.
  public mutating func warning(about message: MessageID, sentByAccessory declared: [MessageID]?) -> String? {
    guard isNew(message, declared) else { return nil }
    let hint = Self.hint(message, .accessory)
    guard declared != nil else {
      return "the accessory sent \(message) before its identification was accepted\(hint)"
    }
    return "the accessory sent \(message), which it did not declare (parameter 6)\(hint)"
  }

  /// Returns the warning about a message from the device. `declared` contains the messages that the accessory declares
  /// it can receive.
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
