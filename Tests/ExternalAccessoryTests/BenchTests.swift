import Foundation
import Testing

/// Two processes: an unchanged app, and the accessory that `easim run` plays.
@Suite struct BenchTests {
  @Test(arguments: [["string", "Hello"], ["hex", "0102ff"], ["10k"]])
  func anUnchangedProgramMeetsTheAccessoryOfAnotherProcess(what: [String]) throws {
    let bench = Bench()
    _ = try bench.start("easim", ["run", "echo"])
    let result = try bench.run("EADemoClient", ["com.example.echo"] + what)
    #expect(result.status == 0, "\(result)")
    #expect(result.output.contains("connected: Echo [\"com.example.echo\"]"))
    #expect(result.output.contains("bytes came back as they were sent"))
  }

  @Test func itSurvivesTheFlickerOfAnotherProcess() throws {
    let bench = Bench()
    _ = try bench.start("easim", ["run", "echo", "--quirk", "flicker"])
    let result = try bench.run("EADemoClient", ["com.example.echo", "10k"])
    #expect(result.status == 0, "\(result)")
    #expect(result.output.contains("connected: Echo []"))
    #expect(result.output.contains("disconnected: Echo"))
  }

  @Test func endpointsNameAccessoriesThatAreNotOnTheBench() throws {
    let bench = Bench()
    let address = "unix:\(bench.folder.file("echo.sock"))"
    _ = try bench.start("easim", ["run", "echo", "--on", address])
    let result = try bench.run("EADemoClient", ["com.example.echo", "10k"], ["EASIM_ENDPOINTS": address])
    #expect(result.status == 0, "\(result)")
  }

  @Test func anInfoPlistThatDeclaresNothingHidesTheAccessoryAndSaysSo() throws {
    let bench = Bench()
    let plist = bench.folder.write(
      "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict/></plist>", to: "Info.plist")
    let address = "unix:\(bench.folder.file("echo.sock"))"
    _ = try bench.start("easim", ["run", "echo", "--on", address])
    let client = try bench.start(
      "EADemoClient", ["com.example.echo", "10k"], ["EASIM_ENDPOINTS": address, "EASIM_INFO_PLIST": plist])
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
      ["EASIM_ENDPOINTS": address, "EASIM_INFO_PLIST": plist, "EASIM_ALL_PROTOCOLS": "1"])
    #expect(all.status == 0, "\(all)")
  }
}
