import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import Certificates
import IAP2

/// A simulated accessory at one port. The accessory behaves as its profile and its quirks specify.
///
/// ```swift
/// let glasses = SimulatedAccessory(profile, at: port, authenticator: coprocessor, on: loop) { print($0.json) }
/// try glasses.plugIn()
/// ```
public final class SimulatedAccessory {
  /// The accessory's profile. Quirks that scripts add are not part of this profile.
  public var profile: Profile { original.profile }
  private let original: PreparedProfile
  private var prepared: PreparedProfile
  let authenticator: any AccessoryAuthenticator
  let behavior: (Behavior) -> any AccessoryBehavior
  private let port: any Port
  private let adjustLink: (inout LinkSettings) -> Void
  private let handshakeTimeouts: HandshakeTimeouts
  let reportsMessages: Bool
  /// The time in seconds since 1970 at which the loop's clock was 0.
  public var epoch: UInt64 = 1_777_777_777 {
    didSet { madeScripts?.memory.epoch = epoch }
  }
  /// Receives the files that the device sends. If this closure is nil, files are dropped.
  public var keepFile: FileTransfers.Keeper?
  private let loop: any EventLoop
  private let report: (consuming TimelineEvent) -> Void
  /// Applies session quirks in all attachments. The value is nil if there are no session quirks.
  private(set) var sessionQuirks: SessionQuirks?
  let programs = ProgramKeeper()
  var scripts: ScriptHub {
    if let madeScripts { return madeScripts }
    let made = ScriptHub(ScriptMemory(state: profile.scriptStates.first, random: loop.random.derived("scripts")))
    made.memory.epoch = epoch
    made.perform = { [weak self] request in self?.perform(forScript: request) }
    madeScripts = made
    return made
  }
  private var madeScripts: ScriptHub?
  private var returnTimer: LoopTimer?
  private var absenceTimers: [LoopTimer] = []

  /// The reason why the port failed before any device connected, or nil if it did not fail.
  public private(set) var failure: String?
  /// How many times the accessory has been plugged in. Each connection of a flicker is counted.
  @exclusivity(unchecked) public private(set) var plugCount = 0
  @exclusivity(unchecked) private var hadCable = false
  /// The number of the accessory in its world, as used in events, or nil if the accessory is not in a world.
  @exclusivity(unchecked) package var worldNumber: Int?

  // Exclusivity is not checked, because every attachment and event uses these properties. They belong to the
  // accessory's loop, and no other code runs while they change.
  @exclusivity(unchecked) private var flicker: WireFlickerMachine
  @exclusivity(unchecked) private var random: SeededRandom
  @exclusivity(unchecked) private var attachment: AccessoryAttachment?
  @exclusivity(unchecked) private var refusals: ReportLimit?
  /// The most recent note about a device that has connected, because usually the same device connects again.
  @exclusivity(unchecked) private var greeting = (device: "", text: "")
  @exclusivity(unchecked) private var timer: LoopTimer?
  /// The subject of the accessory's events. The subject describes the accessory as it currently presents itself.
  @exclusivity(unchecked) private var subject: TimelineEvent.Subject

  /// Creates an accessory that is not plugged in yet. `report` is called on the loop for each event of the accessory.
  /// `link` can change link settings that profiles do not contain. A device that exceeds one of the `handshakeTimeouts`
  /// is disconnected. If `reportsMessages` is set, every control message causes an event, and every undeclared message
  /// causes a warning.
  public init(
    _ profile: Profile, at port: any Port, authenticator: any AccessoryAuthenticator, on loop: any EventLoop,
    handshakeTimeouts: HandshakeTimeouts = HandshakeTimeouts(), reportsMessages: Bool = false,
    link: @escaping (inout LinkSettings) -> Void = { _ in },
    behavior: ((Behavior) -> any AccessoryBehavior)? = nil,
    report: @escaping (consuming TimelineEvent) -> Void
  ) {
    self.port = port
    original = .prepared(profile)
    prepared = original
    self.authenticator = authenticator
    self.behavior = behavior ?? BuiltInBehaviors.behavior
    self.loop = loop
    self.report = report
    adjustLink = link
    self.handshakeTimeouts = handshakeTimeouts
    self.reportsMessages = reportsMessages
    flicker = WireFlickerMachine(flicker: profile.quirks.flicker)
    random = loop.random.derived("accessory")
    subject = original.subject(isWhole: false)
    let played = makeSessionQuirks()
    if !played.isEmpty { sessionQuirks = played }
  }

