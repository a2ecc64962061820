import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessorySessions
import IAP2

/// Records a run's events and the packets on its cables, for use in a trace. A trace is a copy of the live page that
/// contains the recorded events and packets. A trace is a single file, which browsers can open without a server.
///
/// ```swift
/// let trace = TraceRecorder(program: "easim 1.0", command: "easim demo")
/// let recorder = CaptureRecorder(program: "easim") { _ in }
/// trace.follow(recorder)
/// // … the cables are recorded, and trace.add(event) is called for each event …
/// let page = trace.page(TraceVerdict("passed", "10000 bytes came back"))
/// ```
///
/// Invariant: memory use is limited. The recorder keeps the newest packets and events, and the page states how many
/// were dropped.
public final class TraceRecorder {
  /// The default value of ``limit``.
  public static let usualLimit = 20 << 20
  private static let mostEvents = 50_000

  /// The maximum size of a page's data, not counting the scripts that show it.
  public let limit: Int
  let program: String
  let command: String
  /// The kind of time that the run uses: `real`, `virtual` or `recorded`.
  let time: String
  package let log: PacketLog
  /// The newest events. Each event is in JSON, in the form of an `event` notification's parameters.
  private(set) var events = Queue<(time: Instant, json: String)>()
  private(set) var lostEvents = 0
  private var cableCount = 0
  /// For each cable name, the number of the newest cable with that name. Each further cable with the same name gets a
  /// new number.
  private var cables: [String: Int] = [:]
  private(set) var faults: [String] = []
  /// True if attachments and sessions must be derived from the packets because no device or accessory reports them.
  public var readsLinks = false

  /// Creates a recorder for a run.
  ///
  /// - Parameters:
  ///   - program: the name and version of the program that made the trace.
  ///   - command: the command that made the trace.
  public convenience init(
    program: String, command: String, time: String = "real", limit: Int = TraceRecorder.usualLimit
  ) {
    // The log may become larger than the page's limit, because long packets are cut later.
    let log = PacketLog(packets: 500_000, bytes: limit * 4)
    log.isRecording = true
    self.init(program: program, command: command, time: time, limit: limit, log)
  }

  /// Creates a recorder that uses a log of earlier packets.
  package init(program: String, command: String, time: String, limit: Int = TraceRecorder.usualLimit, _ log: PacketLog)
  {
    (self.program, self.command, self.time, self.limit, self.log) = (program, command, time, limit, log)
  }

  /// Observes all channels that `recorder` records.
  public func follow(_ recorder: CaptureRecorder) {
    recorder.companion = { [self] in witness(named: $0, description: $1, side: $2) }
  }

  /// Observes a channel of the cable with this name. Call this for a cable's main channel before its native channels.
  func witness(named name: String, description: String, side: String?) -> any CableWitness {
    if side == nil || cables[name] == nil {
      cableCount += 1
      cables[name] = cableCount
    }
    return log.witness(
      of: description.isEmpty ? name : description, cable: cables[name] ?? cableCount, protocolName: side)
  }

  /// Adds a fault, written as for `--fault`, that is active from the start.
  public func add(fault: String) { faults.append(fault) }

  /// Adds an event.
  public func add(_ event: TimelineEvent) { add(event.json, at: event.time) }

  package func add(_ method: String, params: String, at time: Instant) {
    add("{\"method\":\(JSONObject.quoted(method)),\"params\":\(params)}", at: time)
  }

  /// All events as JSON, in order of time.
  var allEvents: [String] {
    var all = (0..<events.count).map { events[$0] }
    if readsLinks {
      all += TracedLinks.events(of: log).map { ($0.time, $0.json) }
      let order = all.indices.sorted { (all[$0].time, $0) < (all[$1].time, $1) }
      all = order.map { all[$0] }
    }
    return all.map(\.json)
  }

  private func add(_ json: String, at time: Instant) {
    events.append((time, json))
    if events.count > Self.mostEvents {
      _ = events.popFirst()
      lostEvents += 1
    }
  }

  /// Returns the page as HTML. If there are other runs, the page shows them side by side, and only the verdict and the
  /// command at the top come from this recorder.
  public func page(_ verdict: TraceVerdict, of runs: [TracedRun] = []) -> [UInt8] {
    TracePage.html(self, verdict, runs)
  }
}

/// One of the runs in a trace.
public struct TracedRun {
  let recorder: TraceRecorder
  let verdict: TraceVerdict
  /// The name of the run's group. The page shows one group at a time, with its runs side by side.
  let group: String
  /// What distinguishes this run from the other runs in its group.
  let name: String

  /// Creates a run that has ended.
  public init(_ recorder: TraceRecorder, _ verdict: TraceVerdict, in group: String, named name: String) {
    (self.recorder, self.verdict, self.group, self.name) = (recorder, verdict, group, name)
  }
}

/// The result of a run, which is shown at the top of the run's trace.
public struct TraceVerdict: Equatable, Sendable {
  /// `passed`, `failed`, or another word if the run had nothing to judge.
  public var word: String
  /// A sentence that gives the reason.
  public var text: String

