import Glibc
import TestSupport
import Testing

@Suite(.waits) struct BehaviorTests {
  let place = TemporaryFolder()

  @Test func aProgramAnswersAndItsComplaintsAreOnTheTimeline() throws {
    let accessory = try Accessory(
      on: .unix, in: place, "--behavior", "exec:read x; echo \"got $x\"; echo oh >&2; exit 3")
    let send = try Program.run("send", accessory.address, "--hex", "68690a", "--expect", "676f742068690a")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    try accessory.program.line("session 1: oh")
    #expect(try accessory.interrupt().ending == .exit(0))
  }

  @Test func aProgramThatIgnoresItsEndIsGoneAfterCtrlC() throws {
    let accessory = try Accessory(
      on: .unix, in: place, "--behavior",
      "exec:trap '' TERM; echo $$ > \(place.file("pid")); echo up; while :; do read x; done")
    let send = try Program.run("send", accessory.address, "--text", "x", "--expect", "75700a")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    let pid = try #require(place.bytes("pid").flatMap { Int32(String(decoding: $0.dropLast(), as: UTF8.self)) })
    #expect(try accessory.interrupt().ending == .exit(0))
    #expect(kill(pid, 0) == -1 && errno == ESRCH)
  }

  @Test(arguments: [
    ("eco", "unknown behavior 'eco', did you mean 'echo'?"),
    ("source,rat=5", "column 8: unknown key 'rat' in behavior source, did you mean 'rate'?"),
    ("source,rate=0", "column 8: rate: expected a whole number from 1 to 1000000000, found number 0"),
    ("script", "a script has rules: write it in a profile"), ("exec:", "the command is missing: write 'exec:COMMAND'"),
  ]) func whatIsNoBehaviorSaysWhatToTypeInstead(text: String, expected: String) throws {
    let run = try Program.run("run", "echo", "--on", "unix:\(place.file("a.sock"))", "--behavior", text)
    #expect(run.ending == .exit(2))
    #expect(run.err.contains(expected), "\(run.err)")
  }

  @Test func aSourceTalksAtOnce() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "source,text=tick;,rate=100000,total=5")
    let send = try Program.run("send", accessory.address, "--text", "x", "--expect", "7469636b3b")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    try accessory.interrupt()
  }
}
