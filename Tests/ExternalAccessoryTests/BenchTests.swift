import Foundation
import Testing

/// Two processes: an unchanged app, and the accessory that `easim run` plays.
@Suite struct BenchTests {
  /// A folder for one bench, and the processes that use it.
  private final class Bench: @unchecked Sendable {
    let folder: URL
    private var processes: [Process] = []

    init() throws {
      folder = FileManager.default.temporaryDirectory.appendingPathComponent("ea-\(UUID().uuidString.prefix(8))")
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
      for process in processes where process.isRunning { kill(process.processIdentifier, SIGKILL) }
      try? FileManager.default.removeItem(at: folder)
    }

    /// Starts a program that was built beside this test.
    func start(_ name: String, _ arguments: [String], _ environment: [String: String] = [:]) throws -> Process {
      let process = Process()
      // Beside the tests that are running.
      let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      process.executableURL = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(name)
      process.arguments = arguments
      process.environment = ProcessInfo.processInfo.environment
        .merging(["EASIM_BENCH": folder.path]) { $1 }.merging(environment) { $1 }
      process.standardOutput = Pipe()
      process.standardError = Pipe()
      try process.run()
      processes.append(process)
      return process
    }

    /// Runs a program to its end and returns what it printed.
    func run(
      _ name: String, _ arguments: [String], _ environment: [String: String] = [:]
    ) throws -> (status: Int32, output: String, errors: String) {
      let process = try start(name, arguments, environment)
      // An app waits for its accessory for ever; a test does not.
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

  @Test(arguments: [["string", "Hello"], ["hex", "0102ff"], ["10k"]])
  func anUnchangedProgramMeetsTheAccessoryOfAnotherProcess(what: [String]) throws {
    let bench = try Bench()
    _ = try bench.start("easim", ["run", "echo"])
    let result = try bench.run("EADemoClient", ["com.example.echo"] + what)
    #expect(result.status == 0, "\(result)")
    #expect(result.output.contains("connected: Echo [\"com.example.echo\"]"))
    #expect(result.output.contains("bytes came back as they were sent"))
  }

  @Test func itSurvivesTheFlickerOfAnotherProcess() throws {
    let bench = try Bench()
    _ = try bench.start("easim", ["run", "echo", "--quirk", "flicker"])
    let result = try bench.run("EADemoClient", ["com.example.echo", "10k"])
    #expect(result.status == 0, "\(result)")
    #expect(result.output.contains("connected: Echo []"))
    #expect(result.output.contains("disconnected: Echo"))
  }

  @Test func endpointsNameAccessoriesThatAreNotOnTheBench() throws {
    let bench = try Bench()
    let address = "unix:\(bench.folder.path)/echo.sock"
    _ = try bench.start("easim", ["run", "echo", "--on", address])
    let result = try bench.run("EADemoClient", ["com.example.echo", "10k"], ["EASIM_ENDPOINTS": address])
    #expect(result.status == 0, "\(result)")
  }

  @Test func anInfoPlistThatDeclaresNothingHidesTheAccessoryAndSaysSo() throws {
    let bench = try Bench()
    let plist = bench.folder.appendingPathComponent("Info.plist")
    try Data("<?xml version=\"1.0\"?><plist version=\"1.0\"><dict/></plist>".utf8).write(to: plist)
    let address = "unix:\(bench.folder.path)/echo.sock"
    _ = try bench.start("easim", ["run", "echo", "--on", address])
    let client = try bench.start(
      "EADemoClient", ["com.example.echo", "10k"], ["EASIM_ENDPOINTS": address, "EASIM_INFO_PLIST": plist.path])
    let errors = (client.standardError as? Pipe)?.fileHandleForReading
    var said = ""
    while !said.contains("UISupportedExternalAccessoryProtocols"), let more = errors?.availableData, !more.isEmpty {
      said += String(decoding: more, as: UTF8.self)
    }
    #expect(said.contains("ExternalAccessory: the app does not see Echo"))
    // SIGTERM may be blocked in whoever runs the tests, and is then in the client.
    kill(client.processIdentifier, SIGKILL)
    client.waitUntilExit()
    let all = try bench.run(
      "EADemoClient", ["com.example.echo", "10k"],
      ["EASIM_ENDPOINTS": address, "EASIM_INFO_PLIST": plist.path, "EASIM_ALL_PROTOCOLS": "1"])
    #expect(all.status == 0, "\(all)")
  }
}
