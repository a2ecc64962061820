import AccessoryCore
import AccessorySessions
import IAP2

// Handles an accessory's automatic messages, file transfers, and all other messages that do not belong to
// identification or sessions.
extension AccessoryAttachment {
  /// Starts the rules in the profile once the device has accepted the identification.
  func beginRules() {
    guard isWhole, !prepared.rules.isEmpty else { return }
    let player =
      player
      ?? MessagePlayer(prepared.rules, epoch: accessory.epoch, on: connection.loop) { [unowned self] message in
        sendAnswer(message)
      }
    self.player = player
    player.begin(declared: nil)
    player.connected()
  }

  /// Logs a control message that was sent or received, and passes received messages to the rules.
  func handlePassing(_ passed: PassedMessage) {
    if accessory.reportsMessages { log(.message(passed)) }
    guard passed.direction == .received else { return }
    if accessory.reportsMessages {
      let declared = connection.inspect { $0.identification.messagesReceived }
      if let text = declarations.warning(about: passed.message.id, sentByDevice: declared) { note(.warning(text)) }
    }
    guard let player else { return }
    let dropped = player.dropped
    player.heard(passed.message)
    if player.dropped > dropped {
      note(.warning("too many answers are waiting to be sent: \(passed.message.id) gets no answer"))
    }
  }

  private func sendAnswer(_ message: ControlMessage) {
    let isSent = connection.perform { peer, _ in peer.core.sendIfRoom(message) }
    if !isSent { note(.warning("\(message.id) was not sent: the device has acknowledged too few messages")) }
  }

  /// Sends a message, or changes what the rules send. Returns true if the message was sent immediately.
  func send(_ id: MessageID, _ parameters: [MessageRule.Element]) -> Bool {
    guard isIdentified else { return false }
    switch player?.change(id, parameters) ?? .unknown {
    case .sent: return true
    case .kept: return false
    case .unknown:
      let seconds = accessory.epoch &+ UInt64(max(0, connection.loop.now.nanoseconds / 1_000_000_000))
      return connection.perform { peer, _ in peer.core.send(ControlMessage(id, parameters, seconds: seconds)) }
    }
  }

  func handleFile(_ packet: [UInt8]) {
    if files == nil, let limit = connection.inspect({ $0.core.filePacketLimit }) {
      files = FileTransfers(packetLimit: limit, keep: accessory.keepFile) { [unowned self] packet in
        connection.perform { peer, _ in _ = peer.core.send(filePacket: packet) }
      } report: { [unowned self] kind in
        if case .warning = kind { note(kind) } else { log(kind) }
      }
    }
    files?.receive(packet)
  }
}
