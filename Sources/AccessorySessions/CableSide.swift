import AccessoryCore
import IAP2

/// Either end of a cable, with the messages and files that do not belong to identification or sessions: the messages
/// that the end's rules send, file transfers, and warnings about the other end.
package protocol CableSide: ConnectionOwner {
  associatedtype Role: PeerRole

  /// The other end, as warnings call it.
  static var otherEnd: String { get }
  var connection: Connection<Role> { get }
  /// Sends the messages of the rules, or is nil if there are no rules.
  var player: MessagePlayer? { get set }
  /// The file transfers, or nil until the first transfer.
  var files: FileTransfers? { get set }
  /// Limits the warnings about the other end, which may make a mistake in every packet. Nil until the first warning.
  var warnings: ReportLimit? { get set }
  /// The time in seconds since 1970 at which the loop's clock was 0.
  var epoch: UInt64 { get }
  /// Stores received files, or is nil if files are dropped.
  var keepFile: FileTransfers.Keeper? { get }
  func log(_ kind: consuming TimelineEvent.Kind)
}

extension CableSide {
  /// Warns about a mistake of the other end, or only counts the mistake if there have been too many.
  package func warn(_ text: String) {
    let limit =
      warnings
      ?? ReportLimit("warnings about bytes and messages from the other end", on: connection.loop) { [unowned self] in
        log(.warning($0))
      }
    warnings = limit
    limit.report(text)
  }

  package func makePlayer(_ rules: [MessageRule]) -> MessagePlayer {
    MessagePlayer(rules, epoch: epoch, on: connection.loop) { [unowned self] message in
      let isSent = connection.perform { peer, _ in peer.core.sendIfRoom(message) }
      if !isSent { warn("\(message.id) was not sent: the \(Self.otherEnd) has acknowledged too few messages") }
    }
  }

  /// Passes a received message to the rules.
  package func applyRules(to message: ControlMessage) {
    guard let player else { return }
    let dropped = player.dropped
    player.heard(message)
    if player.dropped > dropped {
      warn("too many answers are waiting to be sent: \(message.id) gets no answer")
    }
  }

  /// Sends a message. If the rules already send it, changes the rules' parameters instead. Returns true if the message
  /// was sent immediately.
  package func send(_ id: MessageID, _ parameters: [MessageRule.Element]) -> Bool {
    switch player?.change(id, parameters) ?? .unknown {
    case .sent: return true
    case .kept: return false
    case .unknown:
      let seconds = epoch &+ UInt64(max(0, connection.loop.now.nanoseconds / 1_000_000_000))
      return connection.perform { peer, _ in peer.core.send(ControlMessage(id, parameters, seconds: seconds)) }
    }
  }

  /// The file transfers, or nil if the link has no session for them.
  package var transfers: FileTransfers? {
    if let files { return files }
    guard let limit = connection.inspect({ $0.core.filePacketLimit }) else { return nil }
    files = FileTransfers(packetLimit: limit, keep: keepFile) { [unowned self] packet in
      connection.perform { peer, _ in _ = peer.core.send(filePacket: packet) }
    } report: { [unowned self] kind in
      if case .warning(let text) = kind { warn(text) } else { log(kind) }
    }
    return files
  }

  /// Stops the rules and the file transfers, because the link is down.
  package func stopMessages() {
    player?.stop()
    files?.stop()
    files = nil
  }
}

/// Finds control messages that the identification does not declare, and reports each of them once per cable.
///
/// Authentication and identification messages (AAxx and 1Dxx) need not be declared.
package struct DeclarationWatch {
  private var reported: Set<MessageID> = []

  package init() {}

  /// Returns the warning about a message from the accessory. `declared` contains the messages that the accessory
  /// declares it may send. `declared` is nil until the identification is accepted.
  package mutating func warning(about message: MessageID, sentByAccessory declared: [MessageID]?) -> String? {
    guard isNew(message, declared) else { return nil }
    let hint = Self.hint(message, .accessory)
    guard declared != nil else {
      return "the accessory sent \(message) before its identification was accepted\(hint)"
    }
    return "the accessory sent \(message), which it did not declare (parameter 6)\(hint)"
  }

  /// Returns the warning about a message from the device. `declared` contains the messages that the accessory declares
  /// it can receive.
  package mutating func warning(about message: MessageID, sentByDevice declared: [MessageID]) -> String? {
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
