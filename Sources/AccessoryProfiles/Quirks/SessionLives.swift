import AccessoryFormats

// Quirks about how long sessions live. What they remember outlasts a session, and partly an unplug.

extension Format<UInt64> {
  /// The random seed of a quirk; 0 for one that follows from the seed of the run.
  static let quirkSeed = integer(0...UInt64(Int64.max))
}

extension Format<Duration> {
  /// A time in the life of sessions.
  static let ofSessions = duration(.zero ... .seconds(24 * 3_600))
}

enum QuirkText {
  static let seed = "random seed of these times; 0 means the run's seed"
  static let rest = "how long it must stay unplugged for a power cycle, which resets it"
}

/// Ends sessions by itself, in episodes (field failure W23).
public struct EndedSessions: Equatable, Sendable {
  /// How long a session lasts at least.
  public var shortest: Duration
  /// How long it lasts at most.
  public var longest: Duration
  /// How long an episode lasts; zero for one without end.
  public var episode: Duration
  /// How long all is well after it; zero for ever.
  public var calm: Duration
  /// The random seed; 0 for the run's.
  public var seed: UInt64

  /// One episode, by default of two minutes.
  public init(
    _ length: ClosedRange<Duration> = .seconds(3) ... .seconds(17), episode: Duration = .seconds(120),
    calm: Duration = .zero, seed: UInt64 = 0
  ) {
    (shortest, longest) = (length.lowerBound, length.upperBound)
    (self.episode, self.calm, self.seed) = (episode, calm, seed)
  }

  static let format = Record(
    "ends-sessions",
    "ends each session after a random time, in episodes; the first begins with the first session",
    EndedSessions()
  ) {
    Field("min", \.shortest, .ofSessions, "the shortest session")
    Field("max", \.longest, .ofSessions, "the longest session")
    Field("episode", \.episode, .ofSessions, "length of an episode; 0ms means forever")
    Field("calm", \.calm, .ofSessions, "normal time between two episodes; 0ms means a single episode")
    Field("seed", \.seed, .quirkSeed, QuirkText.seed)
  }.example("ends-sessions,min=130ms,max=300ms,episode=30s").checked { quirk, object in
    guard quirk.longest < quirk.shortest else { return }
    object.error(
      object.value("max") == nil ? "min" : "max",
      "a session cannot last at least \(DurationText.format(quirk.shortest)) and at most "
        + "\(DurationText.format(quirk.longest)): 'max' must not be shorter than 'min'")
  }
}

/// Stops working when sessions are opened too fast (field failure W24).
public struct WedgedByOpens: Equatable, Sendable {
  /// How many opens are too many.
  public var opens: Int
  /// Within which time.
  public var within: Duration
  /// How long it must be without power to work again.
  public var rest: Duration

  /// By default the eighth open in thirty seconds.
  public init(opens: Int = 8, within: Duration = .seconds(30), rest: Duration = .seconds(10)) {
    (self.opens, self.within, self.rest) = (opens, within, rest)
  }

  static let format = Record(
    "wedges-after",
    "stops answering in open and new sessions when too many are opened in a short time, until a power cycle",
    WedgedByOpens()
  ) {
    Field(
      "opens", \.opens, .integer(1...1_000),
      "the open at which it wedges; this one and everything later get no answer")
    Field("within", \.within, .ofSessions, "the window in which opens are counted")
    Field("rest", \.rest, .ofSessions, QuirkText.rest)
  }.example("wedges-after,opens=3,within=10s")
}

/// Sends nothing any more after a time, in a session that stays open (field failure W26).
public struct GoesSilent: Equatable, Sendable {
  /// How long the first session works.
  public var after: Duration
  /// How long the second one does.
  public var restart: Duration
  /// How long each later one does.
  public var later: Duration
  /// Up to how much each of these is off, either way.
  public var jitter: Duration
  /// How long it must be without power to begin anew.
  public var rest: Duration
  /// The random seed; 0 for the run's.
  public var seed: UInt64

  /// By default thirty seconds, then three minutes, then ten seconds each.
  public init(
    after: Duration = .seconds(30), restart: Duration = .seconds(180), later: Duration = .seconds(10),
    jitter: Duration = .zero, rest: Duration = .seconds(30), seed: UInt64 = 0
  ) {
    (self.after, self.restart, self.later) = (after, restart, later)
    (self.jitter, self.rest, self.seed) = (jitter, rest, seed)
  }

  static let format = Record(
    "goes-silent",
    "stops sending after a while but leaves the session open; a new session works, again for a while", GoesSilent()
  ) {
    Field("after", \.after, .ofSessions, "how long the first session works")
    Field("restart", \.restart, .ofSessions, "how long the second session works")
    Field("later", \.later, .ofSessions, "how long each session after these works")
    Field(
      "jitter", \.jitter, .duration(.zero ... .seconds(60)), "largest random change of each of these times")
    Field("rest", \.rest, .ofSessions, QuirkText.rest)
    Field("seed", \.seed, .quirkSeed, QuirkText.seed)
  }.example("goes-silent,after=5s,restart=20s,later=2s")
}

/// Keeps a session that was cut off, and ends every new one because of it (field failure W25).
public struct PhantomSession: Equatable, Sendable {
  /// How recent the last byte of a session is that counts as cut off.
  public var within: Duration
  /// When a new session is ended at the latest.
  public var ends: Duration
  /// How long it must be without power to forget it.
  public var rest: Duration
  /// The random seed; 0 for the run's.
  public var seed: UInt64

  /// By default a phantom that is gone after thirty seconds without power.
  public init(
    within: Duration = .seconds(1), ends: Duration = .seconds(1), rest: Duration = .seconds(30), seed: UInt64 = 0
  ) {
    (self.within, self.ends, self.rest, self.seed) = (within, ends, rest, seed)
  }

  static let format = Record(
    "phantom-session",
    "does not notice that a session was cut off mid-transfer, and then ends every new session until a power cycle",
    PhantomSession()
  ) {
    Field(
      "within", \.within, .ofSessions, "a session counts as cut off if its last byte is no older than this")
    Field("ends", \.ends, .ofSessions, "maximum time until it ends a new session; the actual time is random")
    Field("rest", \.rest, .ofSessions, QuirkText.rest)
    Field("seed", \.seed, .quirkSeed, QuirkText.seed)
  }.example("phantom-session,rest=45s")
}
