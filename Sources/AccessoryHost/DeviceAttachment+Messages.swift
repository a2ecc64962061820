import AccessoryCore
import AccessorySessions
import IAP2

// File transfers, messages sent by the device's rules, and other messages that do not belong to identification or
// sessions.
extension DeviceAttachment {
  /// Once this accessory's identification has been accepted, starts the rules that apply to it. A rule may send a
  /// message immediately.
  func beginRules(_ identification: Identification) {
    let declared = identification.messagesReceived
    guard player != nil || MessageRules.concern(device.rules, declared: declared) else { return }
    if player == nil {
      player = MessagePlayer(device.rules, epoch: device.settings.epoch, on: device.loop) { [unowned self] message in
        sendAnswer(message)
      }
      connection.perform { [device] peer, _ in peer.core.heardMessages = device.heardMessages }
    }
    player?.begin(declared: declared)
  }

  /// Adds a sent or received message to the timeline and applies the rules to it.
  func handlePassing(_ passed: PassedMessage) {
    let isShown = device.settings.reportsMessages
    if isShown { log(.message(passed)) }
    guard passed.direction == .received else { return }
    let message = passed.message
    if isShown {
      let declared = connection.inspect { $0.identification?.messagesSent }
      if let text = declarations.warning(about: message.id, sentByAccessory: declared) { note(.warning(text)) }
    }
    guard let player else { return }
    if message.id == .startNowPlayingUpdates { offerArtwork(message, player) }
    let dropped = player.dropped
    player.heard(message)
    if player.dropped > dropped {
      note(.warning("too many answers are waiting to be sent: \(message.id) gets no answer"))
    }
  }

  private func sendAnswer(_ message: ControlMessage) {
    let isSent = connection.perform { peer, _ in peer.core.sendIfRoom(message) }
    if !isSent { note(.warning("\(message.id) was not sent: the accessory has acknowledged too few messages")) }
  }

  /// Sends a message. If the device's rules already send it, changes the rules' parameters instead. Returns true if the
  /// message was sent immediately.
  func send(_ id: MessageID, _ parameters: [MessageRule.Element], ifSerialIs serial: String?) -> Bool {
    guard let identified, serial == nil || serial == identified.serial else { return false }
    switch player?.change(id, parameters) ?? .unknown {
    case .sent: return true
    case .kept: return false
    case .unknown:
      let seconds = device.settings.epoch &+ UInt64(max(0, device.loop.now.nanoseconds / 1_000_000_000))
      return connection.perform { peer, _ in peer.core.send(ControlMessage(id, parameters, seconds: seconds)) }
    }
  }

  func handleLaunch(_ request: AppLaunchRequest) {
    log(
      .note(
        "the accessory asks to launch the app \(request.bundleID)\(request.withAlert ? ", after asking the user" : "")")
    )
    device.launchRequested(request)
  }

  // MARK: Files

  func handleFile(_ packet: [UInt8]) {
    transfers?.receive(packet)
  }

  private var transfers: FileTransfers? {
    if let files { return files }
    guard let limit = connection.inspect({ $0.core.filePacketLimit }) else { return nil }
    files = FileTransfers(packetLimit: limit, keep: device.settings.keepFile) { [unowned self] packet in
      connection.perform { peer, _ in _ = peer.core.send(filePacket: packet) }
    } report: { [unowned self] kind in
      if case .warning = kind { note(kind) } else { log(kind) }
    }
    return files
  }

  /// If the accessory asks for the current track's artwork, starts the file transfer before sending the update that
  /// refers to the file.
  private func offerArtwork(_ message: ControlMessage, _ player: MessagePlayer) {
    if let offered, files?.isUnderWay(offered) == true { return }
    guard let artwork = device.settings.artwork, let parameters = try? ParameterReader.read(message.body),
      let item = try? parameters.first(0)?.group(), item.first(26) != nil,
      let id = transfers?.begin(artwork, type: 2)
    else { return }
    offered = id
    _ = player.change(.nowPlayingUpdate, [.init(0, .group([.init(26, .bytes([id]))]))])
  }
}
