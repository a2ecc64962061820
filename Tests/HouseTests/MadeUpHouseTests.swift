import Testing

/// The checks themselves, on houses that are made up and wrong: a check that cannot fail checks nothing.
@Suite struct MadeUpHouseTests {
  static let plan = [
    "let package = Package(name: \"x\", products: [.executable(name: \"tool\", targets: [\"tool\"])], targets: [",
    "  room(\"Bytes\", floor: 0),  // room(\"Cellar\", floor: -1)",
    "  .target(name: \"CThing\"),",
    "  room(\"Pipes\", floor: 1, [\"Bytes\", \"CThing\"], resources: [.embedInCode(\"Folder\")]),",
    "  .executableTarget(name: \"tool\", dependencies: [\"Pipes\"]),",
    "  .target(name: \"Help\", dependencies: [\"Bytes\"], path: \"Tests/Support/Help\"),",
    "  .executableTarget(name: \"trial\", dependencies: [\"Help\"], path: \"Tests/Support/trial\"),",
    "  tests(\"PipesTests\", [\"Pipes\", \"tool\", \"Help\"]),",
    "])",
  ].joined(separator: "\n")

  /// A house with this plan and these files; files that a plan needs to be right are there unless they are given.
  func house(plan: String = Self.plan, _ given: [String: String] = [:]) throws -> House {
    var files = [
      "Sources/Bytes/A.swift": "let a = 1",
      "Sources/Pipes/A.swift": "import Bytes\nimport CThing\nimport Glibc",
      "Sources/tool/main.swift": "import Foundation\nimport Pipes",
      "Tests/Support/Help/A.swift": "import Bytes",
      "Tests/Support/trial/main.swift": "import Help",
      "Tests/PipesTests/A.swift": "import Help\n@testable import Pipes\nimport Testing",
    ]
    files.merge(given) { $1 }
    return House(
      plan: try PackagePlan(parsing: plan),
      files: files.sorted { $0.key < $1.key }.map { SourceFile(path: $0, text: $1) })
  }

  func findings(_ house: House) -> [String] {
    FloorChecks.dependenciesGoDown(house) + FloorChecks.importsAreAllowed(house)
      + FloorChecks.declarationsAreUsed(house) + HabitChecks.filesAreShort(house)
      + HabitChecks.nothingUsesXCTest(house) + HabitChecks.testsDoNotSleep(house)
  }

  @Test func aRightHouseHasNoFindings() throws {
    #expect(findings(try house()) == [])
  }

  @Test func aPlanIsReadTargetByTarget() throws {
    let plan = try PackagePlan(parsing: Self.plan)
    #expect(plan.targets.map(\.name) == ["Bytes", "CThing", "Pipes", "tool", "Help", "trial", "PipesTests"])
    #expect(plan.targets.map(\.floor) == [0, 0, 1, 7, nil, nil, nil])
    #expect(plan["Pipes"]?.dependencies == ["Bytes", "CThing"])
    #expect(plan["Bytes"]?.dependencies == [])
    #expect(plan["Help"]?.folder == "Tests/Support/Help")
  }

  @Test func aPlanThatCannotBeReadIsAnErrorAndNotAnEmptyHouse() {
    #expect(throws: PlanError.noPackage) { try PackagePlan(parsing: "let x = 1") }
    #expect(throws: PlanError.noTargets) { try PackagePlan(parsing: "let package = Package(name: \"x\")") }
    #expect(throws: PlanError.noFloor("A")) { try PackagePlan(parsing: "let package = Package(room(\"A\", [\"B\"]))") }
    #expect(throws: PlanError.noName("room")) { try PackagePlan(parsing: "let package = Package(room(floor: 1))") }
  }

