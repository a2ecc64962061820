import Foundation
import TestSupport

final class LocalFolder: @unchecked Sendable {
  let folder = TemporaryFolder()
  private var processes: [Process] = []

  deinit {
    for process in processes where process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  func start(_ name: String, _ arguments: [String], _ environment: [String: String] = [:]) throws -> Process {
    try start(at: BuiltProducts.program(name), arguments, environment)
  }

  func start(at path: String, _ arguments: [String], _ environment: [String: String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment
      .merging(["EASIM_LOCAL": folder.path]) { $1 }.merging(environment) { $1 }
    process.standardOutput = Pipe()
    process.standardError = Pipe()
    try process.run()
    processes.append(process)
    return process
  }

  func errors(of process: Process) -> String {
    let bytes = (process.standardError as? Pipe)?.fileHandleForReading.readDataToEndOfFile() ?? Data()
    return String(decoding: bytes, as: UTF8.self)
  }

  func run(
    _ name: String, _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> (status: Int32, output: String, errors: String) {
    let process = try start(name, arguments, environment)
    // The app would wait for its accessory forever, so the test limits the wait.
    let limit = DispatchWorkItem { kill(process.processIdentifier, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 30, execute: limit)
    let output = (process.standardOutput as? Pipe)?.fileHandleForReading.readDataToEndOfFile() ?? Data()
    let errors = (process.standardError as? Pipe)?.fileHandleForReading.readDataToEndOfFile() ?? Data()
    process.waitUntilExit()
    limit.cancel()
    return (
      process.terminationStatus, String(decoding: output, as: UTF8.self), String(decoding: errors, as: UTF8.self)
    )
  }
}
