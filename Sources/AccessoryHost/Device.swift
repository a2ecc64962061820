import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import Certificates
import IAP2

/// A simulated Apple device that identifies and authenticates accessories plugged into it, and publishes them to apps.
///
/// ```swift
/// let device = Device(settings: DeviceSettings(), on: loop) { print($0.json) }
/// let app = device.makeApp(handler)
/// device.plugIn(cable, at: "unix:/tmp/glasses.sock")
/// ```
///
/// Several apps can use one device. Each app is an ``AppView``.
public final class Device {
  /// The settings of this device.
  public let settings: DeviceSettings
  /// The loop on which all events are handled.
  public let loop: any EventLoop
  private let report: (consuming TimelineEvent) -> Void
  let authenticator: any DeviceAuthenticator
  // Every attachment needs these values, and the compiler would copy all settings in order to compute or read one.
  let peerSettings: DevicePeer.Settings
  let findsOrder: Bool
  let watchesLines: Bool
  /// The rules for the control messages that the device sends on its own.
  let rules: [MessageRule]
  private(set) lazy var heardMessages = MessageRules.heard(by: rules)
  /// For each accessory, whether authentication or identification comes first, if the device must determine this by
  /// trial.
  @exclusivity(unchecked) var orders = OrderMemory()
  /// Called when an accessory asks the device to launch an app.
  public var launchRequested: (AppLaunchRequest) -> Void = { _ in }
  let memory: IdentificationMemory
  /// The identifications that devices of this process have received, because worlds of one run have similar accessories.
  private static let known = Locked(IdentificationMemory.Known())

  // Exclusivity is not checked, because every attachment and event uses these properties. They belong to the device's
  // loop, and no other code runs while they change.
  @exclusivity(unchecked) private var attachments: [DeviceAttachment] = []
  private var unnoticed: [DeviceAttachment] = []
  @exclusivity(unchecked) private var apps: [AppView] = []
  @exclusivity(unchecked) private var formerLinks = LinkCounters()
  @exclusivity(unchecked) private var lastTerms = (length: UInt16.zero, window: UInt8.zero, text: "")
  @exclusivity(unchecked) var ids: ConnectionIDs
  @exclusivity(unchecked) var random: SeededRandom

  /// Creates a device that has no cables. `report` is called on the loop with all events from the device.
  public init(settings: DeviceSettings, on loop: any EventLoop, report: @escaping (consuming TimelineEvent) -> Void) {
    self.settings = settings
    self.loop = loop
    self.report = report
    peerSettings = settings.peerSettings
    findsOrder = settings.findsOrder
    watchesLines = settings.watchesLines
    rules = settings.profile.messageRules
    memory = IdentificationMemory(Self.known.withLock(\.self))
    let accepts = settings.authentication == .accept
    authenticator = accepts ? AcceptingAuthenticator(settings.authenticator) : settings.authenticator
    random = loop.random.derived("device")
    ids = ConnectionIDs(using: &random)
  }

  deinit {
    if memory.hasLearned { Self.known.withLock { $0 = memory.known } }
  }

  /// The published accessories, in order of publication.
  public var published: [PublishedAccessory] {
    attachments.compactMap(\.published).sorted { $0.connectionID < $1.connectionID }
  }

  /// Returns true if exactly the accessories with these connection IDs are published.
  package func publishes(_ connectionIDs: [Int]) -> Bool {
    var count = 0
    for attachment in attachments {
      guard let published = attachment.published else { continue }
      count += 1
      if !connectionIDs.contains(published.connectionID) { return false }
    }
    return count == connectionIDs.count
  }

  /// The step that each accessory is expected to take next.
  package var phases: [PeerPhase] { attachments.map(\.phase) }

  /// The number of cables that are plugged in.
  public var cableCount: Int { attachments.count }

  /// The combined link counters of all cables, including those that have been unplugged.
  public var linkCounters: LinkCounters {
    var sum = formerLinks
    for attachment in attachments { sum += attachment.linkCounters }
    return sum
  }

