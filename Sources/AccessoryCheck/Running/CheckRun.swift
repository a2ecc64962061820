import AccessoryCore
import Certificates
import IAP2

/// Provides case scripts with attachments that have reached a given step, and with what earlier attachments revealed
/// about the accessory.
final class CheckRun {
  /// The maximum number of attachments that the accessory may end before the survey stops waiting for one that lasts.
  /// An accessory that flickers may disconnect many times.
  private static let mostDepartures = 20

  let pump: CheckPump
  let settings: CheckSettings
  let plug: any AccessoryPlug
  private var devices: [CheckDevice] = []
  private var lastUnplugged: Instant?
  private(set) var attachments = 0
  var gone: AccessoryAbsent?
  var lastCase: CheckCase?
  /// The failure recorded the first time that the accessory did not come back.
  private(set) var absence: CheckFailure?
  /// The step that the device takes first: authentication or identification.
  private(set) var order: DevicePeer.Settings.Order
  /// The failure that made the device switch from authentication to identification as the first step, if it did.
  private(set) var refusedOrder: CheckFailure?
  private(set) var surveyed: Survey?
  var knownEcho: EchoTrial?
  var knownUnanswered: CheckDevice?
  var knownCopies: (CheckDevice, [WirePacket])?
  var knownIdle: (CheckDevice, Int)?
  var knownSurrender: Surrender?
  var knownUnsynchronized: CheckDevice?

  init(_ plug: any AccessoryPlug, _ pump: CheckPump, _ settings: CheckSettings) {
    (self.plug, self.pump, self.settings) = (plug, pump, settings)
    order = settings.order == .identification ? .identificationFirst : .authenticationFirst
  }

  /// Records that the accessory did not come back after it was unplugged. The proof consists of the last packets before
  /// the accessory was unplugged.
  func noteAbsence(_ absent: AccessoryAbsent) {
    let after =
      lastCase.map { $0.isOwn ? "after case \($0.name)" : "after case \($0.number) (\($0.name))" }
      ?? "after it was unplugged"
    absence = CheckFailure("The accessory did not come back \(after): \(absent).", lastAttached?.lastProof(10) ?? [])
  }

  var verifier: any DeviceAuthenticator { settings.verifier }
  var stepLimit: Duration { settings.stepLimit }

  // MARK: Attachments

  /// Plugs in the accessory. If the connection ends before any bytes arrive, the accessory may still be busy with the
  /// previous attachment, so this method retries with increasingly long pauses.
  func attach(_ configure: CheckDevice.Configuring = { _ in }) throws -> CheckDevice {
    unplugAll()
    var tries = 0
    while true {
      if let gone { throw gone }
      if let lastUnplugged {
        let pause = tries == 0 ? settings.pace : max(settings.pace, .milliseconds(25 << tries))
        let rest = lastUnplugged + pause - pump.loop.now
        if rest > .zero { try pump.pause(rest) }
      }
      let opened = try plug.plugIn(pump, within: stepLimit)
      attachments += 1
      let line = CheckLine(opened.cable, on: pump.loop, release: opened.release)
      let device = CheckDevice(line, pump, configure)
      devices.append(device)
      lastAttached = device
      tries += 1
      _ = try pump.wait(within: .milliseconds(100)) { !line.isOpen || !line.record.isEmpty }
      if line.isOpen || !line.record.isEmpty || tries == 5 { return device }
      unplugAll()
    }
  }

  func unplugAll() {
    guard !devices.isEmpty else { return }
    for device in devices { device.line.unplug() }
    devices = []
    lastUnplugged = pump.loop.now
  }

  /// Returns an attachment that has reached `step`, or skips the case if the accessory does not get that far.
  func device(at step: CheckStep, _ configure: CheckDevice.Configuring = { _ in }) throws -> CheckDevice {
    let survey = try survey()
    if let shortfall = survey.shortfall, step > survey.reached { throw skip(shortfall) }
    return try orSkip { try reach(step, configure) }
  }

  /// Attaches the accessory. The device then takes all steps up to `step`, in the same order as an Apple device. If the
  /// accessory does not reach `step`, throws a ``Shortfall``, which the caller judges.
  func reach(_ step: CheckStep, _ configure: CheckDevice.Configuring = { _ in }) throws -> CheckDevice {
    _ = try survey()
    if step > .attached { try passDepartures() }
    let device = try attach(configure)
    try take(step, device)
    return device
  }

  /// The current attachment, or the most recent one if the accessory is not attached.
  private(set) var lastAttached: CheckDevice?

  func skip(_ shortfall: Shortfall) -> CheckSkip {
    CheckSkip("the accessory does not get that far: \(shortfall.reason) (case \(shortfall.judgedBy))")
  }