  /// Creates a verdict.
  public init(_ word: String, _ text: String) { (self.word, self.text) = (word, text) }
}

/// Derives events, such as identification and sessions, from the control messages on cables about which nothing else is
/// known, such as those in a capture.
struct TracedLinks {
  private struct Link {
    var begun: Instant
    var last: Instant
    var subject: TimelineEvent.Subject?
    var isPublished = false
    var protocols: [UInt8: String] = [:]
    var open: [UInt16: (protocolName: String, read: Int, written: Int)] = [:]
  }

  private var links: [Int: Link] = [:]
  private(set) var events: [TimelineEvent] = []

  /// Returns the events derived from all packets of a log, in order of time.
  static func events(of log: PacketLog) -> [TimelineEvent] {
    var all = TracedLinks()
    for packet in log.packets(after: 0, atMost: .max) { all.take(packet) }
    for number in all.links.keys.sorted() { all.end(number, "the recording is over") }
    let order = all.events.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
    return order.map(\.element)
  }

  private mutating func take(_ packet: LoggedPacket) {
    let number = packet.cable
    // A SYN that follows identification counts as a new attachment.
    let isOffer = packet.header.map { $0.control.contains(.syn) && !$0.control.contains(.ack) } ?? false
    if isOffer, links[number]?.subject != nil { end(number, "the link begins again") }
    var link = links[number] ?? Link(begun: packet.time, last: packet.time)
    link.last = packet.time
    links[number] = link
    for message in messages(in: packet) { take(message, number, packet) }
    if let session = packet.externalSession.map(UInt16.init(truncatingIfNeeded:)), let header = packet.header {
      let count = header.payloadCount - 2
      if packet.from == .accessory {
        links[number]?.open[session]?.read += count
      } else {
        links[number]?.open[session]?.written += count
      }
    }
  }

  private func messages(in packet: LoggedPacket) -> [ControlMessage] {
    guard !packet.messages.isEmpty, !packet.isRepeated, let header = packet.header else { return [] }
    return PacketNarrator().messages(in: header, packet: packet.bytes.span.bytes)
  }

  private mutating func take(_ message: ControlMessage, _ number: Int, _ packet: LoggedPacket) {
    switch message.id {
    case .identificationInformation:
      let found = IdentificationReading(message).identification
      let subject = TimelineEvent.Subject(
        name: found.name, serial: found.serialNumber.isEmpty ? "cable \(number)" : found.serialNumber,
        protocols: found.protocols.map(\.name), connectionID: number)
      links[number]?.subject = subject
      for one in found.protocols { links[number]?.protocols[one.id] = one.name }
      add(.attach("cable \(number)"), .accessory, number, at: links[number]?.begun ?? packet.time)
    case .identificationAccepted:
      add(.identification("accepted"), .accessory, number, at: packet.time)
      links[number]?.isPublished = true
      add(.connect, .device, number, at: packet.time)
    case .authenticationSucceeded: add(.authentication(.accepted), .accessory, number, at: packet.time)
    case .startExternalAccessorySession:
      guard let values = Self.values(message), values.count > 1 else { return }
      let name = links[number]?.protocols[UInt8(truncatingIfNeeded: values[0])] ?? "protocol \(values[0])"
      links[number]?.open[values[1]] = (name, 0, 0)
      for side in [TimelineEvent.Side.device, .accessory] {
        add(.sessionOpen(id: Int(values[1]), protocolName: name), side, number, at: packet.time)
      }
    case .stopExternalAccessorySession:
      if let id = Self.values(message)?.first { close(id, "closed by the app", number, at: packet.time) }
    default: break
    }
  }

  private mutating func close(_ id: UInt16, _ reason: String, _ number: Int, at time: Instant) {
    guard let found = links[number]?.open.removeValue(forKey: id) else { return }
    for side in [TimelineEvent.Side.device, .accessory] {
      let (read, written) = side == .device ? (found.read, found.written) : (found.written, found.read)
      add(
        .sessionClose(id: Int(id), protocolName: found.protocolName, reason: reason, read: read, written: written),
        side, number, at: time)
    }
  }

  private mutating func end(_ number: Int, _ reason: String) {
    guard let link = links[number] else { return }
    for id in link.open.keys.sorted() { close(id, reason, number, at: link.last) }
    if link.isPublished { add(.disconnect, .device, number, at: link.last) }
    if link.subject != nil { add(.detach(reason), .accessory, number, at: link.last) }
    links[number] = nil
  }

  private mutating func add(_ kind: TimelineEvent.Kind, _ side: TimelineEvent.Side, _ number: Int, at time: Instant) {
    events.append(TimelineEvent(time: time, side: side, kind: kind, subject: links[number]?.subject))
  }

  /// Returns the values of all parameters with one or two bytes, in order of parameter number.
  private static func values(_ message: ControlMessage) -> [UInt16]? {
    guard let parameters = try? ParameterReader.read(message.body) else { return nil }
    return parameters.sorted { $0.id < $1.id }.filter { 1...2 ~= $0.value.count }.map {
      $0.value.reduce(0) { $0 << 8 | UInt16($1) }
    }
  }
}