  /// Plugs in a cable. The device keeps the cable until the accessory closes it, or until it is unplugged through the
  /// returned handle or by ``unplugAll(_:)``. If `refusesSignatures` is true, the device refuses even valid signatures.
  /// `key` distinguishes between accessories that have the same address. Events contain `worldNumber`.
  @discardableResult
  public func plugIn(
    _ cable: Cable, at place: String, key: String? = nil, refusesSignatures: Bool = false, worldNumber: Int? = nil,
    ended: @escaping (CableOutcome) -> Void = { _ in }
  ) -> PluggedCable {
    let attachment = DeviceAttachment(
      cable: cable, place: place, key: key ?? place, refusesSignatures: refusesSignatures, worldNumber: worldNumber,
      device: self, ended: ended)
    if noticesCables { attach(attachment) } else { unnoticed.append(attachment) }
    return PluggedCable(attachment: attachment)
  }

  private func attach(_ attachment: DeviceAttachment) {
    attachments.append(attachment)
    attachment.start()
  }

  fileprivate func unplug(_ attachment: DeviceAttachment, _ reason: String) {
    if let index = unnoticed.firstIndex(where: { $0 === attachment }) {
      unnoticed.remove(at: index)
      attachment.connection.close(reason)
    } else if attachments.contains(where: { $0 === attachment }) {
      attachment.close(reason)
    }
  }

  /// Whether the device notices that a cable has been plugged in. According to a report (failure W15), a real device
  /// stopped noticing cables after accessories had been quickly unplugged and replugged, and had to be restarted.
  @exclusivity(unchecked) public var noticesCables = true {
    didSet {
      guard noticesCables else { return }
      let waiting = unnoticed
      unnoticed = []
      for attachment in waiting { attach(attachment) }
    }
  }

  /// Unplugs every cable from the device.
  public func unplugAll(_ reason: String = "unplugged") {
    for attachment in attachments { attachment.close(reason) }
  }

  /// Creates an app that uses this device. The app is not notified of accessories that are already published, but
  /// ``AppView/accessories`` contains them.
  public func makeApp(_ handler: any AppHandler, settings: AppSettings = AppSettings()) -> AppView {
    let app = AppView(device: self, handler: handler, settings: settings)
    apps.append(app)
    return app
  }

  /// Sends a control message to all identified accessories, or only to those with the given serial number. If this
  /// message is sent by one of the device's rules, changes the rule's parameters instead. Subscribed accessories
  /// receive the message immediately, and others receive it when they request it. Returns the number of accessories to
  /// which the message was sent immediately.
  @discardableResult
  public func send(_ id: MessageID, _ parameters: [MessageRule.Element], toSerial serial: String? = nil) -> Int {
    attachments.count { $0.send(id, parameters, ifSerialIs: serial) }
  }

  /// Resets and restarts the link of every accessory with this serial number.
  public func resetLinks(serial: String) {
    for attachment in attachments { attachment.resetLink(ifSerialIs: serial) }
  }

  func attachment(publishing connectionID: Int) -> DeviceAttachment? {
    attachments.first { $0.published?.connectionID == connectionID }
  }

  func forget(_ attachment: DeviceAttachment) {
    guard let index = attachments.firstIndex(where: { $0 === attachment }) else { return }
    attachments.remove(at: index)
    formerLinks += attachment.linkCounters
  }

  /// Returns the limits of a link as text. The most recent text is cached because the limits rarely change when an
  /// accessory reconnects.
  func terms(of agreement: LinkAgreement) -> String {
    let (length, window) = (agreement.peerMaximumPacketLength, agreement.peerMaximumOutstandingPackets)
    if lastTerms.length != length || lastTerms.window != window {
      lastTerms = (length, window, "packets up to \(length) bytes, window of \(window) packets")
    }
    return lastTerms.text
  }

  func otherApps(than app: AppView) -> [AppView] {
    apps.filter { $0 !== app }
  }

  func sessionEnded(_ session: Session) {
    for app in apps { app.sessionEnded(session) }
  }

  func forget(_ app: AppView) {
    apps.removeAll { $0 === app }
  }

