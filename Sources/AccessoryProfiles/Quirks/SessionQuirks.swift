import AccessoryFormats

// MARK: The bytes of a session

/// The accessory does not reply until the user touches it, and the request cannot be cancelled (field failure W22).
public struct BusyAfterCancel: Equatable, Sendable {
  /// What happens to the reply if the session ends before the reply is sent.
  public enum Reply: String, CaseIterable, Sendable {
    /// The reply is sent later, in the session that is then open or, if none is open, in the next session.
    case late
    case none
  }

  /// How long after a request the simulated user touches the accessory.
  public var touch = Duration.seconds(10)
  /// How long a cancelled request keeps the accessory busy, measured from the request.
  public var busy = Duration.seconds(30)
  /// What happens to the reply if the session ends before the reply is sent.
  public var reply = Reply.late

  /// Creates the quirk with its default parameters.
  public init() {}

  static let format = Record(
    "busy-after-cancel",
    "waits for the user's touch before it replies; if the session ends first, ignores requests for a while and then "
      + "sends the old reply", BusyAfterCancel()
  ) {
    Field("touch", \.touch, .ofSessions, "time from a request until the user's touch")
    Field("busy", \.busy, .ofSessions, "how long after the cancelled request the accessory ignores requests")
    Field(
      "reply", \.reply, .choice,
      "late: the accessory then sends the reply to the cancelled request, in the current or next session; none: it "
        + "never sends the reply"
    )
  }.example("busy-after-cancel,touch=5s")
}

/// The accessory silently drops bytes that do not fit in its buffer (field failure W32).
public struct SmallBuffer: Equatable, Sendable {
  /// The size of the buffer.
  public var bytes = 512
  /// How many bytes from the buffer are processed per second.
  public var rate = 2_000

  /// Creates the quirk with its default parameters.
  public init() {}

  static let format = Record(
    "drops-beyond", "reads slowly into a small buffer, and silently drops bytes that do not fit", SmallBuffer()
  ) {
    Field("bytes", \.bytes, .integer(1...1_048_576), "the size of the buffer")
    Field("rate", \.rate, .integer(1...1_000_000_000), "the rate at which the accessory reads, in bytes per second")
  }.example("drops-beyond,bytes=64")
}

/// The accessory splits or joins the bytes that it sends (field failure W33).
public struct ReplyChunking: Equatable, Sendable {
  /// How the bytes are split or joined.
  public enum Pieces: String, CaseIterable, Sendable {
    /// Each byte is sent separately.
    case bytes
    /// All bytes that are written within a period are sent together.
    case glued
    /// The pieces have random lengths.
    case split
  }

  /// How the bytes are split or joined.
  public var pieces = Pieces.bytes
  /// The pause between two pieces or, for ``Pieces/glued``, the time during which bytes are collected.
  public var gap = Duration.milliseconds(5)
  /// The maximum size of a piece.
  public var size = 16
  /// The random seed, or 0 to use the seed of the run.
  public var seed: UInt64 = 0

  /// Creates the quirk with its default parameters.
  public init() {}

  static let format = Record(
    "reply-chunking", "sends replies byte by byte, several at once, or split at random", ReplyChunking()
  ) {
    Field(
      "pieces", \.pieces, .choice,
      "bytes: one byte at a time; glued: everything produced within `gap` at once; split: pieces of random length"
    )
    Field(
      "gap", \.gap, .duration(.zero ... .seconds(60)),
      "pause between pieces; for `glued`, how long to collect bytes")
    Field("size", \.size, .integer(1...65_536), "for `split`: maximum size of a piece, in bytes")
    Field("seed", \.seed, .quirkSeed, "random seed for the pieces; 0 means the run's seed")
  }.example("reply-chunking,split,gap=20ms")
}

/// The accessory obeys only the first settings command in each session (field failure W34).
public struct FirstSettingsOnly: Equatable, Sendable {
  /// What marks the end of a command.
  public enum End: String, CaseIterable, Sendable {
    case pause
    case lf
    case cr
  }

