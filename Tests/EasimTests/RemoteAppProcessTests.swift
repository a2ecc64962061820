import Glibc
import TestSupport
import Testing

/// Remote apps as processes of their own: `easim serve --control`, `easim ctl`, and a client that shares no code with us.
@Suite struct RemoteAppProcessTests {
  private struct Server {
    let place = TemporaryFolder()
    let program: Program
    var path: String { place.file("control.sock") }

    init() throws {
      program = try Program("serve", "--control", place.file("control.sock"))
      try program.line("http://127.0.0.1:")
    }

    func ctl(_ words: String...) throws -> Program.Remains {
      try Program(path: BuiltProducts.easim, ["ctl"] + words, environment: ["EASIM_CONTROL": path]).wait()
    }
  }

  @Test func aClientInPlainCEchoesThroughAFlicker() throws {
    let server = try Server()
    let compiler = try Program(
      path: "/usr/bin/env",
      [
        "cc", "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", server.place.file("app"),
        "\(Repository.root)/Examples/RemoteApp/remote-app.c",
      ], environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
    ).wait()
    #expect(compiler.ending == .exit(0), "\(compiler.err)")
    let added = try server.ctl("accessory.add", "profile=lawk-view", "quirks=flicker", "behavior=echo")
    #expect(added.ending == .exit(0), "\(added.err)")
    let app = try Program(path: server.place.file("app"), [server.path])
    try app.line("launched")
    #expect(try server.ctl("accessory.plug", "accessory=a1").ending == .exit(0))
    let remains = try app.wait()
    #expect(remains.ending == .exit(0), "\(remains.err)")
    let events = remains.outLines.filter { $0.hasPrefix("app ") && !$0.contains("delegate") }
    #expect(events.prefix(3) == ["app connect", "app disconnect", "app connect"])
    #expect(remains.outLines.last == "10000 bytes came back")
    // The app ended with its connection.
    #expect(try server.ctl("app.list").out.contains("\"apps\": []"))
    server.program.send(SIGINT)
    #expect(try server.program.wait().ending == .exit(0))
    #expect(!server.place.has("control.sock"))
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
      try Program(path: BuiltProducts.easim, ["ctl", "--control", socket] + words).wait()
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
    run.send(SIGINT)
    #expect(try run.wait().ending == .exit(0))
  }
}