  func log(
    _ kind: consuming TimelineEvent.Kind, side: TimelineEvent.Side = .device, _ subject: TimelineEvent.Subject?,
    worldNumber: Int? = nil
  ) {
    report(TimelineEvent(time: loop.now, side: side, kind: kind, subject: subject, worldNumber: worldNumber))
  }

  /// Notifies the apps that an accessory was published or withdrawn. `subject` identifies the accessory in events.
  func perform(_ action: AccessoryNotice, _ subject: TimelineEvent.Subject, worldNumber: Int?) {
    switch action {
    case .connect(let accessory):
      log(.connect, subject, worldNumber: worldNumber)
      alertIfNobodyWants(accessory)
      for app in apps { app.appeared(accessory) }
    case .disconnect(let accessory):
      log(.disconnect, subject, worldNumber: worldNumber)
      for app in apps { app.disappeared(accessory) }
    }
  }

  /// If no installed app declares any of the accessory's protocols in its Info.plist, shows the system's alert.
  private func alertIfNobodyWants(_ accessory: PublishedAccessory) {
    guard settings.alertsForMissingApps, accessory.asksForApp, !apps.isEmpty else { return }
    let isWanted = apps.contains { app in accessory.protocols.contains(where: app.settings.manifest.declares) }
    guard !isWanted else { return }
    let offer = "\(accessory.name) (\(accessory.protocols.joined(separator: ", ")))"
    log(.alert("Application Not Installed: no app declares a protocol of \(offer)"), .init(accessory))
  }
}

/// A cable that is, or was, plugged into a device.
public struct PluggedCable {
  fileprivate let attachment: DeviceAttachment

  /// Unplugs the cable from the device. Does nothing if the connection over the cable has already ended.
  public func unplug(_ reason: String) {
    attachment.device.unplug(attachment, reason)
  }
}

extension Device: CableOwner {
  /// Plugs in the cable through which a dialer has connected to an accessory.
  public func take(_ cable: Cable, of accessory: FoundAccessory, ended: @escaping (CableOutcome) -> Void) {
    plugIn(cable, at: accessory.address.description, key: accessory.identity, ended: ended)
  }

  /// Adds an event from a dialer to the timeline.
  public func handle(_ report: DialerReport) {
    switch report {
    case .trouble(let reason, let accessory): log(.warning(reason.description), accessory.subject)
    case .droppedBytes(let count, let accessory):
      log(.note("dropped \(count) bytes of an earlier session from \(accessory.address)"), accessory.subject)
    case .warning(let text): log(.warning(text), nil)
    }
  }
}

extension FoundAccessory {
  /// What identifies the accessory in events, or nil if the medium provides no information about it.
  public var subject: TimelineEvent.Subject? {
    name.isEmpty ? nil : .init(name: name, serial: serial ?? "", protocols: protocols ?? [])
  }
}

/// How strictly a device authenticates accessories.
public enum AuthenticationMode: String, CaseIterable, Sendable {
  /// The device refuses an accessory with an unreadable certificate or a wrong signature, and sends AA04.
  case verify
  /// The device accepts an accessory whose certificate or signature is wrong, but reports a warning.
  case accept
  /// The device does not ask for authentication, like some real hosts.
  case skip
}

/// The settings of a device.
public struct DeviceSettings {
  /// The link settings that the device uses.
  public var peer = DevicePeer.Settings()
  /// How long an accessory may stay silent before the link is up.
  public var handshakeTimeouts = HandshakeTimeouts.ofDevice
  /// Whether authentication or identification comes first. Identification must come first if accessories are published
  /// before they are ready.
  public var order = HostOrder.authentication
  /// When accessories are published to apps.
  public var policy = PublicationMachine.Policy.ready
  /// The flicker that the device causes, if any.
  public var flicker: Flicker?
  /// Whether the system shows an alert when no app declares any of an accessory's protocols.
  public var alertsForMissingApps = true
  /// The authenticator that verifies accessories.
  public var authenticator: any DeviceAuthenticator
  /// Whether to report every control message as an event and every undeclared message as a warning.
  public var reportsMessages = false
  /// Whether to warn when traffic on a line is delayed or damaged (see ``LineWatch``).
  public var watchesLines = false
  /// What happens when authentication fails.
  public var authentication = AuthenticationMode.verify
  /// What the device tells accessories, and how it answers their messages.
  public var profile = DeviceProfile()
  /// The time when the loop's clock was zero, in seconds since 1970.
  public var epoch: UInt64 = 1_777_777_777
  /// The artwork of the current track, or nil if there is none.
  public var artwork: [UInt8]?
  /// Receives the files that accessories send. If there is no receiver, the files are dropped.
  public var keepFile: FileTransfers.Keeper?

