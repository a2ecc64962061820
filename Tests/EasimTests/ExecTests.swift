import CLinux
import Glibc
import TestSupport
import Testing

/// Tests profiles that run programs. Programs in profiles are announced and checked, are refused if other users could
/// have written the profile, and never outlive easim.
@Suite(.waits) struct ExecTests {
  let place = TemporaryFolder()

  private func profile(_ behavior: String, to name: String = "mine.json5") -> String {
    place.write(
      """
      { version: 1, extends: 'echo',
        behavior: \(behavior) }
      """, to: name)
  }

  private let daemon = #"(setsid sh -c 'trap "" TERM; echo $$ > pid; while :; do sleep 1000; done' &); "#
  private let answer = "while [ ! -s pid ]; do :; done; read line; echo up; read line; sleep 1000"

  private func daemonNumber() throws -> Int32 {
    try #require(place.bytes("pid").flatMap { Int32(String(decoding: $0.dropLast(), as: UTF8.self)) })
  }

  @Test func aProgramAnswersAndItsComplaintsAreOnTheTimeline() throws {
    let accessory = try Accessory(
      on: .unix, in: place, "--behavior", "exec:read x; echo \"got $x\"; echo oh >&2; exit 3")
    let send = try Program.run("send", accessory.address, "--hex", "68690a", "--expect", "676f742068690a")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    try accessory.program.line("session 1: oh")
    #expect(try accessory.interrupt().ending == .exit(0))
  }

  @Test func checkPrintsEachProgramWithItsPlace() throws {
    let file = profile("{ type: 'exec', command: 'cat', arguments: ['-u'] }")
    let check = try Program.run("profile", "check", file)
    #expect(check.ending == .exit(0))
    #expect(check.outLines == ["\(file):2:38 runs for each session: cat -u", "mine is valid"])
    #expect(try Program.run("profile", "check", "echo").outLines == ["echo is valid"])
  }

  @Test func runAnnouncesAProgramAndFindsItBesideTheProfile() throws {
    place.writeProgram("#!/bin/sh\necho \"$PWD $TOKEN $NAMED\"\n", to: "answer")
    let file = profile("{ type: 'exec', command: 'answer', environment: ['NAMED=named'] }")
    let run = try Program(["run", file, "--on", "unix:\(place.file("a.sock"))"], environment: ["TOKEN": "secret"])
    try run.line("plugged in")
    let folder = try #require(realpath(place.path, nil))
    defer { free(folder) }
    let answer = Array("\(String(cString: folder))  named\n".utf8)
    let hex = answer.map { String($0, radix: 16) }.map { $0.count < 2 ? "0\($0)" : $0 }.joined()
    let send = try Program.run("send", "unix:\(place.file("a.sock"))", "--text", "x", "--expect", hex)
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    let remains = try run.interrupt()
    #expect(remains.err.contains("easim: \(file):2:38 runs for each session: answer\n"), "\(remains.err)")
  }

  @Test(arguments: [("'exec:./missing now'", "2:13"), ("{ type: 'exec', command: 'missing-anywhere' }", "2:38")])
  func aProgramThatCannotBeStartedIsAnErrorOfTheProfile(behavior: String, position: String) throws {
    let file = profile(behavior)
    for words in [["profile", "check", file], ["run", file, "--on", "unix:\(place.file("a.sock"))"]] {
      let run = try Program.run(words)
      #expect(run.ending == .exit(2))
      #expect(run.err.contains("\(file):\(position): behavior: cannot start "), "\(run.err)")
    }
  }

  @Test(arguments: ["file", "folder", "base"]) func programsThatOthersCanWriteNeedAllowExec(writable: String) throws {
    place.makeFolder("base")
    let base = place.write("{ version: 1, extends: 'echo', behavior: 'exec:cat' }", to: "base/base.json5")
    let file = place.write("{ version: 1, extends: 'base/base.json5' }", to: "mine.json5")
    let changed = ["file": base, "folder": place.file("base"), "base": base][writable]
    chmod(try #require(changed), writable == "folder" ? 0o777 : writable == "file" ? 0o666 : 0o660)
    let check = try Program.run("profile", "check", file)
    #expect(check.out.contains("needs --allow-exec, because "), "\(check.out)")
    let address = "unix:\(place.file("a.sock"))"
    let refused = try Program.run("run", file, "--on", address)
    #expect(refused.ending == .exit(2))
    #expect(refused.err.contains("runs 'cat' for each session, and "), "\(refused.err)")
    let run = try Program("run", file, "--on", address, "--allow-exec")
    try run.line("plugged in")
    #expect(try Program.run("send", address, "--text", "x", "--expect", "echo").ending == .exit(0))
    #expect(try run.interrupt().ending == .exit(0))
  }

  @Test(arguments: [SIGKILL, SIGINT]) func nothingOutlivesEasim(signal: Int32) throws {
    let file = profile("\"exec:\(daemon.replacing("\"", with: "\\\""))\(answer)\"")
    let run = try Program("run", file, "--on", "unix:\(place.file("a.sock"))")
    try run.line("plugged in")
    let send = try Program.run("send", "unix:\(place.file("a.sock"))", "--hex", "780a", "--expect", "75700a")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    let daemon = clinux_open_process(try daemonNumber())
    defer { close(daemon) }
    run.send(signal)
    _ = try run.wait()
    var waiting = pollfd(fd: daemon, events: Int16(POLLIN), revents: 0)
    #expect(daemon < 0 || poll(&waiting, 1, Int32(Program.hangLimit)) == 1, "the daemon ends")
  }
}
