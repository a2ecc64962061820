import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Glibc
import LinuxIO
import TestSupport
import Testing

/// Tests real programs on a real-time loop. The tests run one at a time, because they count this process's descriptors
/// and children.
@Suite(.waits, .serialized) struct ExecBehaviorTests {
  private static let hangLimit = Duration.seconds(30)
  private let loop: EpollLoop

  init() throws {
    loop = try EpollLoop(seed: 1)
  }

  private func wait(_ what: String, until condition: () -> Bool, _ place: SourceLocation = #_sourceLocation) {
    let came = loop.run(until: condition, limit: Self.hangLimit)
    #expect(came, "\(what) within \(Self.hangLimit)", sourceLocation: place)
  }

  private func open(
    _ behavior: Behavior, playing: ((Behavior) -> any AccessoryBehavior)? = nil
  ) throws -> (BehaviorRig, SessionEar) {
    let rig = try BehaviorRig(behavior, on: loop, playing: playing)
    wait("the accessory is shown") { rig.shown != nil }
    return (rig, try rig.open())
  }

  private func open(_ script: String, grace: Duration = ExecBehavior.grace) throws -> (BehaviorRig, SessionEar) {
    try open(.echo) { _ in ExecBehavior(.init("/bin/sh", ["-c", script]), grace: grace) }
  }

  /// Returns the open descriptors of this process. Search this list instead of comparing it, because other tests run in
  /// parallel.
  private func descriptors() -> [String] { Array(OpenDescriptors.targets.values) }

  @Test func aProgramGetsTheBytesAndItsAnswersAreSent() throws {
    let (rig, recorder) = try open("exec cat")
    let payload = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    recorder.send(payload)
    wait("everything comes back") { recorder.heard.count >= payload.count || recorder.end != nil }
    #expect(recorder.heard == payload)
    #expect(rig.accessory.runningPrograms == 1)
    recorder.session.close()
    wait("the program ends") { rig.accessory.runningPrograms == 0 }
    #expect(rig.said == [])
  }

  @Test func aNameIsSoughtOnThePathAndTheSessionIsInTheEnvironment() throws {
    let (rig, recorder) = try open(.exec(.init("sh", ["-c", "echo $EASIM_PROTOCOL $EASIM_SESSION"])))
    wait("the session ends") { recorder.end != nil && rig.endings.count == 1 }
    #expect(recorder.text == "com.example.rig 1\n")
  }

  @Test func theEndOfAProgramClosesTheSessionWithItsStatusAndAfterItsLastByte() throws {
    let (rig, recorder) = try open("head -c 300000 /dev/zero; echo on >&2; head -c 700000 /dev/zero; exit 3")
    recorder.isDeaf = true
    wait("the program is on its way") { rig.said == [.note("session 1: on")] }
    recorder.isDeaf = false
    wait("the session ends") { recorder.end != nil && rig.endings.count == 1 }
    #expect(recorder.heard.count == 1_000_000)
    #expect(recorder.end == .closedByAccessory)
    #expect(rig.endings == ["the accessory closed it: the program ended with status 3"])
    #expect(rig.accessory.runningPrograms == 0)
  }

  @Test func whatAProgramComplainsOfIsNotedLineByLine() throws {
    let (rig, recorder) = try open("echo one >&2; printf 'two\\nthree' >&2; echo out")
    wait("the session ends") { recorder.end != nil && rig.endings.count == 1 }
    #expect(rig.said == [.note("session 1: one"), .note("session 1: two"), .note("session 1: three")])
    #expect(recorder.text == "out\n")
  }

