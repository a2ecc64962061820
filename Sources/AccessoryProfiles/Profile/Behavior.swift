import AccessoryFormats

/// What an accessory does with the bytes in a session.
///
/// ```swift
/// let source = try Behavior("source,rate=500,text=tick")
/// ```
public enum Behavior: Equatable, Sendable {
  /// Sends back the bytes it receives.
  case echo
  /// Counts and discards the bytes it receives. If requested, checks that the bytes are those that `easim burst` or
  /// EADemo sends.
  case sink(check: Bool)
  /// Sends data without waiting for requests.
  case source(Source)
  /// Answers requests according to rules.
  case script(Script)
  /// Passes the bytes to a program's standard input, and sends what the program writes to its standard output.
  case exec(Program)

  /// The format used in profiles and for `--behavior`.
  public static let format = OneOf(
    "behavior", key: "type", example: "echo",
    shorthand: .init(pattern: "exec:[\\s\\S]*\\S[\\s\\S]*", shellCommand)
  ) {
    Kind("echo", "sends back the bytes it receives", Behavior.echo)
    Kind(
      Record("sink", "counts and discards the bytes it receives", false) {
        Field("check", \.self, .boolean, "whether to report bytes that neither easim burst nor EADemo sends")
      }, Behavior.sink(check:)
    ) { if case .sink(let check) = $0 { check } else { nil } }
    Kind(Source.format, Behavior.source) { if case .source(let source) = $0 { source } else { nil } }
    Kind(Script.format, Behavior.script) { if case .script(let script) = $0 { script } else { nil } }
    Kind(Program.format, Behavior.exec) { if case .exec(let program) = $0 { program } else { nil } }
  }

  /// Parses the form used on the command line: `echo`, `sink,check`, `source,rate=500,text=tick`, or `exec:` and a
  /// shell command. A script has rules, so it can be given only in a profile.
  public init(_ text: String) throws(SourceProblems) { self = try Self.format.read(text) }

  /// The name of the behavior in profiles and for `--behavior`.
  public var name: String { Self.format.name(of: self) }

  /// Parses `exec:` followed by a shell command. If the text names a behavior that needs more than a name and
  /// parameters, the error says what to write instead.
  private static func shellCommand(_ text: String) throws(OptionError) -> [JSON5Member]? {
    let text = OptionText.trimmed(text)
    if text.hasPrefix("exec:") {
      let command = OptionText.trimmed(text.dropFirst("exec:".count))
      if command.isEmpty { throw OptionError("the command is missing: write 'exec:COMMAND'") }
      return format.object(.exec(Program("/bin/sh", ["-c", command])))
    }
    switch OptionText(text).name {
    case Script.format.name:
      throw OptionError("a script needs rules: write it in a profile, as { type: 'script', rules: [ … ] }")
    case Program.format.name: throw OptionError("the command is missing: write 'exec:COMMAND'")
    default: return nil
    }
  }

  /// The behavior of an accessory that sends data without waiting for requests, such as a sensor.
  public struct Source: Equatable, Sendable {
    /// The kind of data that a source sends.
    public enum Pattern: Equatable, Sendable {
      /// The bytes 00, 01 … FF, 00 …, where each chunk continues from the previous chunk.
      case counting
      case text(String)
      /// Bytes from the loop's seeded random generator.
      case random
    }

    /// The number of bytes per second.
    public var rate: Int
    /// How many bytes are sent at a time. The size of a chunk and the rate determine the interval.
    public var chunk: Int
    /// The data to send.
    public var pattern: Pattern
    /// How many bytes are sent in total, or nil if there is no limit.
    public var total: Int?

    /// Creates a source.
    public init(rate: Int = 1000, chunk: Int = 100, pattern: Pattern = .counting, total: Int? = nil) {
      self.rate = rate
      self.chunk = chunk
      self.pattern = pattern
      self.total = total
    }

    static let format = Record("source", "sends data unprompted, as a sensor does", Source()) {
      Field("rate", \.rate, .integer(1...1_000_000_000), "bytes per second")
      Field(
        "chunk", \.chunk, .integer(1...1_048_576),
        "bytes per write; with the rate, this determines the interval between writes")
      Field(
        "pattern", \.generated, .words([("counting", .counting), ("random", .random)]),
        "the bytes 00, 01 … FF, 00 …, or random bytes generated from the seed")
      Field(
        "text", \.text, .optional(.text(TextShape(length: 1...Int.max))), "text to send repeatedly instead of a pattern"
      )
      Field(
        "total", \.total, .optional(.integer(1...1_000_000_000_000)),
        "total number of bytes to send; default: unlimited")
    }.checked(schema: [
      .init("not", .object([.init("required", .array([.text("pattern"), .text("text")]))]))
    ]) { source, object in
      if object.value("pattern") != nil, object.value("text") != nil {
        object.error("pattern", "a source repeats text or generates a pattern: omit 'text' or 'pattern'")
      }
      if case .text("") = source.pattern { object.error("text", "empty text cannot be sent repeatedly") }
    }

    private var generated: Pattern {
      get { pattern == .random ? .random : .counting }
      set { pattern = newValue }
    }

