import AccessoryCore

/// An oddity of a role's conduct: what `--quirk flicker,auth=never,cycles=3` says.
///
/// ```swift
/// let quirk = try Quirk("flicker,cycles=3")
/// quirk == .flicker(Flicker(cycles: 3))       // true
/// "\(quirk)"                                  // "flicker,cycles=3"
/// ```
public enum Quirk: Equatable, Sendable, CustomStringConvertible {
  /// Connects with no protocols, disconnects, and connects again whole.
  case flicker(Flicker)
  /// Does not authenticate as it should.
  case authentication(OddAuthentication)
  /// Does not identify itself in time.
  case identification(OddIdentification)
  /// Does not serve sessions as it should.
  case session(OddSession)
  /// Never sends the status of a session. Many accessories do not; a device must not wait for it.
  case noStatus
  /// Begins each session but the first with at most so many bytes of the one before (field failure W17).
  case staleBytes(count: Int)

  /// Every quirk there is, and how each is written.
  public static let format = OneOf("quirk", key: "name", example: "flicker,cycles=3", isWrittenAsText: true) {
    Kind(Flicker.format, Quirk.flicker) { if case .flicker(let flicker) = $0 { flicker } else { nil } }
    Kind(OddAuthentication.format, Quirk.authentication) { if case .authentication(let odd) = $0 { odd } else { nil } }
    Kind(OddIdentification.format, Quirk.identification) { if case .identification(let odd) = $0 { odd } else { nil } }
    Kind(OddSession.format, Quirk.session) { if case .session(let odd) = $0 { odd } else { nil } }
    Kind("no-status", "never sends the status of a session (0xEA03)", Quirk.noStatus)
    Kind(
      Record("stale-bytes", "begins each session but the first with bytes of the one before", 64) {
        Field("count", \.self, .integer(1...65_536), "at most how many bytes")
      }.example("stale-bytes,count=16"), Quirk.staleBytes
    ) { if case .staleBytes(let count) = $0 { count } else { nil } }
  }

  /// Reads the form of the command line: a name, then parameters as `name=value`. A bare word is the value of the
  /// choice it belongs to, so `authentication,never` is `authentication,answer=never`.
  public init(_ text: String) throws(SourceProblems) { self = try Self.format.read(text) }

  /// The name: `flicker`.
  public var name: String { Self.format.name(of: self) }

  /// The form of the command line, with what differs from the defaults.
  public var description: String { Self.format.text(self) }
}

/// What goes wrong while an accessory authenticates.
public struct OddAuthentication: Equatable, Sendable {
  /// What is done instead of the right thing.
  public enum Answer: String, CaseIterable, Sendable {
    /// The device role refuses a right signature.
    case refuse
    /// The accessory never answers.
    case never
    /// It signs wrongly.
    case wrong
    /// It answers late.
    case slow
  }

  /// What is done instead of the right thing.
  public var answer: Answer
  /// How late the certificate is, and then the signature, where it answers late.
  public var delay: Duration

  /// One of the answers.
  public init(_ answer: Answer = .refuse, delay: Duration = .seconds(5)) {
    self.answer = answer
    self.delay = delay
  }

  static let format = Record("authentication", "does not authenticate as it should", OddAuthentication()) {
    Field(
      "answer", \.answer, .choice,
      "the device role refuses a right signature; or the accessory never answers, signs wrongly, answers late")
    Field(
      "delay", \.delay, .duration(.zero ... .seconds(3600)), "how late the certificate is, and then the signature")
  }.example("authentication,slow,delay=3s")
}

/// What goes wrong while an accessory identifies itself; set-up slower than 10 s in the background gets an app suspended
/// (field failure W13).
public struct OddIdentification: Equatable, Sendable {
  /// What is done instead of the right thing.
  public enum Answer: String, CaseIterable, Sendable {
    /// It identifies itself late.
    case slow
    /// It never does.
    case never
  }

  /// What is done instead of the right thing.
  public var answer: Answer
  /// How late a slow answer is.
  public var delay: Duration

  /// One of the answers.
  public init(_ answer: Answer = .slow, delay: Duration = .seconds(12)) {
    self.answer = answer
    self.delay = delay
  }

  static let format = Record("identification", "does not identify itself in time", OddIdentification()) {
    Field("answer", \.answer, .choice, "whether the accessory identifies itself late or not at all")
    Field("delay", \.delay, .duration(.zero ... .seconds(3600)), "how late a slow answer is")
  }.example("identification,never")
}

/// What goes wrong when a session is opened (field failures W6, W8 and W12, and F11 of the API's behaviours).
public struct OddSession: Equatable, Sendable {
  /// What is done instead of the right thing.
  public enum Answer: String, CaseIterable, Sendable {
    /// Refuses by status.
    case refuse
    /// Ignores the start.
    case ignore
    /// Takes bytes and never answers.
    case silent
    /// Closes the session later.
    case close
    /// Detaches later.
    case detach
  }

  /// What is done instead of the right thing.
  public var answer: Answer
  /// How long after the start it closes or detaches.
  public var delay: Duration
  /// How many sessions are treated so before the others work; 0 for all.
  public var times: Int

  /// One of the answers.
  public init(_ answer: Answer = .refuse, delay: Duration = .seconds(1), times: Int = 0) {
    self.answer = answer
    self.delay = delay
    self.times = times
  }

  static let format = Record("session", "does not serve sessions as it should", OddSession()) {
    Field(
      "answer", \.answer, .choice,
      "refuses by status; ignores the start; takes bytes and never answers; closes it later; or detaches")
    Field(
      "delay", \.delay, .duration(.zero ... .seconds(3600)), "how long after the start it closes or detaches")
    Field(
      "times", \.times, .integer(0...1_000_000), "how many sessions are treated so before the others work; 0 for all")
  }.example("session,close,delay=2s,times=1")
}

extension [Quirk] {
  /// The flicker among them.
  public var flicker: Flicker? { first { if case .flicker(let flicker) = $0 { flicker } else { nil } } }

  /// What is odd about authentication.
  public var authentication: OddAuthentication? {
    first { if case .authentication(let odd) = $0 { odd } else { nil } }
  }

  /// What is odd about sessions.
  public var session: OddSession? { first { if case .session(let odd) = $0 { odd } else { nil } } }

  /// At most how many bytes of the session before each session begins with; nil for none.
  public var staleBytes: Int? { first { if case .staleBytes(let count) = $0 { count } else { nil } } }

  private func first<Odd>(_ odd: (Quirk) -> Odd?) -> Odd? { lazy.compactMap(odd).first }
}