  /// Runs `body`. Skips the case if the accessory does not take a step that `body` needs.
  func orSkip<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let short as Shortfall { throw skip(short) }
  }

  /// Returns an attachment on which authentication is the next step. If the accessory must be identified first,
  /// identification has already taken place.
  func beforeAuthentication() throws -> CheckDevice {
    let device = try device(at: .linked)
    if order == .identificationFirst { _ = try orSkip { try device.identify(within: stepLimit) } }
    return device
  }

  func beforeIdentification() throws -> CheckDevice {
    try device(at: order == .identificationFirst ? .linked : .authenticated)
  }

  func needAuthenticationFirst() throws {
    if order == .identificationFirst {
      throw CheckSkip("the accessory does not authenticate before it has identified itself")
    }
  }

  private func take(_ step: CheckStep, _ device: CheckDevice) throws {
    if step >= .linked { try device.link(within: stepLimit) }
    if order == .identificationFirst, step >= .authenticated {
      _ = try device.identify(within: stepLimit)
      _ = try device.authenticate(verifier, within: stepLimit)
      return
    }
    if step >= .authenticated { _ = try device.authenticate(verifier, within: stepLimit) }
    if step >= .ready { _ = try device.identify(within: stepLimit) }
  }

  /// Waits while the accessory repeatedly connects and disconnects, so that the next attachment lasts. No wait is
  /// needed if the accessory flickers only the first time that it is plugged in.
  private func passDepartures() throws {
    guard let survey = surveyed, flickersEachTime else { return }
    for _ in survey.departures {
      let device = try attach()
      do { try take(.ready, device) } catch is Shortfall {}
      if try !device.wait(within: .seconds(5), until: { !device.line.isOpen }) {
        flickersEachTime = false
        return
      }
    }
  }

  private var flickersEachTime = true

  // MARK: What is known about the accessory

  /// Returns the first complete attachment. On this attachment, the device behaves exactly like an Apple device. Many
  /// cases judge the record of this attachment.
  func survey() throws -> Survey {
    if let surveyed { return surveyed }
    let survey = try makeSurvey()
    surveyed = survey
    return survey
  }

  private func makeSurvey() throws -> Survey {
    var departures: [Survey.Departure] = []
    while true {
      let device = try attach()
      var survey = Survey(device: device, departures: departures)
      do {
        try device.link(within: stepLimit)
        survey.reached = .linked
        if order == .identificationFirst { survey.identification = try device.identify(within: stepLimit) }
        survey.authentication = try device.authenticate(verifier, within: stepLimit)
        if order == .authenticationFirst {
          survey.reached = .authenticated
          survey.identification = try device.identify(within: stepLimit)
        }
        survey.reached = .ready
        try exchange(&survey)
      } catch let short as Shortfall {
        survey.shortfall = short
      }
      if triesOtherOrder(survey, isAgain: departures.last?.reached == .linked) {
        departures = []
        continue
      }
      // A disconnect during a session is not part of the flickering.
      if !device.line.isOpen, !survey.hadSession, departures.count < Self.mostDepartures {
        departures.append(Survey.Departure(device: device, reached: survey.reached, reason: device.endText))
        continue
      }
      return survey
    }
  }

  /// Switches to identification as the first step if the accessory does not answer AA00. Switches back to
  /// authentication if identification fails as well. Returns true if the order has changed.
  ///
  /// - Parameter isAgain: whether the accessory also ended the previous attachment after a link had been established.
  ///   An accessory that connects twice ends only its first attachment.
  private func triesOtherOrder(_ survey: Survey, isAgain: Bool) -> Bool {
    guard survey.device.line.isOpen || isAgain || order == .identificationFirst else { return false }
    guard settings.order == .auto, survey.reached == .linked, let shortfall = survey.shortfall else { return false }
    if order == .authenticationFirst, refusedOrder == nil, shortfall.judgedBy == 501 {
      refusedOrder = CheckFailure(Self.sentence(shortfall.reason), survey.device.lastProof())
      order = .identificationFirst
      return true
    }
    guard order == .identificationFirst else { return false }
    order = .authenticationFirst
    return true
  }

  /// Exchanges a few bytes in a session, so that the record contains packets of every kind, and then waits.
  private func exchange(_ survey: inout Survey) throws {
    let device = survey.device
    let empty = survey.identification?.reading.identification.protocols.isEmpty ?? true
    // A flickering accessory soon ends an attachment on which it has offered no protocols.
    _ = try device.wait(within: empty ? .seconds(3) : settings.quiet) { !device.line.isOpen }
    guard device.line.isOpen, let one = survey.linkProtocol(settings.protocolName) else { return }
    survey.hadSession = true
    survey.status = try device.openSession(one, 1, waitingForStatus: settings.quiet)
    if case .closed = survey.status { return }
    try device.send(Array("easim check".utf8), on: 1)
    _ = try device.wait(within: settings.quiet) { !device.line.isOpen }
    guard device.line.isOpen else { return }
    try device.send(.closeSession(1))
    _ = try device.wait(within: max(settings.quiet, .seconds(1))) { !device.line.isOpen }
  }

  func identification() throws -> Identification {
    let survey = try survey()
    guard let found = survey.identification else {
      if let shortfall = survey.shortfall { throw skip(shortfall) }
      throw CheckSkip("the accessory did not identify itself")
    }
    return found.reading.identification
  }
}

struct Survey {
  /// An attachment that the accessory ended before the survey was complete.
  struct Departure {
    let device: CheckDevice
    let reached: CheckStep
    let reason: String
  }

  let device: CheckDevice
  let departures: [Departure]
  var reached = CheckStep.attached
  var authentication: Authentication?
  var identification: (reading: IdentificationReading, at: CheckDevice.Received)?
  var hadSession = false
  var status = CheckDevice.SessionStatus.none
  var shortfall: Shortfall?

  func linkProtocol(_ wanted: String?) -> ExternalAccessoryProtocol? {
    guard device.dataSession != nil else { return nil }
    let all = identification?.reading.identification.protocols ?? []
    return all.first { one in
      one.nativeTransportComponent == nil && !one.isCarPlay && (wanted == nil || wanted == one.name)
    }
  }
}
