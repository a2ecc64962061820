import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySimulator
import LinuxIO
import Testing

@testable import AccessoryWorlds

@Suite struct WorldActionTests {
  private let names = ScenarioNames(accessories: ["glasses"])

  @Test func eachActionHasANameOfItsOwn() {
    let names = WorldAction.kinds().map(\.name)
    #expect(Set(names).count == names.count)
    let keys = WorldAction.kinds().compactMap(\.key)
    #expect(Set(keys).count == keys.count)
    let methods = WorldAction.kinds().compactMap(\.method)
    #expect(Set(methods).count == methods.count)
  }

  @Test func eachActionIsReadAsItIsWritten() throws {
    // Messages are excluded, because they have required keys. `ScenarioReaderTests` covers messages.
    for kind in WorldAction.kinds() where !kind.name.hasSuffix(".message") {
      let action = kind.action("glasses")
      let problems = ProblemCollector()
      let read = WorldAction.format.format.read(WorldAction.format.tree(action), at: Place(problems))
      #expect(read == action && problems.errorCount == 0, "\(kind.name): \(problems.problems)")
    }
  }

  /// If the table allows an action in scenarios, the action can be written as a step, and parsing that step yields the
  /// same action.
  @Test func eachActionOfScenariosIsAStep() throws {
    let rows = WorldAction.kinds(names, for: .scenarios).filter { $0.tools.contains(.scenarios) }
    #expect(rows.count > 25)
    let format = Scenario.Step.format(names)
    let sides: [FieldShape] = if case .record(let shape) = format.shape { shape.fields } else { [] }
    for row in rows where !row.name.hasSuffix(".message") {
      let parts = row.name.split(separator: ".").map(String.init)
      let side = sides.first { $0.key == parts[0] }
      #expect(side?.shape.choices.contains(parts[1]) == true, "\(row.name)")
      let step = Scenario.Step(at: .seconds(1), row.action("glasses"))
      #expect(format.read(format.write(step), at: Place(ProblemCollector())) == step, "\(row.name)")
    }
  }

  /// Each shared action affects only the accessory, device or app that it names.
  @Test func eachActionReachesWhatItIsAbout() throws {
    let loop = VirtualLoop(seed: 1)
    let world = World(on: loop)
    let glasses = world.add(try ProfileLibrary().profile("echo"))
    var asked: [String] = []
    var done: [AppAction] = []
    let player = ActionPlayer(in: world) { name in
      asked.append(name)
      return glasses
    } app: { action, _ in
      done.append(action)
    }
    for kind in WorldAction.kinds() {
      (asked, done) = ([], [])
      try player.perform(kind.action("glasses"))
      switch kind.action("glasses") {
      case .app(let action, _): #expect(done == [action] && asked == [], "\(kind.name)")
      case .noticeCables(let notices): #expect(world.device.noticesCables == notices && asked == [])
      default: #expect(Set(asked) == ["glasses"] && done == [], "\(kind.name)")
      }
    }
    world.tearDown()
    try loop.runUntilQuiet()
  }

  @Test func aProcessWithOneEndLeavesTheRestToTheOther() throws {
    for kind in WorldAction.kinds() { try ActionPlayer().perform(kind.action("glasses")) }
    var pulled: [String] = []
    var player = ActionPlayer()
    player.pull = { pulled.append("\($0) \($1)") }
    try player.perform(.pull("glasses", unnoticed: true))
    #expect(pulled == ["glasses true"])
  }

  /// The app gets a disconnect, and a connect with another connection ID two seconds later.
  @Test func anAccessoryThatRestartsComesBackByItself() throws {
    let loop = VirtualLoop(seed: 1)
    let world = World(on: loop)
    let glasses = world.add(try ProfileLibrary().profile("echo"))
    let restart = { try glasses.perform(.restart) }
    try restart()
    try loop.advance(by: .seconds(3))
    #expect(!glasses.isAttached, "only an accessory that is plugged in restarts")
    try glasses.plugIn()
    try loop.advance(by: .seconds(1))
    let first = try #require(world.device.published.first)
    try restart()
    try loop.advance(by: .milliseconds(1_999))
    #expect(!glasses.isAttached && world.device.published.isEmpty)
    // A second restart does not delay the first.
    try restart()
    try loop.advance(by: .milliseconds(500))
    let second = try #require(world.device.published.first)
    #expect(first.serialNumber == second.serialNumber && first.connectionID != second.connectionID)
    try restart()
    glasses.unplug()
    try loop.advance(by: .seconds(3))
    #expect(!glasses.isAttached, "unplugging cancels the return")
    world.tearDown()
    try loop.runUntilQuiet()
  }
}
