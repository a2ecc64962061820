import TestSupport
import Testing

/// A mistake in a command line is reported along with the nearest correct word, and the exit code is 2.
@Suite(.waits) struct UsageTests {
  /// `ErrorTexts/Golden/command-lines.txt` covers other invalid command lines. The errors for the command lines in this
  /// test depend on the machine.
  @Test(arguments: [
    ("run lawk-view --on gadget:no_such_udc.7", "there is no USB device controller 'no_such_udc.7'"),
    ("run lawk-view --on gadget:/sys/class/udc/a", "did you mean 'gadget:a'?"),
  ]) func aWrongCommandLineEndsWithTwoAndIsExplained(words: String, complaint: String) throws {
    let easim = try Program(path: BuiltProducts.easim, words.split(separator: " ").map(String.init)).wait()
    #expect(easim.ending == .exit(2), "\(easim.out)\(easim.err)")
    #expect(easim.err.contains(complaint), "\(easim.err)")
    #expect(easim.out == "")
  }

  @Test func anEmptyPathIsNamed() throws {
    let easim = try Program.run("decode", "")
    #expect(easim.ending == .exit(2))
    #expect(easim.err.hasPrefix("easim: '': No such file or directory\n"))
  }

  /// These bytes are not UTF-8. Swift would replace the bytes, and easim would then open a different path or send
  /// different bytes.
  @Test func wordsThatAreNotUTF8AreNotReplacedByOthers() throws {
    let place = TemporaryFolder()
    let words = "easim send unix:nobody --text \"$(printf 'a\\376b')\""
    let easim = try HelpTests.shell(words, in: place).wait()
    #expect(easim.ending == .exit(2))
    #expect(
      easim.err == """
        easim: argument 4 is not UTF-8: pass bytes for an accessory with --hex or --file

        """)
  }

  @Test func helpOfACommandIsAskedForInEitherOrder() throws {
    #expect(try Program.run("help", "send").out == Program.run("send", "--help").out)
    let wrong = try Program.run("help", "sned")
    #expect(wrong.ending == .exit(2))
    #expect(wrong.err.contains("unknown command 'sned', did you mean 'send'?"))
  }

  @Test func nothingAtAllShowsWhatThereIsAndEndsWithTwo() throws {
    let easim = try Program.run()
    #expect(easim.ending == .exit(2))
    #expect(easim.err.contains("usage: easim COMMAND"))
  }

  @Test(arguments: [
    "send unix:/tmp/a --10k --expect ecco", "send nowhere --10k", "run lawk-view --on nowhere", "demo --quirk flickr",
  ]) func aWrongCommandLineTouchesNoFile(words: String) throws {
    let place = TemporaryFolder()
    place.write("precious", to: "transcript")
    let words = words.split(separator: " ").map(String.init) + ["--transcript", place.file("transcript")]
    #expect(try Program(path: BuiltProducts.easim, words).wait().ending == .exit(2))
    #expect(place.bytes("transcript") == Array("precious".utf8))
  }
}
