import AccessoryFormats
import AccessoryWorlds

// The parts of a file with `apps`: read, written by `easim soak`, and described in the schema.

private let amounts = 0...1_000_000_000

extension SoakPlan.App {
  /// As scenarios write it.
  static let format = Record(
    "app of several", "an app that opens these sessions, in order, as accessories appear",
    SoakPlan.App(sessions: [], patience: .zero, isRude: false)
  ) {
    Field(
      "sessions", \.sessions, .list(of: SoakStreamPlan.format), "its sessions",
      isAlwaysWritten: true)
    Field(
      "patience", \.patience, .duration(.zero...Scenario.longest),
      "pause after an accessory appears, and after each session, before it opens the next")
    Field("rude", \.isRude, .boolean, "whether it also tries to open sessions with accessories that have no protocols")
  }
}

extension SoakLinkChoices {
  /// As scenarios write them.
  static let format = Record(
    "link", "with apps: link settings that profiles do not offer", SoakLinkChoices()
  ) {
    Field(
      "initialSequence", \.initialSequence, .integer(0...255),
      "the sequence number of its first SYN")
    Field(
      "extendedAcknowledgement", \.extendedAcknowledgement,
      .words([("never", 0), ("received", 1), ("missing", 2)]),
      "which extended acknowledgement it sends")
    Field(
      "cumulativeAcknowledgements", \.cumulativeAcknowledgements, .optional(.integer(0...127)),
      "maximum packets per acknowledgement, if different from the profile's")
    Field(
      "repeatsOldestOnly", \.repeatsOldestOnly, .boolean,
      "whether a timeout retransmits only the oldest packet")
    Field(
      "timesFromEach", \.timesFromEach, .boolean,
      "whether its acknowledgement timer restarts with each packet")
    Field(
      "keepsAhead", \.keepsAhead, .boolean, "whether it keeps packets that arrive ahead of a gap")
    Field(
      "offersAgain", \.offersAgain, .boolean,
      "whether an accessory answers differing recovery values with another offer")
    Field(
      "answersOwnRecovery", \.answersOwnRecovery, .boolean,
      "whether a device answers with its own recovery values")
    Field(
      "receiveBound", \.receiveBound, .integer(1...amounts.upperBound),
      "maximum unread bytes of a session")
    Field(
      "sendBound", \.sendBound, .integer(1...amounts.upperBound),
      "maximum unsent bytes of a session")
  }
}

extension SoakStreamPlan {
  /// As scenarios write it.
  static let format = Format.object(StreamSection.format).map(\.plan, back: StreamSection.init)
}

/// One end of a session with the keys that files have.
struct StreamSection: Equatable {
  private var whole = SoakStreamPlan()
  private var readBytes: Int?
  private var readEvery: Duration?
  private var stopsAfter: Int?
  private var resumesAfter: Duration?

  static let format = Record(
    "stream", "what one end of a session sends and reads; easim checks every byte it reads",
    StreamSection()
  ) {
    Field(
      "protocol", \.whole.protocolNumber, .integer(0...254),
      "the index of the protocol that an app opens, modulo the accessory's number of protocols")
    Field(
      "bytes", \.whole.bytes, .integer(amounts), "number of bytes it writes", isAlwaysWritten: true)
    Field(
      "chunk", \.whole.chunk, .integer(1...amounts.upperBound), "maximum bytes per write",
      standard: Standard("all") { max(1, $0.whole.bytes) })
    Field(
      "think", \.whole.think, .duration(.zero...Scenario.longest), "pause between writes")
    Field(
      "readBytes", \.readBytes, .optional(.integer(1...amounts.upperBound)),
      "a slow reader: this many bytes at a time")
    Field(
      "readEvery", \.readEvery, .optional(.duration(.nanoseconds(1)...Scenario.longest)),
      "a slow reader's pause between reads")
    Field(
      "stopsAfter", \.stopsAfter, .optional(.integer(amounts)),
      "a reader that stops after this many bytes")
    Field(
      "resumesAfter", \.resumesAfter, .optional(.duration(.zero...Scenario.longest)),
      "when a stopped reader continues; default: at the end")
    Field(
      "closes", \.whole.closing, .closing,
      "when it closes the session: afterWriting, or after a time; default: never")
  }.checked { section, object in
    let slow = ["readBytes", "readEvery"].filter { object.value($0) != nil }
    if slow.count == 1 { object.error(slow[0], "'readBytes' and 'readEvery' need each other") }
    if object.value("resumesAfter") != nil, object.value("stopsAfter") == nil {
      object.error("resumesAfter", "'resumesAfter' needs 'stopsAfter'")
    }
    if object.value("stopsAfter") != nil, !slow.isEmpty {
      object.error(
        "stopsAfter", "a reader is either slow or stops: omit 'stopsAfter', or 'readBytes' and 'readEvery'")
    }
  }

  private init() {}

  init(_ plan: SoakStreamPlan) {
    whole = plan
    switch plan.reading {
    case .eager: break
    case .slow(let bytes, let every): (readBytes, readEvery) = (bytes, every)
    case .stops(let after, let resumes): (stopsAfter, resumesAfter) = (after, resumes)
    }
  }

  var plan: SoakStreamPlan {
    var plan = whole
    if let readBytes, let readEvery {
      plan.reading = .slow(bytes: readBytes, every: readEvery)
    } else if let stopsAfter {
      plan.reading = .stops(after: stopsAfter, resumes: resumesAfter)
    }
    return plan
  }
}

extension Format<SoakStreamPlan.Closing> {
  fileprivate static let closing = Format(
    .either([.words(["afterWriting"]), .duration(.zero...Scenario.longest)])
  ) { value, place in
    if value.content == .text("afterWriting") { return .afterWriting }
    return Format<Duration>.duration(.zero...Scenario.longest).read(value, at: place).map {
      .after($0)
    }
  } write: { closing in
    switch closing {
    case .never: .null
    case .afterWriting: .text("afterWriting")
    case .after(let time): .duration(time)
    }
  }
}
