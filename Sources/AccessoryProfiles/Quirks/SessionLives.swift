import AccessoryFormats

// Quirks that affect how long sessions last. These quirks keep their state from one session to the next. Some of these
// quirks also keep their state while the accessory is unplugged.

extension Format<UInt64> {
  /// The format of the random seed of a quirk. If the seed is 0, it is derived from the seed of the run.
  static let quirkSeed = integer(0...UInt64(Int64.max))
}

extension Format<Duration> {
  static let ofSessions = duration(.zero ... .seconds(24 * 3_600))
}

enum QuirkText {
  static let seed = "random seed for these times; 0 means the run's seed"
  static let rest = "how long the accessory must stay unplugged to count as power-cycled, which resets the quirk"
}

/// During an episode, the accessory ends each session after a random time (field failure W23).
public struct EndedSessions: Equatable, Sendable {
  /// The minimum duration of a session.
  public var shortest: Duration
  /// The maximum duration of a session.
  public var longest: Duration
  /// How long an episode lasts, or zero if it never ends.
  public var episode: Duration
  /// How long sessions work after an episode, or zero if they work forever.
  public var calm: Duration
  /// The random seed, or 0 to use the seed of the run.
  public var seed: UInt64

  /// Creates a quirk. By default, there is one episode of two minutes.
  public init(
    _ length: ClosedRange<Duration> = .seconds(3) ... .seconds(17), episode: Duration = .seconds(120),
    calm: Duration = .zero, seed: UInt64 = 0
  ) {
    (shortest, longest) = (length.lowerBound, length.upperBound)
    (self.episode, self.calm, self.seed) = (episode, calm, seed)
  }

  static let format = Record(
    "ends-sessions",
    "ends each session after a random time, but only during some periods (episodes); the first one begins with the "
      + "first session",
    EndedSessions()
  ) {
    Field("min", \.shortest, .ofSessions, "duration of the shortest session")
    Field("max", \.longest, .ofSessions, "duration of the longest session")
    Field("episode", \.episode, .ofSessions, "duration of an episode; 0ms means forever")
    Field(
      "calm", \.calm, .ofSessions,
      "time between episodes, in which sessions work normally; 0ms means that there is only one episode")
    Field("seed", \.seed, .quirkSeed, QuirkText.seed)
  }.example("ends-sessions,min=130ms,max=300ms,episode=30s").checked { quirk, object in
    guard quirk.longest < quirk.shortest else { return }
    object.error(
      object.value("max") == nil ? "min" : "max",
      "a session cannot last at least \(DurationText.format(quirk.shortest)) and at most "
        + "\(DurationText.format(quirk.longest)): 'max' must not be shorter than 'min'")
  }
}

/// The accessory stops working when sessions are opened in quick succession (field failure W24).
public struct WedgedByOpens: Equatable, Sendable {
  /// How many sessions must be opened during the period ``within`` to make the accessory stop working.
  public var opens: Int
  /// The period over which opened sessions are counted.
  public var within: Duration
  /// How long the accessory must be unplugged before it works again.
  public var rest: Duration

  /// Creates a quirk. By default, the accessory stops working at the eighth session opened within thirty seconds.
  public init(opens: Int = 8, within: Duration = .seconds(30), rest: Duration = .seconds(10)) {
    (self.opens, self.within, self.rest) = (opens, within, rest)
  }

  static let format = Record(
    "wedges-after",
    "stops answering in all sessions, open and new, once too many have been opened in a short time; a power cycle "
      + "resets the accessory",
    WedgedByOpens()
  ) {
    Field(
      "opens", \.opens, .integer(1...1_000),
      "how many sessions must be opened within the window to wedge the accessory; from then on, no session gets an "
        + "answer")
    Field("within", \.within, .ofSessions, "the length of the window in which opened sessions are counted")
    Field("rest", \.rest, .ofSessions, QuirkText.rest)
  }.example("wedges-after,opens=3,within=10s")
}

/// The accessory stops sending data after some time, but the session stays open (field failure W26).
public struct GoesSilent: Equatable, Sendable {
  /// How long the accessory keeps sending data in the first session.
  public var after: Duration
  /// How long the accessory keeps sending data in the second session.
  public var restart: Duration
  /// How long the accessory keeps sending data in every session after the second.
  public var later: Duration
  /// The maximum random deviation of each of these durations, up or down.
  public var jitter: Duration
  /// How long the accessory must be unplugged before it works again.
  public var rest: Duration
  /// The random seed, or 0 to use the seed of the run.
  public var seed: UInt64

  /// Creates a quirk. By default, the first session works for thirty seconds, the second session for three minutes, and
  /// every other session for ten seconds.
  public init(
    after: Duration = .seconds(30), restart: Duration = .seconds(180), later: Duration = .seconds(10),
    jitter: Duration = .zero, rest: Duration = .seconds(30), seed: UInt64 = 0
  ) {
    (self.after, self.restart, self.later) = (after, restart, later)
    (self.jitter, self.rest, self.seed) = (jitter, rest, seed)
  }

  static let format = Record(
    "goes-silent",
    "stops sending after a while but leaves the session open; a new session works, but also only for a while",
    GoesSilent()
  ) {
    Field("after", \.after, .ofSessions, "how long the first session works")
    Field("restart", \.restart, .ofSessions, "how long the second session works")
    Field("later", \.later, .ofSessions, "how long each later session works")
    Field(
      "jitter", \.jitter, .duration(.zero ... .seconds(60)), "maximum random variation in each of these times")
    Field("rest", \.rest, .ofSessions, QuirkText.rest)
    Field("seed", \.seed, .quirkSeed, QuirkText.seed)
  }.example("goes-silent,after=5s,restart=20s,later=2s")
}

/// The accessory does not notice that a session was cut off, so it ends every new session (field failure W25).
public struct PhantomSession: Equatable, Sendable {
  /// A session counts as cut off if it ended within this time after its last byte.
  public var within: Duration
  /// The maximum time before the accessory ends a new session.
  public var ends: Duration
  /// How long the accessory must be unplugged to forget the session that was cut off.
  public var rest: Duration
  /// The random seed, or 0 to use the seed of the run.
  public var seed: UInt64

  /// Creates a quirk. By default, the accessory forgets the old session after thirty seconds without power.
  public init(
    within: Duration = .seconds(1), ends: Duration = .seconds(1), rest: Duration = .seconds(30), seed: UInt64 = 0
  ) {
    (self.within, self.ends, self.rest, self.seed) = (within, ends, rest, seed)
  }

  static let format = Record(
    "phantom-session",
    "does not notice that a session was cut off mid-transfer, and ends every new session until it is power-cycled",
    PhantomSession()
  ) {
    Field(
      "within", \.within, .ofSessions,
      "a session counts as cut off mid-transfer if its last byte arrived less than this time before the session ended")
    Field("ends", \.ends, .ofSessions, "maximum time until the accessory ends a new session; the actual time is random")
    Field("rest", \.rest, .ofSessions, QuirkText.rest)
    Field("seed", \.seed, .quirkSeed, QuirkText.seed)
  }.example("phantom-session,rest=45s")
}
