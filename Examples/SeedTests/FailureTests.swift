import ExternalAccessory
import ExternalAccessorySimulation
import ExternalAccessoryXCTest
import XCTest

/// A failed XCTest test prints its world's timeline, whether or not it is async.
final class FailureTests: XCTestCase {
  private static let variable = "EASIM_DELIBERATE_FAILURES"

  private func output(of test: String) throws -> String {
    let process = Process()
    process.executableURL = URL(
      fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    process.arguments = ["SeedTests.FailureTests/\(test)"]
    process.environment = ProcessInfo.processInfo.environment.merging([Self.variable: "1"]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    XCTAssertNotEqual(process.terminationStatus, 0)
    return text
  }

  func testAFailureShowsTheTimeline() throws {
    for test in ["testFailsOnPurpose", "testFailsOnPurposeAsync"] {
      let text = try output(of: test)
      XCTAssertTrue(text.contains("XCTAssertTrue failed"), text)
      XCTAssertTrue(text.contains("FailureTests.\(test): the world's timeline:\n"), text)
      XCTAssertTrue(text.contains("\"event\":\"connect\""), text)
    }
  }

  func testAConditionThatDoesNotHoldFailsAtItsLine() throws {
    for test in ["testExpectsInVain", "testExpectsInVainAsync"] {
      let text = try output(of: test)
      XCTAssertTrue(text.contains("FailureTests.swift:"), text)
      XCTAssertTrue(text.contains("FailureTests.\(test) : the condition did not hold within 1.0 seconds"), text)
      XCTAssertTrue(text.contains("the world's timeline:\n"), text)
    }
  }

  func testExpectsInVain() throws {
    try XCTSkipUnless(ProcessInfo.processInfo.environment[Self.variable] == "1")
    let world = try simulatedWorld()
    try world.add("echo").plugIn()
    world.expect(limit: .seconds(1)) { EAAccessoryManager.shared().connectedAccessories.count > 1 }
  }

  func testExpectsInVainAsync() async throws {
    try XCTSkipUnless(ProcessInfo.processInfo.environment[Self.variable] == "1")
    let world = try simulatedWorld()
    try world.add("echo").plugIn()
    await world.expect(limit: .seconds(1)) { EAAccessoryManager.shared().connectedAccessories.count > 1 }
  }

  func testFailsOnPurpose() throws {
    try XCTSkipUnless(ProcessInfo.processInfo.environment[Self.variable] == "1")
    let world = try simulatedWorld()
    try world.add("echo").plugIn()
    world.settle()
    XCTAssertTrue(EAAccessoryManager.shared().connectedAccessories.isEmpty)
  }

  func testFailsOnPurposeAsync() async throws {
    try XCTSkipUnless(ProcessInfo.processInfo.environment[Self.variable] == "1")
    let world = try simulatedWorld()
    try world.add("echo").plugIn()
    await world.settle()
    XCTAssertTrue(EAAccessoryManager.shared().connectedAccessories.isEmpty)
  }

  func testAsyncAndPlainCallsMeetTheSameWorld() async throws {
    try await withSimulatedWorld { world in
      let echo = try world.add("echo")
      echo.plugIn()
      await world.settle()
      XCTAssertEqual(EAAccessoryManager.shared().connectedAccessories.map(\.name), ["Echo"])
      echo.unplug()
      await world.advance(by: .seconds(1))
      XCTAssertEqual(EAAccessoryManager.shared().connectedAccessories, [])
    }
  }
}
