import Glibc
import TestSupport
import Testing

/// Tests remote apps in separate processes: `easim serve --control`, `easim ctl`, and a client that shares no easim
/// code.
@Suite(.waits) struct RemoteAppProcessTests {
  private struct Server {
    let place = TemporaryFolder()
    let program: Program
    /// The server's address, in the form that clients find in `EASIM_REMOTE`.
    let remote: String
    var path: String { place.file("control.sock") }

    init() throws {
      program = try Program("serve", "--control", place.file("control.sock"), "--remote", "127.0.0.1:0")
      remote = String(try program.line("EASIM_REMOTE=127.0.0.1:").dropFirst("EASIM_REMOTE=".count))
      try program.line("http://127.0.0.1:")
    }

    func buildApp() throws {
      let compiler = try Program(
        path: "/usr/bin/env",
        [
          "cc", "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", place.file("app"),
          "\(Repository.root)/Examples/RemoteApp/remote-app.c",
        ], environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
      ).wait()
      #expect(compiler.ending == .exit(0), "\(compiler.err)")
    }

    func ctl(_ words: String...) throws -> Program.Remains {
      try Program.run(["ctl"] + words, environment: ["EASIM_CONTROL": path])
    }
  }

  @Test func aClientInPlainCEchoesThroughAFlicker() throws {
    let server = try Server()
    try server.buildApp()
    let added = try server.ctl("accessory.add", "profile=lawk-view", "quirks=flicker", "behavior=echo")
    #expect(added.ending == .exit(0), "\(added.err)")
    let app = try Program(path: server.place.file("app"), [server.remote])
    try app.line("launched")
    #expect(try server.ctl("accessory.plug", "accessory=a1").ending == .exit(0))
    let remains = try app.wait()
    #expect(remains.ending == .exit(0), "\(remains.err)")
    let events = remains.outLines.filter { $0.hasPrefix("app ") && !$0.contains("delegate") }
    #expect(events.prefix(3) == ["app connect", "app disconnect", "app connect"])
    #expect(remains.outLines.last == "10000 bytes came back")
    // The app ended when its client's connection ended.
    #expect(try server.ctl("app.list").out.contains("\"apps\": []"))
    server.program.send(SIGINT)
    #expect(try server.program.wait().ending == .exit(0))
    #expect(!server.place.has("control.sock"))
  }

  @Test func appsOfSeveralProcessesSeeOneDevice() throws {
    let server = try Server()
    _ = try server.ctl("accessory.add", "profile=lawk-view", "behavior=echo")
    try server.buildApp()
    // The app `last` has rules that prevent it from opening a session while another app has one open.
    _ = try server.ctl("app.launch", "name=first")
    let apps = try (0..<2).map { _ in try Program(path: server.place.file("app"), [server.remote]) }
    for app in apps { try app.line("launched") }
    _ = try server.ctl("app.launch", "name=last", "rules={\"otherApps\":\"refused\"}")
    #expect(try server.ctl("app.list").out.ranges(of: "\"app\":").count == 4)
    #expect(try server.ctl("accessory.plug", "accessory=a1").ending == .exit(0))
    // Both processes see the accessory, and each has its own sessions with the accessory.
    for app in apps {
      let remains = try app.wait()
      #expect(remains.ending == .exit(0), "\(remains.err)")
      #expect(remains.outLines.contains("app connect") && remains.outLines.last == "10000 bytes came back")
    }
    #expect(try server.ctl("app.open", "app=p1", "protocol=com.lawaken.iap2").ending == .exit(0))
    // An app is refused a session for a protocol if another app on the same device already has one for that protocol.
    #expect(try server.ctl("app.open", "app=p4", "protocol=com.lawaken.iap2").ending == .exit(6))
    #expect(try server.ctl("app.kill", "app=p1").ending == .exit(0))
    #expect(try server.ctl("app.open", "app=p4", "protocol=com.lawaken.iap2").ending == .exit(0))
    // Because the processes have ended, their apps have ended too.
    #expect(try server.ctl("app.list").out.ranges(of: "\"app\":").count == 1)
    server.program.send(SIGINT)
    #expect(try server.program.wait().ending == .exit(0))
  }

