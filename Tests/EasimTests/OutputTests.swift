import Glibc
import TestSupport
import Testing

/// Output without room, without a place, or without a reader.
@Suite(.waitsForPrograms) struct OutputTests {
  let place = TemporaryFolder()

  /// Every way in which a command writes a result: text, JSON, help, a text as it is.
  @Test(arguments: ["profile new glasses", "demo --virtual --json", "send --help", "scenario show flicker"])
  func aResultThatDoesNotFitOnTheDiskIsToldAndNotDone(words: String) throws {
    let end = try HelpTests.shell("easim \(words) >/dev/full", in: place).wait()
    #expect(end.ending == .exit(2))
    #expect(end.err == "easim: stdout: No space left on device; the rest was not written\n")
  }

  /// A server on standard input and output whose client cannot be read or answered.
  @Test(arguments: [
    ("easim serve --stdio </", "its requests could not be read: Is a directory"),
    (
      "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"world.list\"}' | easim serve --stdio >/dev/full",
      "its answers could not be written: No space left on device"
    ),
  ])
  func aServerWhoseClientCannotBeHeardSaysSo(line: String, reason: String) throws {
    let end = try HelpTests.shell(line, in: place).wait()
    #expect(end.ending == .exit(2))
    #expect(end.err == "easim serve: the client has ended: \(reason)\n")
  }

  @Test func aTranscriptThatDoesNotFitIsToldByItsNameAndNotDone() throws {
    let end = try Program.run("demo", "--virtual", "--transcript", "/dev/full")
    #expect(end.ending == .exit(2))
    #expect(
      end.err
        == "easim: --transcript /dev/full: No space left on device; the rest was not written\n")
    #expect(end.out.contains("✓"))
  }

  @Test func aReportThatDoesNotFitIsToldByItsName() throws {
    symlink("/dev/full", place.file("report.json"))
    let accessory = try Accessory(on: .unix, in: place)
    let end = try Program.run("burst", accessory.address, "--count", "1", "--report", place.file("report.json"))
    #expect(end.ending == .exit(2))
    #expect(end.err.contains("report.json: No space left on device"))
    try accessory.interrupt()
  }

  @Test func aFailureKeepsItsCodeWhenItCannotBePrinted() throws {
    let end = try HelpTests.shell("easim scenario run flicker --client naive >/dev/full", in: place).wait()
    #expect(end.ending == .exit(1))
  }

  /// Without a stdout, the next file that is opened would become stdout.
  @Test func withoutAStdoutNothingOfItGetsIntoAFile() throws {
    #expect(try Program.run("demo", "--virtual", "--seed", "7", "--transcript", place.file("whole")).ending == .exit(0))
    let line = "easim demo --virtual --seed 7 --transcript closed <&- >&-"
    #expect(try HelpTests.shell(line, in: place).wait().ending == .exit(0))
    #expect(place.bytes("closed") == place.bytes("whole"))
  }

  @Test func aConsoleWithoutAStdinEndsAsWithAnEmptyOne() throws {
    let end = try HelpTests.shell("easim console unix:nobody <&-", in: place).wait()
    #expect(end.ending == .exit(0), "\(end.err)")
    #expect(end.err == "")
  }

  @Test func whatIsNoInputIsNotTakenForAnEmptyOne() throws {
    let end = try HelpTests.shell("easim send unix:nobody --file - <&-", in: place).wait()
    #expect(end.ending == .exit(2))
    #expect(end.err.contains("--file stdin: Bad file descriptor"))
  }

  /// A command that only prints has nothing to do then.
  @Test func watchEndsWhenNobodyReadsIt() throws {
    let watch = try HelpTests.shell("easim watch | { head -1; exec <&-; echo left; }", in: place)
    let first = try HelpTests.shell("exec easim run echo", in: place)
    try watch.line("plugged in")
    try watch.line("left")
    first.send(SIGINT)
    #expect(try first.wait().ending == .exit(0))
    #expect(try watch.wait().ending == .exit(0))
  }
}
