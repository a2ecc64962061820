import IAP2

/// Two peers, a bad wire between them, and apps at both ends that write, read, pause and close; all of it random by
/// one seed. After a while the wire works, and everything must end correctly.
///
/// Invariants, checked after every step: bytes arrive once and in order; the window is never exceeded and no packet
/// longer than announced. At the end: every session is open at both ends with every byte delivered, or ended at both;
/// nothing is in flight; neither end waits for anything.
struct LossyWorld: ~Copyable {
  var accessory: AccessoryPeer
  var device: DevicePeer
  private(set) var now = Instant(nanoseconds: 0)
  private var dice: Dice
  private var wire: LossyWire
  private var accessoryWatch: WindowWatch
  private var deviceWatch: WindowWatch
  private var streams: [UInt16: (down: Stream, up: Stream)] = [:]
  private(set) var ends: [SessionEnd] = []
  private(set) var linkEnds: [LinkEnd] = []
  /// The first invariant that did not hold.
  private(set) var problem: String?
  /// The last packets, kept to be shown when something is wrong: when, ">" to the device or "<" from it, "." arrived.
  private var recent: [(now: Instant, sign: String, bytes: [UInt8])] = []
  private var nextAct = Instant.milliseconds(0)
  private let trouble = Instant.milliseconds(10_000)
  private var isFair = false

  /// The bytes of one direction of one session: the n-th is always the same.
  struct Stream {
    let key: Int
    var written = 0
    var read = 0
    var sleeps = false