  @Test func removingAnAddressUnplugsItsAccessories() throws {
    let server = try Server()
    let place = TemporaryFolder()
    let run = try Program("run", "echo", "--on", "unix:\(place.file("echo.sock"))")
    try run.line("unix:")
    _ = try server.ctl("capture.start", "form=transcript")
    #expect(try server.ctl("host.add", "address=unix:\(place.file("echo.sock"))").ending == .exit(0))
    #expect(try server.ctl("time.runUntil", "event=connect", "side=device", "after=0").ending == .exit(0))
    #expect(try server.ctl("capture.read", "capture=c1").out.contains("\"next\":"))
    #expect(try server.ctl("host.remove", "host=h1").ending == .exit(0))
    try run.line("the device left")
    #expect(try server.ctl("time.runUntil", "event=disconnect", "side=device", "after=0").ending == .exit(0))
    #expect(try run.interrupt().ending == .exit(0))
    server.program.send(SIGINT)
    #expect(try server.program.wait().ending == .exit(0))
  }

  @Test func runsAreKeptForTheNextServer() throws {
    let place = TemporaryFolder()
    let path = place.file("control.sock")
    func serve() throws -> Program {
      let program = try Program("serve", "--control", path, "--keep", place.file("kept"))
      try program.line("http://")
      return program
    }
    func ctl(_ words: String...) throws -> Program.Remains {
      try Program.run(["ctl", "--control", path] + words)
    }
    let first = try serve()
    #expect(try ctl("scenario.run", "scenario=flicker").ending == .exit(0))
    #expect(try ctl("job.wait", "job=j1").ending == .exit(0))
    _ = try ctl("accessory.add", "profile=echo")
    _ = try ctl("capture.start")
    _ = try ctl("accessory.plug", "accessory=a1")
    #expect(try ctl("time.runUntil", "event=connect", "side=device", "after=0").ending == .exit(0))
    #expect(try first.interrupt().ending == .exit(0))
    let second = try serve()
    let runs = try ctl("job.kept")
    #expect(runs.out.contains("-j1-scenario\"") && runs.out.contains("\"passed\""), "\(runs.out)\(runs.err)")
    let captures = place.names("kept/captures")
    #expect(captures.count == 1 && captures[0].hasSuffix("-c1.pcapng"))
    let decoded = try Program.run("decode", place.file("kept/captures/\(captures.first ?? "")"))
    #expect(decoded.ending == .exit(0) && decoded.out.contains("DETECT"), "\(decoded.err)")
    #expect(try second.interrupt().ending == .exit(0))
  }

  @Test func exitCodesSayWhatWentWrong() throws {
    let server = try Server()
    #expect(try server.ctl("world.list").ending == .exit(0))
    #expect(try server.ctl("world.lits").ending == .exit(2))
    #expect(try server.ctl("accessory.plug", "acessory=a1").ending == .exit(2))
    #expect(try server.ctl("time.runUntil", "limit=1ms").ending == .exit(4))
    _ = try server.ctl("app.launch")
    #expect(try server.ctl("app.open", "app=p1", "protocol=com.example.none").ending == .exit(6))
    #expect(try server.ctl("app.kill", "app=p1").ending == .exit(0))
    #expect(try server.ctl("app.kill", "app=p1").ending == .exit(5))
    #expect(try Program.run("ctl", "--control", server.place.file("none"), "world.list").ending == .exit(3))
    #expect(try Program.run("ctl", "world.list").ending == .exit(2))
  }

  @Test func theAccessoriesOfARunCanBeControlled() throws {
    let place = TemporaryFolder()
    let socket = place.file("control.sock")
    let run = try Program("run", "echo", "--on", "unix:\(place.file("echo.sock"))", "--control", socket)
    try run.line("unix:")
    func ctl(_ words: String...) throws -> Program.Remains {
      try Program.run(["ctl", "--control", socket] + words)
    }
    #expect(try ctl("accessory.list").out.contains("\"plugged\": true"))
    #expect(try ctl("accessory.unplug", "accessory=a1").ending == .exit(0))
    try run.line("unplugged")
    #expect(
      try Program.run("send", "unix:\(place.file("echo.sock"))", "--text", "hello", "--timeout", "200ms").ending
        != .exit(0))
    #expect(try ctl("accessory.plug", "accessory=a1").ending == .exit(0))
    #expect(
      try Program.run("send", "unix:\(place.file("echo.sock"))", "--text", "hello", "--expect", "echo").ending
        == .exit(0))
    #expect(try run.interrupt().ending == .exit(0))
  }
}
