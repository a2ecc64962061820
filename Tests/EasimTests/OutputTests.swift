import Glibc
import TestSupport
import Testing

@Suite(.waits) struct OutputTests {
  let place = TemporaryFolder()

  /// Tests every form in which a command writes a result: as text, as JSON, as help, or as text that is passed through
  /// unchanged. If easim reported no error, a script that closes stdout by mistake would not notice that the result is
  /// lost.
  @Test(
    arguments: ["profile new glasses", "demo --virtual --json", "send --help", "scenario show flicker", "--version"],
    [(">/dev/full", "No space left on device"), (">&-", "it is closed")])
  func aResultThatCannotBeWrittenIsToldAndNotDone(words: String, output: (place: String, reason: String)) throws {
    let end = try HelpTests.shell("easim \(words) \(output.place)", in: place).wait()
    #expect(end.ending == .exit(2))
    #expect(end.err == "easim: stdout: \(output.reason); the rest was not written\n")
    #expect(try HelpTests.shell("easim \(words) \(output.place) 2>&-", in: place).wait().ending == .exit(2))
  }

  @Test(arguments: [
    ("easim serve --stdio </", "the client's requests could not be read: Is a directory"),
    (
      "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"world.list\"}' | easim serve --stdio >/dev/full",
      "the client's answers could not be written: No space left on device"
    ),
  ])
  func aServerWhoseClientCannotBeHeardSaysSo(line: String, reason: String) throws {
    let end = try HelpTests.shell(line, in: place).wait()
    #expect(end.ending == .exit(2))
    #expect(end.err == "easim: the client has ended: \(reason)\n")
  }

  @Test func aTranscriptThatDoesNotFitIsToldByItsNameAndNotDone() throws {
    let end = try Program.run("demo", "--virtual", "--transcript", "/dev/full")
    #expect(end.ending == .exit(2))
    #expect(
      end.err
        == "easim: --transcript /dev/full: No space left on device; the rest was not written\n")
    #expect(end.out.contains("✓"))
  }

  @Test func aFailureKeepsItsCodeWhenItCannotBePrinted() throws {
    let end = try HelpTests.shell("easim scenario run flicker --client naive >/dev/full", in: place).wait()
    #expect(end.ending == .exit(1))
  }

  @Test func withoutAStdoutNothingOfItGetsIntoAFile() throws {
    #expect(try Program.run("demo", "--virtual", "--seed", "7", "--transcript", place.file("whole")).ending == .exit(0))
    let line = "easim demo --virtual --seed 7 --transcript closed <&- >&-"
    #expect(try HelpTests.shell(line, in: place).wait().ending == .exit(2))
    #expect(place.bytes("closed") == place.bytes("whole"))
  }

  @Test(arguments: [
    "profile new glasses", "demo --virtual --json", "man", "scenario show flicker", "report show burst.json",
  ])
  func aReaderThatLeavesEndsACommandQuietly(words: String) throws {
    place.write(try Repository.text("Tests/Golden/burst.json"), to: "burst.json")
    let end = try HelpTests.shell("{ easim \(words); echo code $? >&2; } | head -c 1", in: place).wait()
    #expect(end.err == "code 0\n")
  }

  /// Tests every kind of text that an error message may quote: an option, an address, a word in a script, or a key in a
  /// file.
  @Test(arguments: [
    "easim $L", "easim send $L --text x", "easim send unix:x --$L", "easim send unix:x --text x --expect $L",
    "easim send unix:x --text x --expect \"regex:($L\"", "easim send unix:x --text x --file $L", "easim run $L",
    "easim run $L.json5", "easim run echo --on unix:$L", "easim run echo --quirk $L",
    "easim check local:#$L --timeout 1ms",
    "echo \"{ $L: 1 }\" | easim profile check /dev/stdin", "easim burst unix:x --fault $L", "easim report show $L",
    "echo \"{ accessory: { name: '$L' } }\" | easim profile check /dev/stdin", "easim scenario show $L",
    "easim info unix:x --protocol $L --timeout 1ms", "easim ctl $L --control x", "easim decode $L",
    "easim console unix:x --timeout $L", "echo $L | easim send unix:x --script /dev/stdin",
  ])
  func noErrorRepeatsALongNameWhole(line: String) throws {
    let long = "L=$(head -c 100000 /dev/zero | tr '\\0' x); "
    let end = try HelpTests.shell(long + line, in: place).wait()
    #expect(end.ending != .exit(0))
    #expect(end.err.utf8.count < 4_000, "\(end.err.prefix(8_000))")
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

  @Test func watchEndsWhenNobodyReadsIt() throws {
    let watch = try HelpTests.shell("easim watch | { head -1; exec <&-; echo left; }", in: place)
    let first = try HelpTests.shell("exec easim run echo", in: place)
    try watch.line("plugged in")
    try watch.line("left")
    #expect(try first.interrupt().ending == .exit(0))
    #expect(try watch.wait().ending == .exit(0))
  }
}
