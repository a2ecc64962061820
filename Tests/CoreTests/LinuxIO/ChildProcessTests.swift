import AccessoryCore
import CLinux
import Glibc
import TestSupport
import Testing

@testable import LinuxIO

/// Tests how the loop handles child processes: their pipes, how they end, and processes that they leave running.
/// `ExecBehaviorTests` covers programs that serve sessions.
@Suite(.waits) struct ChildProcessTests {
  private let loop: EpollLoop

  init() throws {
    loop = try EpollLoop(seed: 1)
  }

  private func wait(_ what: String, until condition: () -> Bool, _ place: SourceLocation = #_sourceLocation) {
    let came = loop.run(until: condition, limit: hangLimit)
    #expect(came, "\(what) within \(hangLimit)", sourceLocation: place)
  }

  private func shell(_ script: String, _ witness: Witness, endIsADescriptor: Bool = true) throws -> ChildProcess {
    try ChildProcess(ProcessCommand("sh", ["-c", script]), on: loop, witness, endIsADescriptor: endIsADescriptor)
  }

  @Test(arguments: [true, false]) func theEndIsToldOnceAndAfterAllThatWasPrinted(endIsADescriptor: Bool) throws {
    let witness = Witness()
    let child = try shell(
      "echo out; echo err >&2; exit 7", witness, endIsADescriptor: endIsADescriptor)
    wait("the program's exit is reported") { witness.endings == [.exited(7)] }
    #expect(witness.printed == "out\n" && witness.complained == "err\n")
    #expect(!child.isRunning)
    #expect(kill(child.processID, 0) == -1 && errno == ESRCH)
  }

  @Test func whatIsPrintedWhileTheReaderPausesWaitsForItEvenAfterTheEnd() throws {
    let witness = Witness()
    let child = try shell("echo out", witness)
    child.pauseOutput()
    // The loop has not reported the program's exit yet. Only the watch on the process can wake the loop.
    wait("the process is over") { loop.turns > 0 && !isAlive(child.processID) }
    #expect(witness.endings == [] && witness.printed == "")
    child.resumeOutput()
    wait("the program's exit is reported") { witness.endings == [.exited(0)] }
    #expect(witness.printed == "out\n")
  }