  @Test func aDependencyUpwardsOrOnTheSameFloorIsFound() throws {
    let plan = Self.plan.replacing("room(\"Bytes\", floor: 0)", with: "room(\"Bytes\", floor: 1)")
    #expect(
      FloorChecks.dependenciesGoDown(try house(plan: plan)) == [
        "Pipes on floor 1 depends on Bytes on floor 1, which is not below it"
      ])
  }

  @Test func aDependencyOnNothingOrOnTestSupportIsFound() throws {
    let plan = Self.plan.replacing("[\"Bytes\", \"CThing\"]", with: "[\"Bites\", \"Help\"]")
    #expect(
      FloorChecks.dependenciesGoDown(try house(plan: plan)) == [
        "Pipes depends on Bites, which is no target", "Pipes depends on Help, which is there for tests alone",
      ])
  }

  @Test func anImportThatIsNotDeclaredIsFound() throws {
    #expect(
      FloorChecks.importsAreAllowed(try house(["Sources/tool/b.swift": "// why\n@_exported public import Bytes"])) == [
        "Sources/tool/b.swift:2: tool imports Bytes and does not declare it in Package.swift"
      ])
  }

  @Test(arguments: [("Bytes", 0, "Glibc"), ("Bytes", 0, "Synchronization"), ("Pipes", 1, "Foundation")])
  func aPartOfTheSystemThatTheFloorMayNotUseIsFound(target: String, floor: Int, module: String) throws {
    let found = FloorChecks.importsAreAllowed(try house(["Sources/\(target)/b.swift": "import struct \(module).Thing"]))
    #expect(found == ["Sources/\(target)/b.swift:1: \(target) on floor \(floor) may not import \(module)"])
  }

  @Test func aDeclarationThatIsNotUsedIsFound() throws {
    #expect(
      FloorChecks.declarationsAreUsed(try house(["Sources/Pipes/A.swift": "import Bytes // import CThing"])) == [
        "Pipes declares CThing in Package.swift and never imports it"
      ])
  }

  @Test func aFileInNoTargetIsFound() throws {
    #expect(
      FloorChecks.importsAreAllowed(try house(["Sources/Attic/A.swift": ""])) == [
        "Sources/Attic/A.swift is in no target's folder"
      ])
  }

  @Test func aLongFileIsFoundAndOneAtTheLimitIsNot() throws {
    let line = "let x = 1\n"
    #expect(HabitChecks.filesAreShort(try house(["Tests/Help/A.swift": String(repeating: line, count: 450)])) == [])
    #expect(
      HabitChecks.filesAreShort(try house(["Tests/Help/A.swift": String(repeating: line, count: 451)])) == [
        "Tests/Help/A.swift has 451 lines, 450 is the most"
      ])
  }

  @Test func xCTestIsFound() throws {
    #expect(
      HabitChecks.nothingUsesXCTest(try house(["Tests/PipesTests/b.swift": "\n@testable import XCTest"])) == [
        "Tests/PipesTests/b.swift:2 imports XCTest"
      ])
  }

  @Test(arguments: [
    "try await Task.sleep(for: .seconds(1))", "usleep(10)", "  Glibc.usleep(10)", "x = sleep(1)",
    "Thread.sleep(forTimeInterval: 1)", "try await clock.sleep(until: x)", "ContinuousClock().sleep(1)",
    "say(\"\\(sleep(1))\")",
  ]) func sleepingInATestIsFound(line: String) throws {
    let found = HabitChecks.testsDoNotSleep(try house(["Tests/PipesTests/b.swift": line]))
    #expect(found.count == 1)
    #expect(found.first?.hasPrefix("Tests/PipesTests/b.swift:1 lets time pass") == true)
    #expect(HabitChecks.testsDoNotSleep(try house(["Sources/Pipes/b.swift": line])) == [])
  }

  @Test(arguments: [
    "link.sleep()", "func sleep() {", "// Task.sleep(1)", "let text = \"usleep(1)\"", "oversleep(1)", "isAsleep()",
    "let long = #\"\"\" Task.sleep(1) \"\"\"#",
  ]) func whatOnlyLooksLikeSleepIsNotFound(line: String) throws {
    #expect(HabitChecks.testsDoNotSleep(try house(["Tests/PipesTests/b.swift": line])) == [])
  }
}