  @Test func aProgramThatCannotBeStartedIsAWarningAndTheEndOfTheSession() throws {
    let (rig, recorder) = try open(.exec(.init("/nowhere/at-all")))
    recorder.send("x")
    wait("the session ends") { recorder.end != nil && rig.endings.count == 1 }
    #expect(
      rig.said == [
        .warning("session 1: /nowhere/at-all was not run: cannot start /nowhere/at-all: No such file or directory")
      ])
    #expect(rig.endings == ["the accessory closed it: its program could not be run"])
    let before = descriptors().count
    for _ in 0..<100 { _ = try rig.open() }
    wait("all sessions end") { rig.endings.count == 101 }
    // Each leaked program would leave three pipes open. Other tests open descriptors too, but close them.
    wait("no program leaves its pipes open") { descriptors().count < before + 100 }
  }

  @Test func theEndOfTheSessionIsTheEndOfTheProgramsInputAfterAllThatHadCome() throws {
    let folder = TemporaryFolder()
    let path = folder.file("gate")
    try #require(mkfifo(path, 0o600) == 0)
    // The program reads nothing until the session has ended, so more bytes remain unread than a pipe holds.
    let (rig, recorder) = try open("read line < \(path); wc -c >&2", grace: .seconds(20))
    recorder.send([UInt8](repeating: 7, count: 200_000))
    wait("all is acknowledged") { recorder.session.unacknowledged == 0 && recorder.session.bytesWritten == 200_000 }
    recorder.session.close()
    wait("the session is over") { rig.endings.count == 1 }
    let gate = Glibc.open(path, O_RDWR)
    #expect(write(gate, "\n", 1) == 1)
    wait("the program ends") { rig.accessory.runningPrograms == 0 }
    close(gate)
    #expect(rig.said == [.note("session 1: 200000")])
  }

  @Test func aProgramThatDoesNotEndByItselfIsAskedToAndThenMadeTo() throws {
    let (rig, recorder) = try open(
      "trap 'echo asked >&2' TERM; echo ready; while :; do :; done", grace: .milliseconds(100))
    wait("the program runs") { recorder.text == "ready\n" }
    recorder.session.close()
    wait("the program ends") { rig.accessory.runningPrograms == 0 }
    #expect(
      rig.said == [
        .note("session 1: asked"), .note("session 1: the program was ended by signal 9 (SIGKILL)"),
      ])
  }

  @Test func aProgramThatReadsNothingHoldsTheSessionBackAndLosesNothing() throws {
    let (rig, recorder) = try open("read line; echo got $line; cat > /dev/null; exit 0")
    recorder.send([UInt8](repeating: 0x41, count: 2_000_000))
    // The pipe and the buffers are full, and the program is still waiting for the end of a line.
    wait("the session takes no more") {
      rig.accessory.runningPrograms == 1 && recorder.session.unacknowledged >= 256 * 1_024
    }
    recorder.send("\n")
    wait("the line is read") { recorder.heard.count > 2_000_000 }
    #expect(recorder.session.bytesWritten == 2_000_001)
    withExtendedLifetime(rig) {}
  }

  @Test func aProgramThatPrintsWithoutEndIsHeldBackByAReaderThatSleeps() throws {
    let (rig, recorder) = try open(
      "i=0; while [ $i -lt 40 ]; do head -c 100000 /dev/zero; i=$((i+1)); echo $i >&2; done")
    recorder.isDeaf = true
    // Two buffers of a quarter of a megabyte, a pipe and one read hold far less than the 4 MB that the program writes.
    #expect(!loop.run(until: { rig.said.count >= 20 }, limit: .milliseconds(300)))
    recorder.isDeaf = false
    wait("the session ends") { recorder.end != nil && rig.endings.count == 1 }
    #expect(recorder.heard.count == 4_000_000)
  }

  @Test func bytesThatAProgramDoesNotReadAreCounted() throws {
    let (rig, recorder) = try open("exec <&-; echo closed; sleep 0.2")
    wait("the program reads no more") { recorder.text == "closed\n" }
    recorder.send([UInt8](repeating: 1, count: 1_000))
    wait("the session ends") { recorder.end != nil && rig.endings.count == 1 }
    #expect(rig.said == [.note("session 1: 1000 bytes that arrived were not read by the program")])
  }

  @Test func aProgramHasNoDescriptorsBesideItsThreeAndNoSignalsBlocked() throws {
    // The signal watch blocks these signals in this process, as commands do for Ctrl-C. Programs must not inherit this
    // signal mask.
    var mask = sigset_t()
    pthread_sigmask(SIG_SETMASK, nil, &mask)
    let watch = try SignalWatch([SIGUSR1, SIGTERM], on: loop) { _ in }
    let pipeHandler = signal(SIGPIPE, SIG_IGN)
    defer {
      signal(SIGPIPE, pipeHandler)
      pthread_sigmask(SIG_SETMASK, &mask, nil)
    }
    let inherited = Glibc.open("/dev/null", O_RDONLY)
    defer { close(inherited) }
    let (rig, recorder) = try open("ls /proc/$$/fd; exec grep -E '^Sig(Blk|Ign)' /proc/self/status")
    wait("the session ends") { recorder.end != nil && rig.endings.count == 1 }
    let lines = recorder.text.split(separator: "\n").map(String.init)
    #expect(lines.filter { $0.count < 3 } == ["0", "1", "2"])
    // Signals above 31 are not compared, because the C library uses the first two of those.
    let masks = lines.filter { $0.hasPrefix("Sig") }.compactMap { UInt64($0.suffix(16), radix: 16) }
    #expect(masks.map { $0 & 0x7FFF_FFFF } == [0, 0])
    watch.close()
  }

  @Test func nothingIsLeftAfterManySessions() throws {
    var processes: [Int32] = []
    var pipes: [String] = []
    for _ in 0..<2 {
      let (rig, first) = try open("echo $$; readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2; exec cat")
      let recorders = [first] + (try (0..<4).map { _ in try rig.open() })
      for recorder in recorders { recorder.send("x") }
      wait("all echo") { recorders.allSatisfy { $0.text.hasSuffix("\nx") } }
      for recorder in recorders {
        let words = recorder.text.split(separator: "\n").map(String.init)
        processes.append(try #require(Int32(words[0])))
        pipes += words[1...3]
      }
      let known = descriptors()
      #expect(pipes.suffix(15).allSatisfy(known.contains), "this process has the other ends")
      #expect(rig.accessory.runningPrograms == 5)
      rig.accessory.unplug()
      wait("all programs end") { rig.accessory.runningPrograms == 0 }
    }
    let left = descriptors()
    #expect(Set(pipes).count == 30 && !left.contains(where: pipes.contains))
    #expect(processes.filter { kill($0, 0) == 0 } == [], "not even as zombies")
  }

  @Test func anAccessoryThatIsDroppedTakesItsProgramsWithIt() throws {
    var processID: Int32 = 0
    do {
      let (rig, recorder) = try open("echo $$; exec sleep 1000")
      wait("the program runs") { !recorder.heard.isEmpty }
      processID = try #require(Int32(recorder.text.dropLast()))
      rig.accessory.unplug()
      #expect(rig.accessory.runningPrograms == 1)
      #expect(kill(processID, 0) == 0)
      rig.close()
    }
    #expect(kill(processID, 0) == -1 && errno == ESRCH)
  }

  @Test func onlySoManyProgramsRunAtATime() throws {
    let places = ProgramPlaces(2)
    let (rig, first) = try open(.echo) { _ in ExecBehavior(.init("cat"), places: places) }
    let recorders = [first, try rig.open(), try rig.open()]
    wait("the third is refused") { rig.endings.count == 1 }
    #expect(recorders[2].end == .closedByAccessory)
    #expect(rig.said == [.warning("session 3: cat was not run: 2 programs are already running, which is the limit")])
    recorders[0].session.close()
    wait("the first program ends") { rig.accessory.runningPrograms == 1 }
    let next = try rig.open()
    next.send("x")
    wait("there is room again") { next.text == "x" }
  }

  /// Two files may contain the same profile, and only one of them may be trusted to run programs.
  @Test func onlyTheAccessoryOfAnUntrustedFileIsKeptFromRunningItsProgram() throws {
    var untrusted = Behavior.Program("cat")
    untrusted.origin.objection = "/tmp/x.json5 belongs to another user"
    for program in [Behavior.Program("cat"), untrusted, Behavior.Program("cat")] {
      let (rig, recorder) = try open(.exec(program))
      if program.origin.objection == nil {
        recorder.send("x")
        wait("the program answers") { recorder.text == "x" }
      } else {
        wait("the session ends") { recorder.end != nil && rig.endings.count == 1 }
        #expect(
          rig.said == [
            .warning(
              "session 1: cat was not run: /tmp/x.json5 belongs to another user, so its programs do not run unless "
                + "allowed"
            )
          ])
      }
    }
  }

  @Test func inInventedTimeThereAreNoPrograms() throws {
    let loop = VirtualLoop()
    let rig = try BehaviorRig(.exec(.init("cat")), on: loop)
    let recorder = try rig.open()
    try loop.advance(by: .seconds(1))
    #expect(
      rig.said == [
        .warning("session 1: cat was not run: a program needs real time, but this world runs in virtual time")
      ])
    #expect(recorder.end != nil)
  }
}