  /// Creates the default settings with the given authenticator.
  public init(authenticator: any DeviceAuthenticator) {
    self.authenticator = authenticator
  }

  /// The link settings that the device uses. If accessories are published early, identification comes first because it
  /// provides the accessory's name.
  var peerSettings: DevicePeer.Settings {
    var settings = peer
    if authentication == .skip { settings.asksForAuthentication = false }
    settings.order = order == .identification || isPublishedEarly ? .identificationFirst : settings.order
    return settings
  }

  private var isPublishedEarly: Bool { policy == .early || flicker?.maker == .device }

  /// Whether the device must determine by trial which comes first: authentication or identification.
  var findsOrder: Bool { order == .auto && peer.asksForAuthentication && authentication != .skip && !isPublishedEarly }

  /// How long to wait for an accessory's first response. If no response arrives in time, the order of authentication
  /// and identification is reversed, unless both orders have been tried.
  var firstAnswerTimeout: Milliseconds { Milliseconds(min(peer.answerTimeout.count / 2, 10_000)) }
}

extension TimelineEvent.Subject {
  /// Creates the subject of an event that concerns a publication.
  public convenience init(_ accessory: PublishedAccessory) {
    self.init(
      name: accessory.name, serial: accessory.serialNumber, protocols: accessory.protocols,
      connectionID: accessory.connectionID)
  }

  /// Reads single values from the shared object, because a whole identification is expensive to copy.
  convenience init(_ judged: JudgedIdentification) {
    self.init(
      name: judged.identification.name, serial: judged.identification.serialNumber,
      protocols: judged.identification.protocols.map(\.name))
  }
}

/// Remembers, for each address, the order of authentication and identification that the device found by trial.
///
/// ```
///   authentication first ── no answer ──▶ identification first ── no answer ──▶ authentication first, for good
///            │ ready                               │ ready
///            ▼                                     ▼
///   authentication first, for good        identification first, for good
/// ```
///
/// If an accessory is unplugged before it answers, the device cannot tell whether the accessory would have refused the
/// order. The device therefore tries the opposite order once.
struct OrderMemory {
  typealias Order = DevicePeer.Settings.Order

  private enum Entry {
    case trying(Order)
    case settled(Order)
  }

  /// The maximum number of addresses to remember. A limit is needed because each accessory in a local directory has its
  /// own address.
  private static let limit = 10_000

  private var entries: [String: Entry] = [:]

  /// Returns the order to use on the next link with the accessory at `place`, and whether the opposite order has
  /// already been tried.
  func next(at place: String) -> (order: Order, isLast: Bool) {
    switch entries[place] {
    case nil: (.authenticationFirst, false)
    case .trying(let order), .settled(let order): (order, true)
    }
  }

  /// Records that the accessory at `place` did not answer the first message. Returns the order to try next, or nil if
  /// both orders have been tried.
  mutating func ignored(at place: String) -> Order? {
    switch entries[place] {
    case nil:
      if entries.count >= Self.limit { entries.removeAll() }
      entries[place] = .trying(.identificationFirst)
      return .identificationFirst
    case .trying:
      entries[place] = .settled(.authenticationFirst)
      return nil
    case .settled: return nil
    }
  }

  /// Records that the accessory at `place` is ready. The order is remembered only if it was found by trial.
  mutating func ready(at place: String) {
    if case .trying(let order) = entries[place] { entries[place] = .settled(order) }
  }
}