    private var text: String? {
      get { if case .text(let text) = pattern { text } else { nil } }
      set { if let newValue { pattern = .text(newValue) } }
    }
  }

  /// A program that handles an accessory's sessions. Each session runs in a separate process.
  public struct Program: Equatable, Sendable {
    /// The program to run, given as a path or a name. A relative path or a name is looked up first in the folder that
    /// contains the profile file.
    public var command: String
    /// The program's arguments.
    public var arguments: [String]
    /// Environment variables for the program, in addition to the standard ones: `NAME` passes on this process's value,
    /// and `NAME=VALUE` sets a value.
    public var environment: [String]
    /// Where the program was specified. Comparisons ignore the origin.
    public var origin = Origin()

    /// Creates a program.
    public init(_ command: String, _ arguments: [String] = [], environment: [String] = []) {
      self.command = command
      self.arguments = arguments
      self.environment = environment
    }

    /// The command as a user would type it in a shell.
    public var text: String {
      if command == "/bin/sh", arguments.count == 2, arguments[0] == "-c" { return arguments[1] }
      return ([command] + arguments).map(\.shellWord).joined(separator: " ")
    }

    static let format = Record(
      "exec", "passes the bytes to a program's stdin, and sends back what the program writes to stdout", Program("")
    ) {
      Field(
        "command", \.command, .text(TextShape(length: 1...Int.max)),
        "the program's path or name; a relative path is first resolved against the file that contains the path",
        isRequired: true)
      Field("arguments", \.arguments, .list(of: .text), "the program's arguments")
      Field(
        "environment", \.environment, .list(of: .variable),
        "environment variables for the program, in addition to those in docs/profiles.md: NAME passes the variable on "
          + "from easim's environment, NAME=VALUE sets it"
      )
    }.checked { _, object in
      if object.value("command")?.content == .text("") { object.error("command", "the command is empty") }
    }

    /// The file or command line that specified a program.
    public struct Origin: Sendable {
      /// The position of the command in its file, or nil if the command was not read from a file.
      public var position: SourcePosition?
      /// The folder that contains the file. The program is looked up in this folder and runs in it. If nil, this
      /// process's working directory is used.
      public var folder: String?
      /// The reason why the file is not trusted to run programs, or nil if it is trusted.
      public var objection: String?

      /// Creates the origin of a trusted program, which was specified on the command line or in an app's code.
      public init() {}
    }

    /// Returns true if both programs are equal, regardless of their origins.
    public static func == (one: Program, other: Program) -> Bool {
      one.command == other.command && one.arguments == other.arguments && one.environment == other.environment
    }
  }
}

extension Format<String> {
  fileprivate static let variable = parsed(
    TextShape("variable", pattern: "^[A-Za-z_][A-Za-z0-9_]*(=[^\\u0000]*)?$"),
    expected: "a variable: expected NAME or NAME=VALUE", { isVariable($0) ? $0 : nil }, text: { $0 })

  private static func isVariable(_ text: String) -> Bool {
    let name = text.prefix { $0 != "=" }
    let isPlain = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    return isPlain && name.first?.isNumber == false && !text.unicodeScalars.contains("\0")
  }
}

extension Profile {
  /// The programs that the profile's sessions run. Each program comes with the path of the behavior that names it.
  public var programs: [(path: String, program: Behavior.Program)] {
    var found: [(String, Behavior.Program)] = []
    if protocols.isEmpty || protocols.contains(where: { $0.behavior == nil }), case .exec(let program) = behavior {
      found.append(("behavior", program))
    }
    for (index, entry) in protocols.enumerated() {
      if case .exec(let program)? = entry.behavior { found.append(("accessory.protocols[\(index)].behavior", program)) }
    }
    return found
  }

  /// Allows the programs to run even if their file is not trusted.
  public mutating func allowPrograms() {
    changePrograms { _, program in program.origin.objection = nil }
  }

  /// Records where each program was specified, based on the tree from which the profile was read.
  mutating func placePrograms(in tree: JSON5Value) {
    var objections: [String: String?] = [:]
    changePrograms { path, program in
      let place = tree.position(at: "\(path).command")
      program.origin.position = place
      program.origin.folder = TextFile.folder(of: place.file)
      // Any part of the profile may come from a file that the profile extends.
      program.origin.objection =
        tree.nearest(to: path).files.sorted().lazy.compactMap { file -> String? in
          if let known = objections[file] { return known }
          let objection = TextFile.objection(toRunning: file)
          objections[file] = .some(objection)
          return objection
        }.first
    }
  }

  private mutating func changePrograms(_ change: (String, inout Behavior.Program) -> Void) {
    if case .exec(var program) = behavior {
      change("behavior", &program)
      behavior = .exec(program)
    }
    for index in protocols.indices {
      guard case .exec(var program)? = protocols[index].behavior else { continue }
      change("accessory.protocols[\(index)].behavior", &program)
      protocols[index].behavior = .exec(program)
    }
  }
}

extension JSON5Value {
  fileprivate var files: Set<String> {
    let inside: [JSON5Value] =
      switch content {
      case .array(let values): values
      case .object(let members): members.map(\.value)
      case .null, .boolean, .number, .text: []
      }
    return inside.reduce([position.file]) { $0.union($1.files) }
  }
}