    func bytes(_ range: Range<Int>) -> [UInt8] {
      range.map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ (key &* 97) ^ ($0 >> 8)) }
    }
  }

  init(seed: UInt64) {
    var dice = Dice(seed: seed)
    var link = LinkSettings(
      parameters: LinkParameters(
        maximumOutstandingPackets: UInt8(1 + dice.below(20)),
        maximumPacketLength: [64, 100, 256, 2_048][dice.below(4)],
        retransmissionTimeout: UInt16(100 + dice.below(900)),
        cumulativeAcknowledgementTimeout: UInt16(10 + dice.below(100)),
        maximumRetransmissions: UInt8(3 + dice.below(20)), maximumCumulativeAcknowledgements: 0))
    link.parameters.maximumCumulativeAcknowledgements = UInt8(
      dice.below(Int(link.parameters.maximumOutstandingPackets) + 1))
    link.initialSequence = dice.byte()
    link.retransmission = dice.chance(50) ? .everyExpired : .oldestOnly
    link.acknowledgementTimer = dice.chance(50) ? .fromFirst : .fromEach
    link.extendedAcknowledgement = [.never, .received, .missing][dice.below(3)]
    link.keepsPacketsAheadOfGap = dice.chance(70)
    link.settling = dice.chance(50) ? .adopt : .offerAgain
    link.sessionReceiveBound = 500 + dice.below(3_000)
    link.sessionSendBound = 500 + dice.below(10_000)
    var settings = DevicePeer.Settings()
    settings.link.parameters.maximumOutstandingPackets = UInt8(1 + dice.below(127))
    settings.link.parameters.maximumPacketLength = dice.chance(50) ? 65_535 : 1_024
    settings.link.initialSequence = dice.byte()
    settings.link.extendedAcknowledgement = [.never, .received, .missing][dice.below(3)]
    settings.link.keepsPacketsAheadOfGap = dice.chance(70)
    settings.link.sessionReceiveBound = 500 + dice.below(3_000)
    settings.link.deviceAnswer = dice.chance(70) ? .echo : .ownRecovery
    settings.order = dice.chance(50) ? .authenticationFirst : .identificationFirst
    accessory = AccessoryPeer(identification: .example, settings: link)
    device = DevicePeer(settings: settings)
    wire = LossyWire(weather: .thrown(by: &dice))
    deviceWatch = WindowWatch(
      window: link.parameters.maximumOutstandingPackets, length: link.parameters.maximumPacketLength)
    accessoryWatch = WindowWatch(
      window: settings.link.parameters.maximumOutstandingPackets, length: settings.link.parameters.maximumPacketLength)
    self.dice = dice
  }

  // MARK: Running

  /// Runs to the end and returns what was wrong, if anything.
  mutating func run() -> String? {
    device.core.start(now: now)
    accessory.core.start(now: now)
    for _ in 0..<60_000 {
      converse()
      if let problem { return problem }
      guard let next = nextTime() else { return verdict() }
      now = max(now, next)
      if let due = accessory.core.deadline, due <= now { accessory.handleTimeout(now: now) }
      if let due = device.core.deadline, due <= now { device.handleTimeout(now: now) }
      if !isFair, now >= trouble { clearUp() } else if !isFair, now >= nextAct { act() }
      for flight in wire.arrivals(now: now) { deliver(flight) }
    }
    return "it never comes to rest"
  }

  private func nextTime() -> Instant? {
    [wire.deadline, accessory.core.deadline, device.core.deadline, isFair ? nil : min(nextAct, trouble)].compactMap {
      $0
    }.min()
  }

  private mutating func deliver(_ flight: LossyWire.Flight) {
    record(flight.toDevice ? ". >" : ". <", flight.bytes)
    // In one read or two.
    let cut = dice.chance(20) ? dice.below(flight.bytes.count) : 0
    if cut > 0 {
      hand(Array(flight.bytes[..<cut]), toDevice: flight.toDevice)
      converse()
    }
    if flight.toDevice { deviceWatch.heard(flight.bytes) } else { accessoryWatch.heard(flight.bytes) }
    hand(Array(flight.bytes[cut...]), toDevice: flight.toDevice)
    converse()
  }

  private mutating func hand(_ bytes: [UInt8], toDevice: Bool) {
    if toDevice { device.receive(bytes.span.bytes, now: now) } else { accessory.receive(bytes.span.bytes, now: now) }
  }

  private mutating func converse() {
    for _ in 0..<10_000 {
      let busy = drainAccessory() || drainDevice()
      var bytes: [UInt8] = []
      if accessory.core.nextTransmit(into: &bytes, now: now) {
        record(">", bytes)
        note(accessoryWatch.sent(bytes), "the accessory sent")
        wire.send(bytes, toDevice: true, now: now, &dice)
      } else if device.core.nextTransmit(into: &bytes, now: now) {
        record("<", bytes)
        note(deviceWatch.sent(bytes), "the device sent")
        wire.send(bytes, toDevice: false, now: now, &dice)
      } else if !busy {
        return
      }
    }
    problem = problem ?? "the peers never fall silent"
  }

  private mutating func note(_ what: String?, _ who: String) {
    if let what, problem == nil { problem = "\(who) \(what)" }
  }

  private mutating func record(_ sign: String, _ bytes: [UInt8]) {
    if recent.count == 200 { recent.removeFirst(100) }
    recent.append((now, sign, bytes))
  }

  /// The last packets, a line each.
  var history: String {
    recent.map { "\($0.now.nanoseconds / 1_000_000) \($0.sign) \(Sheet.hex(Array($0.bytes.prefix(16))))" }
      .joined(separator: "\n")
  }

  // MARK: The apps

  private mutating func drainAccessory() -> Bool {
    var busy = false
    while let event = accessory.core.nextEvent() {
      busy = true
      switch event {
      case .certificateRequested: accessory.provideCertificate([1, 2, 3])
      case .challenged(let challenge): accessory.provideResponse(challenge)
      case .sessionRequested(let id, _):
        if dice.chance(5) {
          accessory.refuseSession(id)
        } else {
          accessory.acceptSession(id, reportingStatus: dice.chance(50))
        }
      case .sessionReadable(let id): readDown(id)
      case .sessionWritable(let id): writeUp(id, 1 + dice.below(2_000))
      case .sessionEnded(let id, let end):
        readDown(id)
        ends.append(end)
      case .linkDown(let end): linkEnds.append(end)
      default: break
      }
    }
    return busy
  }

  private mutating func drainDevice() -> Bool {
    var busy = false
    while let event = device.core.nextEvent() {
      busy = true
      switch event {
      case .certificateReceived: device.challenge([4, 5, 6], now: now)
      case .responseReceived(let response): device.concludeAuthentication(accepted: response == [4, 5, 6], now: now)
      case .sessionReadable(let id): readUp(id)
      case .sessionWritable(let id): writeDown(id, 1 + dice.below(2_000))
      case .sessionEnded(let id, let end):
        readUp(id)
        ends.append(end)
      case .linkDown(let end): linkEnds.append(end)
      case .ready: for _ in 0...dice.below(3) { openSession() }
      default: break
      }
    }
    return busy
  }

  private mutating func openSession() {
    guard case .link(let id)? = device.openSession(protocolNamed: "com.example.echo", now: now) else { return }
    let sleeps = !isFair && dice.chance(10)
    streams[id] = (Stream(key: Int(id) * 2, sleeps: sleeps), Stream(key: Int(id) * 2 + 1))
    writeDown(id, 1 + dice.below(3_000))
  }

  private mutating func writeDown(_ id: UInt16, _ count: Int) {
    guard let stream = streams[id]?.down else { return }
    let bytes = stream.bytes(stream.written..<stream.written + count)
    streams[id]?.down.written += device.core.write(bytes.span.bytes, to: id)
  }

  private mutating func writeUp(_ id: UInt16, _ count: Int) {
    guard let stream = streams[id]?.up else { return }
    let bytes = stream.bytes(stream.written..<stream.written + count)
    streams[id]?.up.written += accessory.core.write(bytes.span.bytes, to: id)
  }

  private mutating func readDown(_ id: UInt16) {
    guard let stream = streams[id]?.down, !stream.sleeps else { return }
    var inbox: [UInt8] = []
    accessory.core.takeInbox(id, &inbox)
    accessory.core.consume(inbox.count, of: id)
    judge(inbox, stream, "session \(id) down")
    streams[id]?.down.read += inbox.count
  }

  private mutating func readUp(_ id: UInt16) {
    guard let stream = streams[id]?.up else { return }
    var inbox: [UInt8] = []
    device.core.takeInbox(id, &inbox)
    device.core.consume(inbox.count, of: id)
    judge(inbox, stream, "session \(id) up")
    streams[id]?.up.read += inbox.count
  }

  private mutating func judge(_ inbox: [UInt8], _ stream: Stream, _ place: String) {
    if stream.read + inbox.count > stream.written {
      problem = problem ?? "\(place): more bytes arrived than were written"
    } else if inbox != stream.bytes(stream.read..<stream.read + inbox.count) {
      problem = problem ?? "\(place): other bytes arrived than were written, after \(stream.read)"
    }
  }

  /// Something happens: an app writes, opens or closes, the cable is cut for a while.
  private mutating func act() {
    nextAct = now + Milliseconds(Int64(20 + dice.below(400)))
    let open = streams.keys.sorted().filter { device.core.isOpen($0) }
    switch dice.below(20) {
    case 0: wire.cutUntil = now + Milliseconds(Int64(dice.below(6_000)))
    case 1: if open.count < 5 { openSession() }
    case 2: if let id = open.first, dice.chance(30) { device.core.closeSession(id) }
    case 3: if let id = open.last, dice.chance(30) { accessory.core.closeSession(id) }
    case 4: if dice.chance(10) { device.resetLink(now: now) }
    default:
      for id in open {
        if dice.chance(50) { writeDown(id, 1 + dice.below(500)) }
        if dice.chance(50) { writeUp(id, 1 + dice.below(500)) }
      }
    }
  }

  // MARK: The end

  /// The wire gets well, sleepers wake, and every end writes once more: an end that believes in a dead link finds out
  /// only by writing.
  private mutating func clearUp() {
    isFair = true
    wire.weather = .fair
    wire.cutUntil = now
    for id in streams.keys.sorted() {
      streams[id]?.down.sleeps = false
      readDown(id)
      writeDown(id, 1)
      writeUp(id, 1)
    }
    accessory.core.send(ControlMessage(MessageID(rawValue: 0x4E01)))
    device.core.send(ControlMessage(MessageID(rawValue: 0x4E0E)))
  }

  private mutating func verdict() -> String? {
    if !accessory.core.isLinkUp || !device.isReady { return "the link is not up at the end" }
    for (id, stream) in streams {
      if accessory.core.isOpen(id) != device.core.isOpen(id) {
        return "session \(id) is open at the \(device.core.isOpen(id) ? "device" : "accessory") alone"
      }
      guard device.core.isOpen(id) else { continue }
      if stream.down.read != stream.down.written || stream.up.read != stream.up.written {
        return "session \(id) kept bytes back: \(stream)"
      }
      if device.core.unacknowledged(id) != 0 || accessory.core.unacknowledged(id) != 0 {
        return "session \(id) has bytes that nobody acknowledged"
      }
    }
    return nil
  }
}