  /// The bytes that a settings command begins with.
  public var prefix = ""
  /// What marks the end of a command.
  public var end = End.pause
  /// How long a pause must be to end a command.
  public var pause = Duration.milliseconds(200)

  /// Creates the quirk with its default parameters.
  public init() {}

  static let format = Record(
    "obeys-first-settings-only", "obeys the first settings command of each session and ignores the others",
    FirstSettingsOnly()
  ) {
    Field("prefix", \.prefix, .text, "prefix of settings commands; if empty, every command is a settings command")
    Field("end", \.end, .choice, "the end of a command: a pause, a line feed or a carriage return")
    Field(
      "pause", \.pause, .duration(.milliseconds(1) ... .seconds(60)), "minimum length of a pause that ends a command")
  }.example("obeys-first-settings-only,prefix=SET,end=lf")
}

/// The accessory handles the first few transactions, and all later transactions fail (field failure W30).
public struct FailingTransactions: Equatable, Sendable {
  /// How a transaction fails.
  public enum Answer: String, CaseIterable, Sendable {
    case silence
    case close
  }

  /// How many transactions succeed before all others fail.
  public var transactions = 1
  /// How later transactions fail.
  public var answer = Answer.silence
  /// How long a pause must be for the next request to begin a new transaction.
  public var pause = Duration.milliseconds(500)

  /// Creates the quirk with its default parameters.
  public init() {}

  static let format = Record(
    "fails-after-first-transaction",
    "serves the first transaction and fails all later ones until it is unplugged and plugged in again",
    FailingTransactions()
  ) {
    Field("transactions", \.transactions, .integer(1...1_000_000), "number of transactions that succeed")
    Field("answer", \.answer, .choice, "how later transactions fail: silence (no reply) or close (the session ends)")
    Field(
      "pause", \.pause, .duration(.milliseconds(1) ... .seconds(3600)),
      "a request begins a new transaction if it follows a pause of at least this length, or arrives in a different "
        + "session"
    )
  }.example("fails-after-first-transaction,close")
}

// MARK: - How long sessions last

// These quirks keep their state from one session to the next, and some also while the accessory is unplugged.

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
  public var shortest = Duration.seconds(3)
  /// The maximum duration of a session.
  public var longest = Duration.seconds(17)
  /// How long an episode lasts, or zero if it never ends.
  public var episode = Duration.seconds(120)
  /// How long sessions work after an episode, or zero if they work forever.
  public var calm = Duration.zero
  /// The random seed, or 0 to use the seed of the run.
  public var seed: UInt64 = 0

  /// Creates the quirk with its default parameters.
  public init() {}

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
  public var opens = 8
  /// The period over which opened sessions are counted.
  public var within = Duration.seconds(30)
  /// How long the accessory must be unplugged before it works again.
  public var rest = Duration.seconds(10)

  /// Creates the quirk with its default parameters.
  public init() {}

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
  public var after = Duration.seconds(30)
  /// How long the accessory keeps sending data in the second session.
  public var restart = Duration.seconds(180)
  /// How long the accessory keeps sending data in every session after the second.
  public var later = Duration.seconds(10)
  /// The maximum random deviation of each of these durations, up or down.
  public var jitter = Duration.zero
  /// How long the accessory must be unplugged before it works again.
  public var rest = Duration.seconds(30)
  /// The random seed, or 0 to use the seed of the run.
  public var seed: UInt64 = 0

  /// Creates the quirk with its default parameters.
  public init() {}

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
  public var within = Duration.seconds(1)
  /// The maximum time before the accessory ends a new session.
  public var ends = Duration.seconds(1)
  /// How long the accessory must be unplugged to forget the session that was cut off.
  public var rest = Duration.seconds(30)
  /// The random seed, or 0 to use the seed of the run.
  public var seed: UInt64 = 0

  /// Creates the quirk with its default parameters.
  public init() {}

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
