import AccessoryFormats

/// Incorrect behavior of the accessory or the device, as in `--quirk flicker,auth=never,cycles=3`.
///
/// ```swift
/// let quirk = try Quirk("flicker,cycles=3")
/// quirk == .flicker(Flicker(cycles: 3))       // true
/// "\(quirk)"                                  // "flicker,cycles=3"
/// ```
public enum Quirk: Equatable, Sendable, CustomStringConvertible {
  /// The accessory connects without protocols, disconnects, and connects again with its protocols.
  case flicker(Flicker)
  case authentication(OddAuthentication)
  /// The accessory identifies itself late or never.
  case identification(OddIdentification)
  case session(OddSession)
  /// The accessory never sends the status of a session. Devices must not wait for the status, because many real
  /// accessories never send it.
  case noStatus
  /// At the start of each session except the first, the accessory sends up to `count` bytes left over from the previous
  /// session (field failure W17).
  case staleBytes(count: Int)
  case endsSessions(EndedSessions)
  case wedgesAfter(WedgedByOpens)
  case goesSilent(GoesSilent)
  case busyAfterCancel(BusyAfterCancel)
  case phantomSession(PhantomSession)
  case dropsBeyond(SmallBuffer)
  case replyChunking(ReplyChunking)
  case obeysFirstSettingsOnly(FirstSettingsOnly)
  case failsAfterFirstTransaction(FailingTransactions)

  /// The format of all quirks.
  public static let format = OneOf("quirk", key: "name", example: "flicker,cycles=3", isWrittenAsText: true) {
    Kind(Flicker.format, Quirk.flicker) { if case .flicker(let flicker) = $0 { flicker } else { nil } }
    Kind(OddAuthentication.format, Quirk.authentication) { if case .authentication(let odd) = $0 { odd } else { nil } }
    Kind(OddIdentification.format, Quirk.identification) { if case .identification(let odd) = $0 { odd } else { nil } }
    Kind(OddSession.format, Quirk.session) { if case .session(let odd) = $0 { odd } else { nil } }
    Kind("no-status", "never sends a session's status (0xEA03)", Quirk.noStatus)
    Kind(
      Record(
        "stale-bytes", "sends bytes left over from the previous session at the start of each session except the first",
        64
      ) {
        Field("count", \.self, .integer(1...65_536), "maximum number of bytes")
      }.example("stale-bytes,count=16"), Quirk.staleBytes
    ) { if case .staleBytes(let count) = $0 { count } else { nil } }
    Kind(EndedSessions.format, Quirk.endsSessions) { if case .endsSessions(let odd) = $0 { odd } else { nil } }
    Kind(WedgedByOpens.format, Quirk.wedgesAfter) { if case .wedgesAfter(let odd) = $0 { odd } else { nil } }
    Kind(GoesSilent.format, Quirk.goesSilent) { if case .goesSilent(let odd) = $0 { odd } else { nil } }
    Kind(BusyAfterCancel.format, Quirk.busyAfterCancel) { if case .busyAfterCancel(let odd) = $0 { odd } else { nil } }
    Kind(PhantomSession.format, Quirk.phantomSession) { if case .phantomSession(let odd) = $0 { odd } else { nil } }
    Kind(SmallBuffer.format, Quirk.dropsBeyond) { if case .dropsBeyond(let odd) = $0 { odd } else { nil } }
    Kind(ReplyChunking.format, Quirk.replyChunking) { if case .replyChunking(let odd) = $0 { odd } else { nil } }
    Kind(FirstSettingsOnly.format, Quirk.obeysFirstSettingsOnly) {
      if case .obeysFirstSettingsOnly(let odd) = $0 { odd } else { nil }
    }
    Kind(FailingTransactions.format, Quirk.failsAfterFirstTransaction) {
      if case .failsAfterFirstTransaction(let odd) = $0 { odd } else { nil }
    }
  }

  /// Parses the form used on the command line, which is a name followed by parameters in the form `name=value`. The
  /// name of a parameter may be omitted if the value is one of the parameter's named choices: `authentication,never`
  /// means `authentication,answer=never`.
  public init(_ text: String) throws(SourceProblems) { self = try Self.format.read(text) }

  /// The quirk's name, such as `flicker`.
  public var name: String { Self.format.name(of: self) }

