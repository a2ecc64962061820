import AccessoryFormats

/// What an accessory does with the bytes of a session, as data; the simulator gives it life.
///
/// ```swift
/// let source = try Behavior("source,rate=500,text=tick")
/// ```
public enum Behavior: Equatable, Sendable {
  /// Sends back what it receives.
  case echo
  /// Counts and discards what it receives; checks, if asked, that it is what `easim burst` or EADemo sends.
  case sink(check: Bool)
  /// Talks by itself.
  case source(Source)
  /// Answers requests according to rules.
  case script(Script)
  /// Passes the bytes to a program's standard input, and sends its output.
  case exec(Program)

  /// The form in profiles and for `--behavior`.
  public static let format = OneOf(
    "behavior", key: "type", example: "echo",
    shorthand: .init(pattern: "exec:[\\s\\S]*\\S[\\s\\S]*", shellCommand)
  ) {
    Kind("echo", "sends back what it receives", Behavior.echo)
    Kind(
      Record("sink", "counts and discards what it receives", false) {
        Field("check", \.self, .boolean, "whether to report bytes that neither easim burst nor EADemo sends")
      }, Behavior.sink(check:)
    ) { if case .sink(let check) = $0 { check } else { nil } }
    Kind(Source.format, Behavior.source) { if case .source(let source) = $0 { source } else { nil } }
    Kind(Script.format, Behavior.script) { if case .script(let script) = $0 { script } else { nil } }
    Kind(Program.format, Behavior.exec) { if case .exec(let program) = $0 { program } else { nil } }
  }

  /// Reads the form of the command line: `echo`, `sink,check`, `source,rate=500,text=tick`, or `exec:` and a shell
  /// command. A script has rules, so it is written in a profile.
  public init(_ text: String) throws(SourceProblems) { self = try Self.format.read(text) }

  /// The name in profiles and for `--behavior`.
  public var name: String { Self.format.name(of: self) }

  /// `exec:` and a command for the shell; and what to write instead of the two kinds that a name and parameters cannot
  /// say.
  private static func shellCommand(_ text: String) throws(OptionError) -> [JSON5Member]? {
    let text = OptionText.trimmed(text)
    if text.hasPrefix("exec:") {
      let command = OptionText.trimmed(text.dropFirst("exec:".count))
      if command.isEmpty { throw OptionError("the command is missing: write 'exec:COMMAND'") }
      return format.object(.exec(Program("/bin/sh", ["-c", command])))
    }
    switch OptionText(text).name {
    case Script.format.name:
      throw OptionError("a script has rules: write it in a profile, as { type: 'script', rules: [ … ] }")
    case Program.format.name: throw OptionError("the command is missing: write 'exec:COMMAND'")
    default: return nil
    }
  }

  /// An accessory that talks by itself, such as a sensor.
  public struct Source: Equatable, Sendable {
    /// What is sent repeatedly.
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

    static let format = Record("source", "sends unprompted, as a sensor does", Source()) {
      Field("rate", \.rate, .integer(1...1_000_000_000), "bytes per second")
      Field("chunk", \.chunk, .integer(1...1_048_576), "bytes per write; together with the rate it sets the interval")
      Field("pattern", \.made, .choice, "the bytes 00, 01 … FF, 00 …, or random bytes from the seed")
      Field(
        "text", \.text, .optional(.text(TextShape(length: 1...Int.max))), "a text to send repeatedly instead")
      Field(
        "total", \.total, .optional(.integer(1...1_000_000_000_000)),
        "total bytes; default: unlimited")
    }.checked(schema: [
      .init("not", .object([.init("required", .array([.text("pattern"), .text("text")]))]))
    ]) { source, object in
      if object.value("pattern") != nil, object.value("text") != nil {
        object.error("pattern", "a source repeats a text or generates a pattern: omit 'text' or 'pattern'")
      }
      if case .text("") = source.pattern { object.error("text", "an empty text cannot be sent repeatedly") }
    }

    private enum Made: String, CaseIterable {
      case counting, random
    }

    private var made: Made {
      get { pattern == .random ? .random : .counting }
      set {
        switch newValue {
        case .counting: pattern = .counting
        case .random: pattern = .random
        }
      }
    }

    private var text: String? {
      get { if case .text(let text) = pattern { text } else { nil } }
      set { if let newValue { pattern = .text(newValue) } }
    }
  }
}
