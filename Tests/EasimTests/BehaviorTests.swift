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

  @Test func aSourceTalksAtOnce() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "source,text=tick;,rate=100000,total=5")
    let send = try Program.run("send", accessory.address, "--text", "x", "--expect", "7469636b3b")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    try accessory.interrupt()
  }
}