  private func isAlive(_ processID: Int32) -> Bool {
    var info = siginfo_t()
    return waitid(P_PID, id_t(processID), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == 0
  }

  @Test func aProgramInTheBackgroundDoesNotKeepItsStarterFromEnding() throws {
    let witness = Witness()
    let child = try shell("sleep 1000 & echo $!", witness)
    wait("the program's exit is reported") { witness.endings == [.exited(0)] }
    let background = try #require(Int32(witness.printed.dropLast()))
    // The background process must be gone before the program's exit is reported, so that nothing has to wait for it
    // afterwards.
    #expect(kill(background, 0) == -1 && errno == ESRCH)
    withExtendedLifetime(child) {}
  }

  @Test func aPipeTakesWhatItHasRoomForAndTellsOfMore() throws {
    let witness = Witness()
    let child = try shell("sleep 0.05; exec wc -c", witness)
    let block = [UInt8](repeating: 7, count: 1_000_000)
    var sent = child.write(block.span.bytes)
    #expect(sent > 0 && sent < block.count)
    witness.room = {
      sent += child.write(block.span.bytes.extracting(sent..<block.count))
      if sent == block.count { child.closeInput() }
    }
    wait("the program's exit is reported") { witness.endings == [.exited(0)] }
    #expect(witness.printed == "1000000\n")
    #expect(witness.roomTold > 1)
    witness.room = {}
  }

  @Test func aProgramThatClosesItsInputIsNoEndOfThisProcess() throws {
    let witness = Witness()
    let folder = TemporaryFolder()
    let end = folder.file("end")
    let child = try shell("exec <&-; echo closed; until [ -e '\(end)' ]; do sleep 0.01; done; exit 2", witness)
    wait("the program has closed its input") { witness.printed == "closed\n" }
    // Until it calls exec, a process that another test is launching may hold a copy of the pipe.
    wait("the closed input is reported") {
      _ = child.write([UInt8](repeating: 1, count: 10).span.bytes)
      return witness.inputClosings == 1
    }
    #expect(!child.takesInput)
    #expect(child.write([UInt8](repeating: 1, count: 10).span.bytes) == 0)
    close(open(end, O_CREAT | O_WRONLY, 0o600))
    wait("the program's exit is reported") { witness.endings == [.exited(2)] }
    #expect(witness.inputClosings == 1)
  }

  @Test func aProgramThatCannotBeStartedIsAnErrorWithItsName() throws {
    let witness = Witness()
    #expect(throws: SystemError("start no-such-program-anywhere", code: ENOENT)) {
      try ChildProcess(ProcessCommand("no-such-program-anywhere"), on: loop, witness)
    }
    #expect(throws: SystemError("start /etc", code: EACCES)) {
      try ChildProcess(ProcessCommand("/etc"), on: loop, witness)
    }
  }

  @Test func aProgramGetsAShortListOfVariablesAndThoseThatItsProfileNames() throws {
    for name in ["TOKEN", "PASSED", "LC_EASIM"] { setenv("\(name == "LC_EASIM" ? "" : "EASIM_")\(name)", "old", 1) }
    var command = ProcessCommand("env", environment: ["EASIM_SESSION": "1"])
    command.add(variables: ["EASIM_PASSED", "EASIM_SET=new=1", "HOME=/nowhere", "EASIM_MISSING"])
    let witness = Witness()
    let child = try ChildProcess(command, on: loop, witness)
    wait("the program's exit is reported") { witness.endings == [.exited(0)] }
    let lines = Set(witness.printed.split(separator: "\n").map(String.init))
    #expect(lines.isSuperset(of: ["EASIM_SESSION=1", "EASIM_PASSED=old", "EASIM_SET=new=1", "HOME=/nowhere"]))
    #expect(lines.contains("LC_EASIM=old"))
    let names = lines.map { line in String(line.prefix { $0 != "=" }) }
    let usual = ProcessCommand.usualVariables
    #expect(names.allSatisfy { name in name.hasPrefix("EASIM_") || name.hasPrefix("LC_") || usual.contains(name) })
    #expect(!names.contains("EASIM_TOKEN"))
    withExtendedLifetime(child) {}
  }

  @Test func aProgramIsFoundInItsFolderBeforePathAndRunsThere() throws {
    let folder = TemporaryFolder()
    folder.writeProgram("#!/bin/sh\necho beside; pwd -P; other", to: "ls")
    folder.writeProgram("#!/bin/sh\necho other", to: "other")
    let witness = Witness()
    let child = try ChildProcess(ProcessCommand("ls", in: folder.path), on: loop, witness)
    wait("the program's exit is reported") { witness.endings == [.exited(0)] }
    let real = try #require(realpath(folder.path, nil))
    defer { free(real) }
    #expect(witness.printed == "beside\n\(String(cString: real))\nother\n")
    withExtendedLifetime(child) {}
  }

  @Test func whatCannotBeStartedIsKnownBefore() {
    let folder = TemporaryFolder()
    folder.write("no program", to: "plain")
    func objection(_ program: String, _ arguments: [String] = []) -> SystemError? {
      ProgramFinder.objection(to: ProcessCommand(program, arguments, in: folder.path))
    }
    #expect(objection("cat") == nil)
    #expect(objection("./plain") == SystemError("start ./plain", code: EACCES))
    #expect(objection("plain") == SystemError("start plain", code: EACCES))
    #expect(objection("missing") == SystemError("start missing", code: ENOENT))
    #expect(objection("/bin/sh", ["-c", "./missing -x | cat"]) == SystemError("start ./missing", code: ENOENT))
    #expect(objection("/bin/sh", ["-c", "cd /; X=1 ./missing"]) == nil, "only a first word is certain")
  }

  /// Returns a shell script that leaves a daemon running. The daemon has its own session and no parent, and may ignore
  /// SIGTERM. The daemon's process ID is written to the file before the script prints "up".
  private static func daemon(_ file: String, ignoresTerm: Bool) -> String {
    "(setsid sh -c '\(ignoresTerm ? "trap \"\" TERM; " : "")echo $$ > \(file); while :; do sleep 1000; done' &); "
      + "while [ ! -s \(file) ]; do :; done; echo up; "
  }

  private func end(of process: Int32) throws -> (WatchedDescriptor, Flag) {
    let isOver = Flag()
    let end = WatchedDescriptor(taking: CLinux.clinux_open_process(process))
    try end.watch(for: .readable, on: loop) { _ in isOver.isRaised = true }
    return (end, isOver)
  }

  private final class Flag { var isRaised = false }

  @Test(arguments: ["exit 5", "kill -KILL $$", "dropped"])
  func whatLeftItsGroupAndItsParentEndsWithTheProgram(ending: String) throws {
    let folder = TemporaryFolder()
    let witness = Witness()
    // Ending a daemon that ignores SIGTERM takes a second.
    let script =
      Self.daemon(folder.file("pid"), ignoresTerm: ending == "exit 5")
      + (ending == "dropped" ? "sleep 1000" : "read line; \(ending)")
    var child: ChildProcess? = try shell(script, witness)
    wait("the daemon runs") { witness.printed == "up\n" }
    let bytes = try #require(folder.bytes("pid"))
    let number = try #require(Int32(String(decoding: bytes.dropLast(), as: UTF8.self)))
    let (watch, isOver) = try end(of: number)
    switch ending {
    case "dropped":
      child = nil
      #expect(witness.endings == [])
    default:
      child?.closeInput()
      wait("the program's exit is reported") {
        witness.endings == [ending == "exit 5" ? .exited(5) : .killed(signal: SIGKILL)]
      }
    }
    wait("the daemon ends too") { isOver.isRaised }
    withExtendedLifetime((child, watch)) {}
  }
}

private final class Witness: ChildProcessHandler {
  private(set) var printed = ""
  private(set) var complained = ""
  private(set) var endings: [ProcessEnding] = []
  private(set) var inputClosings = 0
  private(set) var roomTold = 0
  var room: () -> Void = {}

  func child(_ child: ChildProcess, printed bytes: RawSpan) {
    printed += bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  func child(_ child: ChildProcess, complained bytes: RawSpan) {
    complained += bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  func childTakesInput(_ child: ChildProcess) {
    roomTold += 1
    room()
  }

  func childClosedInput(_ child: ChildProcess) { inputClosings += 1 }
  func child(_ child: ChildProcess, endedWith ending: ProcessEnding) { endings.append(ending) }
}