  /// The form used on the command line, including all parameters that differ from their defaults.
  public var description: String { Self.format.text(self) }
}

/// Incorrect authentication.
public struct OddAuthentication: Equatable, Sendable {
  /// How authentication goes wrong.
  public enum Answer: String, CaseIterable, Sendable {
    /// The device refuses a correct signature.
    case refuse
    case never
    case wrong
    case slow
    /// The accessory ignores authentication requests until it is identified, as some real accessories do.
    case ignoreFirst = "ignore-first"
    /// The accessory disconnects if it is asked to authenticate before it is identified.
    case hangup
  }

  /// How authentication goes wrong.
  public var answer: Answer
  /// For `slow`, how long the accessory waits before it sends the certificate, and again before it sends the signature.
  public var delay: Duration

  /// Creates a quirk with this answer.
  public init(_ answer: Answer = .refuse, delay: Duration = .seconds(5)) {
    self.answer = answer
    self.delay = delay
  }

  static let format = Record("authentication", "fails to authenticate, or authenticates slowly", OddAuthentication()) {
    Field(
      "answer", \.answer, .choice,
      "refuse: the device refuses a valid signature; never, wrong, slow: the accessory does not answer, sends a wrong "
        + "signature, or answers late; ignore-first, hangup: if asked before identification, the accessory does not "
        + "answer, or closes the connection"
    )
    Field(
      "delay", \.delay, .duration(.zero ... .seconds(3600)),
      "by how much the accessory delays its certificate and then its signature")
  }.example("authentication,slow,delay=3s")
}

/// Late or missing identification. If connecting takes longer than 10 s, an app in the background is suspended (field
/// failure W13).
public struct OddIdentification: Equatable, Sendable {
  /// How identification goes wrong.
  public enum Answer: String, CaseIterable, Sendable {
    case slow
    case never
  }

  /// How identification goes wrong.
  public var answer: Answer
  /// How long a slow answer is delayed.
  public var delay: Duration

  /// Creates a quirk with this answer.
  public init(_ answer: Answer = .slow, delay: Duration = .seconds(12)) {
    self.answer = answer
    self.delay = delay
  }

  static let format = Record("identification", "identifies itself late, or not at all", OddIdentification()) {
    Field("answer", \.answer, .choice, "whether the accessory identifies itself late, or not at all")
    Field("delay", \.delay, .duration(.zero ... .seconds(3600)), "by how much the accessory delays a slow answer")
  }.example("identification,never")
}

/// Incorrect session handling (field failures W6, W8 and W12, and behavior F11).
public struct OddSession: Equatable, Sendable {
  /// How a session goes wrong.
  public enum Answer: String, CaseIterable, Sendable {
    /// The accessory refuses the session by answering with a refusal status.
    case refuse
    case ignore
    /// The accessory accepts bytes but never answers.
    case silent
    case close
    case detach
  }

  /// How a session goes wrong.
  public var answer: Answer
  /// The time from the start of a session until the accessory closes the session or detaches.
  public var delay = Duration.seconds(1)
  /// How many sessions are affected, or 0 for all sessions. Later sessions work normally.
  public var times = 0

  /// Creates a quirk with this answer.
  public init(_ answer: Answer = .refuse) { self.answer = answer }

  static let format = Record("session", "refuses, ignores or breaks sessions", OddSession()) {
    Field(
      "answer", \.answer, .choice,
      "refuse: the accessory refuses the session with a status; ignore: it ignores the request to open one; silent: it "
        + "reads but never sends; close: it closes the session later; detach: it unplugs itself later"
    )
    Field(
      "delay", \.delay, .duration(.zero ... .seconds(3600)),
      "time from the start of a session until the accessory closes it or detaches")
    Field(
      "times", \.times, .integer(0...1_000_000),
      "number of sessions affected; later sessions work normally; 0 means all sessions")
  }.example("session,close,delay=2s,times=1")
}

extension [Quirk] {
  /// The flicker, if there is one among these quirks.
  public var flicker: Flicker? { first { if case .flicker(let flicker) = $0 { flicker } else { nil } } }

  /// The authentication quirk, if there is one among these quirks.
  public var authentication: OddAuthentication? {
    first { if case .authentication(let odd) = $0 { odd } else { nil } }
  }

