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
  func helpIsGivenWhateverElseIsWrongWithTheValues(line: String) throws { #expect(try read(line) == nil) }

  @Test func everyCommandDescribesEachOptionOnceAndHasRulesForItsOwn() {
    for command in CommandSpec.all {
      let names = command.options.flatMap { [$0.name] + [$0.short].compactMap(\.self) }
      #expect(Set(names).count == names.count, "\(command.name): an option stands twice")
      for name in command.optionsType.rules.flatMap(\.names) { #expect(names.contains(name), "\(command.name)") }
    }
  }
}
