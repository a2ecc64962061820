import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessorySessions

/// Records a run for a trace: its events and the packets on its cables. The trace is the live page with all of that inside,
/// in one file that opens in any browser without a server.
///
/// ```swift
/// let trace = TraceRecorder(program: "easim 1.0", command: "easim demo")
/// let recorder = CaptureRecorder(program: "easim") { _ in }
/// trace.follow(recorder)
/// // … the cables are recorded, and trace.add(event) is called for each event …
/// let page = trace.page(TraceVerdict("passed", "10000 bytes came back"))
/// ```
///
/// Invariant: memory is bounded. The newest packets and events are kept, and the page says how many are gone.
public final class TraceRecorder {
  /// The default of ``limit``.
  public static let usualLimit = 20 << 20
  private static let mostEvents = 50_000

  /// The most bytes that a page has beside the program that shows it.
  public let limit: Int
  let program: String
  let command: String
  /// What is known of the times: `real`, `virtual`, or `recorded`.
  let time: String
  let log: PacketLog
  /// Events as the params of the notification `event`, and how many older ones are gone.
  private(set) var events = Queue<(time: Instant, json: String)>()
  private(set) var lostEvents = 0
  private var cableCount = 0
  /// The newest cable with each name; a later cable of that name has a number of its own.
  private var cables: [String: Int] = [:]
  private(set) var faults: [String] = []
  /// Whether plugs and sessions are read from the packets, because no device or accessory reports them here.
  public var readsLinks = false
  /// The witnesses of the cables of a capture.
  var witnesses: [Int: any CableWitness] = [:]

  /// A recorder of a run.
  ///
  /// - Parameters:
  ///   - program: the version that made it.
  ///   - command: the command that made it.
  public convenience init(
    program: String, command: String, time: String = "real", limit: Int = TraceRecorder.usualLimit
  ) {
    var limits = PacketLog.Limits()
    // Packets that are cut take less room than they had.
    (limits.packets, limits.bytes) = (500_000, limit * 4)
    let log = PacketLog(limits)
    log.isRecording = true
    self.init(program: program, command: command, time: time, limit: limit, log)
  }

  /// A recorder of what was logged already.
  package init(program: String, command: String, time: String, limit: Int = TraceRecorder.usualLimit, _ log: PacketLog)
  {
    (self.program, self.command, self.time, self.limit, self.log) = (program, command, time, limit, log)
  }

  /// Sees every channel that a capture records.
  public func follow(_ recorder: CaptureRecorder) {
    recorder.companion = { [self] in witness(named: $0, description: $1, side: $2) }
  }

  /// Sees one channel of a cable with this name; the native channels of a cable come after its main channel.
  func witness(named name: String, description: String, side: String?) -> any CableWitness {
    if side == nil || cables[name] == nil {
      cableCount += 1
      cables[name] = cableCount
    }
    return log.witness(
      of: description.isEmpty ? name : description, cable: cables[name] ?? cableCount, protocolName: side)
  }

  /// A fault that is there from the start, as for `--fault`.
  public func add(fault: String) { faults.append(fault) }

  /// Something happened.
  public func add(_ event: TimelineEvent) { add(event.json, at: event.time) }

  /// A notification of the control protocol.
  package func add(_ method: String, params: String, at time: Instant) {
    add("{\"method\":\(JSONObject.quoted(method)),\"params\":\(params)}", at: time)
  }

  /// All events as JSON, in the order of time.
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

  /// The page, as HTML.
  public func page(_ verdict: TraceVerdict) -> [UInt8] { TracePage(self, verdict).html }
}

/// How a run came out, for the head of its trace.
public struct TraceVerdict: Equatable, Sendable {
  /// `passed`, `failed`, or another word where nothing was judged.
  public var word: String
  /// Why, as a sentence.
  public var text: String

  /// A verdict.
  public init(_ word: String, _ text: String) { (self.word, self.text) = (word, text) }
}
