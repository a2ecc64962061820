import AccessoryCaptures
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import IAP2

extension Profile {
  /// Creates the profile of a recorded accessory, including any recorded flicker.
  public init(_ recording: Recording) throws(RecordingError) {
    guard let identification = recording.identification else { throw .noIdentification }
    self.init(recorded: identification)
    for (empty, whole) in zip(recording.attachments, recording.attachments.dropFirst())
    where empty.identification?.protocols.isEmpty == true && whole.identification?.protocols.isEmpty == false {
      func rounded(_ time: Duration) -> Duration {
        .milliseconds(max(0, (time.wholeNanoseconds + 500_000) / 1_000_000))
      }
      let length = rounded(empty.end - (empty.accepted ?? empty.begin))
      apply(.flicker(Flicker(empty: length, gap: rounded(whole.begin - empty.end))))
      break
    }
  }

  /// Creates the profile of an accessory from its identification in a capture.
  ///
  /// Omits the transport of wireless CarPlay, HID components, and unknown parameters, because a profile cannot express
  /// them.
  public init(recorded identification: Identification) {
    var identity = Identity(
      name: identification.name, manufacturer: identification.manufacturer, modelNumber: identification.model,
      serialNumber: identification.serialNumber, firmwareRevision: identification.firmwareVersion,
      hardwareRevision: identification.hardwareVersion)
    identity.productPlanUID = identification.productPlanUID
    identity.appMatchTeamID = identification.appMatchTeamID
    identity.currentLanguage = identification.currentLanguage
    identity.supportedLanguages = identification.supportedLanguages
    let protocols = identification.protocols.map {
      SessionProtocol(
        $0.name, id: $0.id, matchAction: MatchAction(rawValue: $0.matchAction.rawValue),
        nativeTransportComponent: $0.nativeTransportComponent)
    }
    self.init(name: Self.name(for: identification.model), identity: identity, protocols: protocols)
    power.maximumCurrent = identification.maximumCurrentDrawn
    power.capability =
      Power.Capability.allCases.first { $0.wireValue == identification.powerProvidingCapability } ?? .none
    messages.sent = identification.messagesSent.map { .id($0.rawValue) }
    messages.received = identification.messagesReceived.map { .id($0.rawValue) }
    let found = identification.transports.compactMap(Transport.init(recorded:))
    if !found.isEmpty { transports = found }
  }

  /// Returns a file name for a model, such as `lawk-view` for "Lawk View".
  private static func name(for model: String) -> String {
    let words = model.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    return words.isEmpty ? "recorded" : words.joined(separator: "-")
  }
}

extension Profile.Transport {
  fileprivate init?(recorded component: TransportComponent) {
    let kind: Kind
    switch component.kind {
    case .serial: kind = .serial
    case .usbDevice: kind = .usbDevice
    case .usbHost: kind = .usbHost
    case .bluetooth:
      kind = .bluetooth(Profile.MACAddress(component.address.reduce(0) { $0 << 8 | UInt64($1) }))
    case .wirelessCarPlay: return nil
    }
    self.init(kind, id: component.id, name: component.name, supportsIAP2: component.supportsIAP2)
  }
}

/// Reproduces the sessions of a recorded accessory when you plug in the accessory yourself.
///
/// Each new session replays the next recorded session for the same protocol. After the last recorded session, playback
/// starts over with the first session. If the bytes from the device differ from the recording, the session is closed
/// and a warning is added to the accessory's timeline.
///
/// ```swift
/// let recording = try Recording(capture: bytes)
/// let glasses = world.add(try Profile(recording), behavior: { _ in RecordedBehavior(recording) })
/// ```
///
/// By contrast, ``ReplayedAccessory`` also plugs in and unplugs the accessory at the recorded times.
public final class RecordedBehavior: AccessoryBehavior {
  private let sessions: [Recording.Session]
  private let settings: ReplaySettings
  private let differed: (ReplayDifference) -> Void
  private var played: [String: Int] = [:]

  /// Creates a behavior from a recording. `differed` is called with the first difference in each session, if there is
  /// one.
  public init(
    _ recording: Recording, _ settings: ReplaySettings = ReplaySettings(),
    differed: @escaping (ReplayDifference) -> Void = { _ in }
  ) {
    (sessions, self.settings, self.differed) = (recording.sessions, settings, differed)
  }

  /// Returns a handler that plays the next recorded session.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    let name = session.protocolName
    let candidates = sessions.filter { $0.protocolName == name }
    guard !candidates.isEmpty else {
      context.warn("the recording has no session on \(name)")
      context.loop.schedule(after: .zero) { session.close("the session is not in the recording") }
      return Discarder()
    }
    let index = played[name, default: 0]
    played[name] = index + 1
    let player = SessionPlayer(candidates[index % candidates.count], as: .accessory, settings, on: context.loop) {
      [differed] _, difference in
      guard let difference else { return }
      context.warn("\(difference)")
      differed(difference)
      session.close("the session differs from the recording")
    }
    player.start(on: session)
    return player
  }
}