  deinit {
    returnTimer?.cancel()
    programs.endAll()
  }

  /// Whether the accessory is plugged in, even if it currently offers no protocols.
  public var isAttached: Bool {
    switch flicker.state {
    case .empty, .whole: true
    case .unplugged, .away: false
    }
  }

  /// The subject of events that concern the accessory regardless of its protocols.
  package var plainSubject: TimelineEvent.Subject { original.subject(isWhole: false) }

  /// Whether a quirk makes the device refuse the accessory's valid signatures.
  package var hasRefusedSignatures: Bool { original.profile.quirks.authentication?.answer == .refuse }

  /// Whether the accessory is plugged in with all of its protocols, as it is after a flicker.
  public var isWhole: Bool { flicker.state == .whole }

  /// The number of programs that the accessory's sessions have started and that are still running. When a session ends,
  /// its program has some time to exit. Releasing the accessory ends all programs immediately. The accessory must be
  /// unplugged before it is released.
  public var runningPrograms: Int { programs.count }

  /// Plugs the accessory in, or throws an error if the port cannot be opened. A port that fails later causes a warning.
  public func plugIn() throws {
    try perform(flicker.plugIn())
  }

  /// Unplugs the accessory, regardless of its state.
  public func unplug(_ reason: String = "unplugged") {
    returnTimer?.cancel()
    do { try perform(flicker.unplug(), reason) } catch { preconditionFailure("unplugging opens no port") }
  }

  /// Unplugs the accessory and plugs it in again with the profile's flicker or, if the profile has none, with the
  /// default flicker.
  public func flickerNow() {
    let action = flicker.flickerNow(Flicker(), now: loop.now, random: &random)
    do { try perform(action, "the flicker") } catch { preconditionFailure("unplugging opens no port") }
  }

  /// Closes all sessions with the connected device. The accessory stays attached.
  public func closeSessions() {
    attachment?.connection.closeSessions()
  }

  /// Forgets all sessions, which stay open on the device but get no answers. New sessions work normally.
  public func forgetSessions() {
    attachment?.forgetSessions()
  }

  /// Sends a control message to the connected device. If the profile's rules send this message, the call changes the
  /// parameters in the rules instead. The message is then sent immediately only if the device has subscribed to it.
  /// Returns true if the message was sent immediately.
  @discardableResult
  public func send(_ id: MessageID, _ parameters: [MessageRule.Element]) -> Bool {
    guard let attachment, attachment.isIdentified else { return false }
    return attachment.send(id, parameters)
  }

  // MARK: Carrying out the machine's decisions

  private func perform(_ action: WireFlickerMachine.Action, _ reason: String = "unplugged") throws {
    switch action {
    case .nothing: break
    case .attach(let isWhole):
      sessionQuirks?.pluggedIn()
      offer(isWhole: isWhole)
      plugCount += 1
      try port.open { [unowned self] event in handle(event) }
      log(.attach(port.place))
    case .detach:
      detach(reason)
      // The quirks are notified only after the accessory's sessions have ended.
      sessionQuirks?.unplugged()
    }
    armTimer()
  }

  private func offer(isWhole: Bool) {
    subject = original.subject(isWhole: isWhole)
    port.show(PortAppearance(profile, offering: subject.protocols))
  }

  private func detach(_ reason: String) {
    let leaving = attachment
    attachment = nil
    leaving?.close("the accessory detached: " + reason)
    port.close()
    refusals?.flush()
    log(.detach(reason))
  }

  private func armTimer() {
    guard let deadline = flicker.deadline else {
      timer?.cancel()
      return
    }
    let timer = timer ?? loop.makeTimer { [unowned self] in deadlineCame() }
    self.timer = timer
    timer.arm(at: deadline)
  }

