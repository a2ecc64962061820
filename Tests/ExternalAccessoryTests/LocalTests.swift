import Foundation
import TestSupport
import Testing

/// Tests two processes: an unmodified app, and an accessory simulated by `easim run`.
@Suite(.waits) struct LocalTests {
  @Test(arguments: [["string", "Hello"], ["hex", "0102ff"]])
  func anUnchangedProgramMeetsTheAccessoryOfAnotherProcess(what: [String]) throws {
    let local = LocalFolder()
    _ = try local.start("easim", ["run", "echo"])
    let result = try local.run("EADemoClient", ["com.example.echo"] + what)
    #expect(result.status == 0, "\(result)")
    #expect(result.output.contains("connected: Echo [\"com.example.echo\"]"))
    #expect(result.output.contains("bytes came back unchanged"))
  }

  @Test func whatIsPluggedInBeforeTheProgramStartsIsInItsFirstList() throws {
    let local = LocalFolder()
    _ = try local.start("easim", ["run", "echo"])
    let limit = Date(timeIntervalSinceNow: 20)
    while try !local.run("easim", ["list"]).output.contains("Echo"), Date() < limit {}
    let result = try local.run("EADemoClient", ["com.example.echo", "10k"])
    #expect(result.status == 0, "\(result)")
    #expect(!result.output.contains("No Accessories Connected"), "\(result)")
  }

  @Test func itSurvivesTheFlickerOfAnotherProcess() throws {
    let local = LocalFolder()
    _ = try local.start("easim", ["run", "echo", "--quirk", "flicker"])
    let result = try local.run("EADemoClient", ["com.example.echo", "10k"])
    #expect(result.status == 0, "\(result)")
    #expect(result.output.contains("connected: Echo []"))
    #expect(result.output.contains("disconnected: Echo"))
  }

  /// Info.plist is found next to the program or in the folder above it, as in an app on Apple's systems.
  @Test(arguments: [("Info.plist", "com.example.echo"), ("../Info.plist", "com.example.other")])
  func theInfoPlistBesideTheProgramIsTheApps(place: String, declared: String) throws {
    let local = LocalFolder()
    let folder = local.folder.file("Linux")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // A separate process copies the program. If this process wrote the file, the file could not be run while another
    // test's child process holds the file's descriptor.
    let copy = Process()
    copy.executableURL = URL(fileURLWithPath: "/bin/cp")
    copy.arguments = [BuiltProducts.program("EADemoClient"), "\(folder)/App"]
    try copy.run()
    copy.waitUntilExit()
    let plist = """
      <?xml version="1.0"?><plist version="1.0"><dict>
      <key>UISupportedExternalAccessoryProtocols</key><array><string>\(declared)</string></array>
      </dict></plist>
      """
    try plist.write(toFile: "\(folder)/\(place)", atomically: true, encoding: .utf8)
    let address = "unix:\(local.folder.file("echo.sock"))"
    _ = try local.start("easim", ["run", "echo", "--on", address])
    let app = try local.start(
      at: "\(folder)/App", ["com.example.echo", "10k"], ["EASIM_ENDPOINTS": "nowhere:,\(address)"])
    let isDeclared = declared == "com.example.echo"
    let pipe = (isDeclared ? app.standardOutput : app.standardError) as? Pipe
    let expected =
      isDeclared ? "bytes came back unchanged" : "ExternalAccessory: the app does not see Echo"
    var said = ""
    while !said.contains(expected), let more = pipe?.fileHandleForReading.availableData, !more.isEmpty {
      said += String(decoding: more, as: UTF8.self)
    }
    #expect(said.contains(expected))
    if isDeclared { #expect(local.errors(of: app).contains("ExternalAccessory: EASIM_ENDPOINTS: ")) }
    kill(app.processIdentifier, SIGKILL)
    app.waitUntilExit()
  }

  @Test func anInfoPlistThatDeclaresNothingCanBeIgnored() throws {
    let local = LocalFolder()
    let plist = local.folder.write(
      "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict/></plist>", to: "Info.plist")
    _ = try local.start("easim", ["run", "echo"])
    let all = try local.run(
      "EADemoClient", ["com.example.echo", "10k"], ["EASIM_INFO_PLIST": plist, "EASIM_ALL_PROTOCOLS": "1"])
    #expect(all.status == 0, "\(all)")
  }
}
