import Foundation
import TestSupport

/// Runs this test bundle again in a separate process, for tests that intentionally fail or end their process.
enum TestBundle {
  private static let variable = "EASIM_DELIBERATE_FAILURES"

  /// Whether this is the separate process.
  static var isInner: Bool { ProcessInfo.processInfo.environment[variable] == "1" }

  static func run(_ test: String, _ more: [String: String] = [:]) throws -> (output: String, status: Int32) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: BuiltProducts.tests)
    process.arguments = ["--testing-library", "swift-testing", "--filter", test]
    process.environment = ProcessInfo.processInfo.environment.merging(more.merging([variable: "1"]) { $1 }) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (text, process.terminationStatus)
  }
}