  private func refuse(_ text: String) {
    let refusals =
      refusals
      ?? ReportLimit("warnings about devices that connect", on: loop) { [unowned self] in log(.warning($0)) }
    self.refusals = refusals
    refusals.report(text)
  }

  private func deadlineCame() {
    let action = flicker.handleTimeout(now: loop.now, random: &random)
    do { try perform(action, "the flicker") } catch { log(.warning("cannot be plugged in again: \(error)")) }
  }

  // MARK: Requests from scripts

  private func perform(forScript action: AccessoryAction) {
    let work: () -> Void = { [weak self] in
      guard let self, action.needsPlug != true || isAttached else { return }
      do { try perform(action, "as the script says") } catch { log(.warning("cannot be plugged in: \(error)")) }
    }
    guard action.needsPlug != nil else { return work() }
    // Unplugging is deferred to a later turn of the loop, because it destroys the cable that called this script.
    absenceTimers.removeAll { $0.deadline == nil }
    absenceTimers.append(loop.schedule(after: .zero, work))
  }

  func play(_ quirk: Quirk) {
    prepared = prepared.with(quirk)
    switch quirk {
    case .flicker(let new): flicker.change(to: new)
    // Quirks that do not affect sessions take effect at the next attachment.
    default:
      if sessionQuirks == nil { sessionQuirks = makeSessionQuirks() }
      sessionQuirks?.play(quirk)
    }
  }

  private func makeSessionQuirks() -> SessionQuirks {
    SessionQuirks(profile, on: loop) { [unowned self] in log($0) }
  }

  func comeBack(after time: Duration) {
    returnTimer =
      returnTimer
      ?? loop.makeTimer { [unowned self] in
        do { try plugIn() } catch { log(.warning("cannot be plugged in again: \(error)")) }
      }
    returnTimer?.arm(at: loop.now + time)
  }

  // MARK: The port and the attachment

  private func handle(_ event: PortEvent) {
    switch event {
    case .cable(let cable, let device): attach(cable, device)
    case .warning(let text): refuse(text)
    case .ended(let why):
      log(.warning("\(port.place) is over: \(why)"))
      // If the port fails later, for example because a user unbinds a gadget, the accessory is considered unplugged.
      if !hadCable { failure = why }
      unplug(why)
    }
  }

  private func attach(_ cable: Cable, _ device: String) {
    hadCable = true
    guard attachment == nil else {
      // A port accepts only one cable at a time.
      refuse("refused \(device): another device is already connected")
      cable.main.close()
      return
    }
    if greeting.device != device { greeting = (device, "device connected: " + device) }
    log(.note(greeting.text))
    var link = prepared.link
    adjustLink(&link)
    let next = AccessoryAttachment(
      of: self, prepared: prepared, cable: cable, link: link, handshakeTimeouts: handshakeTimeouts,
      isWhole: !flicker.isEmpty,
      answersAuthentication: !flicker.isEmpty || flicker.flicker?.answersAuthentication ?? true, on: loop)
    attachment = next
    next.start()
  }

  /// Called when the device will receive nothing more, because identification and authentication are finished or a
  /// quirk is holding them up.
  func deviceIsDone() {
    flicker.deviceIsDone(now: loop.now, random: &random)
    armTimer()
  }

  /// Called when the device has disconnected, which `event` reports. The accessory stays plugged in and waits for the
  /// next device.
  func deviceLeft(_ event: TimelineEvent.Kind) {
    attachment = nil
    log(event)
    flicker.deviceLeft()
    offer(isWhole: !flicker.isEmpty)
    armTimer()
  }

  /// The step that the connected device is expected to take next, or nil if no device is connected.
  package var phase: PeerPhase? { attachment?.connection.phase }

  func log(_ kind: consuming TimelineEvent.Kind) {
    report(TimelineEvent(time: loop.now, side: .accessory, kind: kind, subject: subject, worldNumber: worldNumber))
  }
}