  /// The identification quirk, if there is one among these quirks.
  package var identification: OddIdentification? {
    first { if case .identification(let odd) = $0 { odd } else { nil } }
  }

  /// The maximum number of stale bytes at the start of a session, if there is a stale-bytes quirk among these quirks.
  package var staleBytes: Int? { first { if case .staleBytes(let count) = $0 { count } else { nil } } }

  /// The session quirk, if there is one among these quirks.
  public var session: OddSession? { first { if case .session(let odd) = $0 { odd } else { nil } } }

  /// Whether one of the quirks loses or changes bytes during a session, so that replies may not match their requests.
  public var spoilsBytes: Bool {
    contains { quirk in
      switch quirk {
      case .staleBytes, .goesSilent, .wedgesAfter, .busyAfterCancel, .dropsBeyond, .obeysFirstSettingsOnly,
        .failsAfterFirstTransaction:
        true
      case .flicker, .authentication, .identification, .session, .noStatus, .endsSessions, .phantomSession,
        .replyChunking:
        false
      }
    }
  }

  private func first<Odd>(_ odd: (Quirk) -> Odd?) -> Odd? { lazy.compactMap(odd).first }
}

/// The parameters of a flicker: the accessory connects without protocols, disconnects, and moments later connects again
/// with all protocols.
///
/// The read-me file of Apple's EADemo describes this sequence. Apple does not publish the timings, so the defaults are
/// arbitrary. If ``maker`` is `wire`, the accessory attaches, identifies itself without protocols, detaches and
/// attaches again. If ``maker`` is `device`, the device publishes the accessory early and then withdraws it.
public struct Flicker: Equatable, Sendable {
  /// Which end causes the flicker.
  public enum Maker: String, CaseIterable, Sendable {
    /// The accessory causes the flicker by actually detaching.
    case wire
    /// The device causes the flicker by publishing and withdrawing the accessory.
    case device
  }

  /// Which end causes the flicker.
  public var maker: Maker
  /// How many times the accessory connects without protocols before it connects with all of them.
  public var cycles: Int
  /// How long each connection without protocols lasts.
  public var empty: Duration
  /// How long the accessory stays disconnected between two connections.
  public var gap: Duration
  /// The maximum random deviation of each duration, up or down.
  public var jitter: Duration
  /// Whether the accessory responds to authentication while it is attached without protocols.
  public var answersAuthentication: Bool

  /// Creates a flicker. By default, there is one cycle, which the accessory causes.
  public init(
    _ maker: Maker = .wire, cycles: Int = 1, empty: Duration = .milliseconds(250), gap: Duration = .milliseconds(300),
    jitter: Duration = .zero, answersAuthentication: Bool = true
  ) {
    (self.maker, self.cycles, self.empty, self.gap) = (maker, cycles, empty, gap)
    (self.jitter, self.answersAuthentication) = (jitter, answersAuthentication)
  }

  static let format = Record(
    "flicker",
    "connects with no protocols, disconnects, and reconnects with all its protocols; the default times are arbitrary",
    Flicker()
  ) {
    Field("maker", \.maker, .choice, "what causes the flicker: the accessory, by detaching, or the device")
    Field(
      "cycles", \.cycles, .integer(1...10_000),
      "number of connects with no protocols before the connect with all protocols")
    Field(
      "empty", \.empty, .duration(.zero ... .seconds(3600)), "how long the accessory stays connected with no protocols")
    Field("gap", \.gap, .duration(.zero ... .seconds(3600)), "how long the accessory then stays disconnected")
    Field(
      "jitter", \.jitter, .duration(.zero ... .seconds(60)),
      "maximum random variation in each of these times")
    Field(
      "auth", \.answersAuthentication, .words([("answer", true), ("never", false)]),
      "whether the accessory authenticates while it has no protocols")
  }.example("flicker,cycles=3,gap=1s")

  /// Returns a duration with random jitter added. The result is never negative.
  public func jittered(_ length: Duration, using random: inout some RandomNumberGenerator) -> Duration {
    guard jitter > .zero else { return length }
    let offset = Double.random(in: -1...1, using: &random)
    return max(.zero, length + jitter * offset)
  }
}
