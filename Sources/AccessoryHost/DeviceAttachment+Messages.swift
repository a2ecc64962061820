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
      player = makePlayer(device.rules)
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
      if let text = declarations.warning(about: message.id, sentByAccessory: declared) { warn(text) }
    }
    if message.id == .startNowPlayingUpdates, let player { offerArtwork(message, player) }
    applyRules(to: message)
  }

  /// Sends a message if the accessory is identified and has this serial number; nil stands for any serial number.
  func send(_ id: MessageID, _ parameters: [MessageRule.Element], ifSerialIs serial: String?) -> Bool {
    guard let identified, serial == nil || serial == identified.serial else { return false }
    return send(id, parameters)
  }

  func handleLaunch(_ request: AppLaunchRequest) {
    log(
      .note(
        "the accessory asks to launch the app \(request.bundleID)\(request.withAlert ? ", after asking the user" : "")")
    )
    device.launchRequested(request)
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
