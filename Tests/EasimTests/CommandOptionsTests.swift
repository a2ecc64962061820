import AccessoryCore
import Testing

@testable import easim

private struct LampOptions: CommandOptions {
  enum Color: String, CaseIterable { case red, green }

  var places: [String] = []
  var color = Color.red
  var brightness = 50
  var tags: [String] = []
  var isOn = false
  var isDimmed = false
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(each: "PLACE…", 1...2, \.places, .text)]
  static let options: [Option<Self>] = [
    Option("--color", \.color, .choice, "its color"),
    Option("--brightness", \.brightness, .integer(0...100), "in per cent"),
    Option(each: "--tag", \.tags, .text, as: "WORD", "a word"),
    Option("--on", short: "-o", \.isOn, "switch it on"),
    Option("--dimmed", \.isDimmed, "switch it on a little"),
    .timeout, .json,
  ]
  static let rules: [OptionRule] = [.exclusive(["--on", "--dimmed"]), .needs("--color", "--on")]
}

@Suite struct CommandOptionsTests {
  private func read(_ line: String) throws -> LampOptions? {
    try CommandLineReader<LampOptions>.read(line.split(separator: " ").map(String.init))
  }

  @Test func whatIsNotGivenHasTheDefaultOfTheProperty() throws {
    let options = try #require(try read("attic"))
    #expect(options.places == ["attic"])
    #expect(options.color == .red)
    #expect(options.brightness == 50)
    #expect(options.shared.timeout == .seconds(10))
    #expect(!options.isOn && !options.shared.isJSON)
  }

  @Test func everyFormOfAnOptionIsRead() throws {
    let line = "attic --color=green --on --brightness 7 --tag a --tag=b -- --json"
    let options = try #require(try read(line))
    #expect(options.places == ["attic", "--json"])
    #expect(options.color == .green)
    #expect(options.brightness == 7)
    #expect(options.tags == ["a", "b"])
    #expect(options.isOn && !options.shared.isJSON)
    #expect(try read("attic -o")?.isOn == true)
  }

  @Test(arguments: ["--help", "-h", "attic cellar roof --help", "--brightness 500 --help"])
  func helpIsGivenWhateverElseIsWrongWithTheValues(line: String) throws {
    #expect(try read(line) == nil)
  }

  @Test(arguments: [
    ("attic --colr red", "unknown option '--colr', did you mean '--color'?"),
    ("attic --xyz", "unknown option '--xyz'"),
    ("attic --color gren", "--color gren: expected red, green, did you mean 'green'?"),
    ("attic --brightness 101", "--brightness 101: expected a whole number from 0 to 100"),
    ("attic --brightness", "--brightness needs a value: --brightness N"),
    ("attic --tag", "--tag needs a value: --tag WORD"),
    ("attic --on=yes", "--on takes no value"),
    ("attic --brightness 1 --brightness 2", "--brightness is given twice"),
    ("attic --timeout 5", "--timeout 5: '5' has no unit: write '5ms', '5s' or '5m'"),
    ("attic --on --dimmed", "--on and --dimmed cannot be combined"),
    ("attic --color red", "--color needs --on"),
    ("--on", "PLACE… is missing"),
    ("attic cellar roof --brightness 500", "unexpected argument 'roof'"),
  ])
  func aMistakeIsNamed(line: String, message: String) {
    let error = #expect(throws: UsageError.self) { try read(line) }
    #expect(error?.message == message)
  }

  @Test func helpSaysTheFormatAndTheDefaultOfEachOption() {
    let command = CommandSpec(name: "lamp", summary: "", details: "", examples: []) { (_: LampOptions, _) in .done }
    let help = HelpText.text(for: command).split(separator: "\n").map(String.init)
    #expect(help.first == "usage: easim lamp PLACE… [OPTIONS]")
    #expect(help.contains("  --color red|green  its color (default red)"))
    #expect(help.contains("  --brightness N     in per cent (default 50)"))
    #expect(help.contains("  --tag WORD         a word"))
    #expect(help.contains("  -o, --on           switch it on"))
    #expect(help.contains("  --timeout TIME     time limit for the whole command (default 10s)"))
    #expect(help.contains("  -h, --help         print this help"))
  }

  @Test func everyCommandDescribesEachOptionOnceAndHasRulesForItsOwn() {
    for command in CommandSpec.all { #expect(command.flaws == [], "\(command.name)") }
  }

  /// Options whose descriptions contain mistakes, all of which must be detected.
  private struct Flawed: CommandOptions {
    var isOn = false
    var shared = SharedOptions()
    static let options: [Option<Self>] = [Option("--on", \.isOn, ""), .json, Option("--on", short: "-h", \.isOn, "")]
    static let rules: [OptionRule] = [.needs("--on", "--off")]
  }

  @Test func aWrongDescriptionIsFound() {
    #expect(Flawed.flaws == ["--on stands twice", "-h stands twice", "a rule names --off, which is not an option"])
  }
}
