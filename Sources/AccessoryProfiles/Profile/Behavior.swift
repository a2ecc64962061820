/// What an accessory does with the bytes of a session, as data; the simulator gives it life.
public enum Behavior: Equatable, Sendable {
  /// Sends back what it receives.
  case echo
  /// Takes what it receives and counts it; checks, if asked, that it is the counting pattern 00, 01 … FF, 00 ….
  case sink(check: Bool)
  /// Talks by itself.
  case source(Source)
  /// Answers requests by rules.
  case script(Script)
  /// Hands the bytes to a program's standard input, and sends back what it prints.
  case exec(Program)

  /// The names that profiles and `--behavior` use.
  public static let names = ["echo", "sink", "source", "script", "exec"]

  /// The name of this one.
  public var name: String {
    switch self {
    case .echo: "echo"
    case .sink: "sink"
    case .source: "source"
    case .script: "script"
    case .exec: "exec"
    }
  }

  /// An accessory that talks by itself, such as a sensor.
  public struct Source: Equatable, Sendable {
    /// What is sent, over and over.
    public enum Pattern: Equatable, Sendable {
      /// 00, 01 … FF, 00 …, not restarted at the beginning of a chunk.
      case counting
      /// A text, over and over.
      case text(String)
      /// Bytes from the loop's seeded random source.
      case random
    }

    /// Bytes per second.
    public var rate: Int
    /// How many bytes are sent at a time; with the rate this makes the interval.
    public var chunk: Int
    /// What is sent.
    public var pattern: Pattern
    /// How many bytes in all; nil for as long as the session lasts.
    public var total: Int?

    /// A source.
    public init(rate: Int = 1000, chunk: Int = 100, pattern: Pattern = .counting, total: Int? = nil) {
      self.rate = rate
      self.chunk = chunk
      self.pattern = pattern
      self.total = total
    }

    static let rateRange = 1...1_000_000_000
    static let chunkRange = 1...1_048_576
    static let totalRange = 1...1_000_000_000_000
  }
}
