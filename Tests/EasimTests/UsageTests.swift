import TestSupport
import Testing

/// A mistake in a command line is reported along with the nearest correct word, and the exit code is 2.
@Suite(.waits) struct UsageTests {
  /// `ErrorTexts/Golden/command-lines.txt` covers other invalid command lines. The errors for the command lines in this
  /// test depend on the machine.
  @Test(arguments: [
    ("run lawk-view --on gadget:no_such_udc.7", "there is no USB device controller 'no_such_udc.7'"),
    ("run lawk-view --on gadget:/sys/class/udc/a", "did you mean 'gadget:a'?"),
    ("report mrge", "'mrge': "),
    ("demo --capture f --transcript f", "--capture and --transcript would both write to f"),
  ]) func aWrongCommandLineEndsWithTwoAndIsExplained(words: String, complaint: String) throws {
    let easim = try Program.run(words.split(separator: " ").map(String.init))
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

  @Test func helpIsAskedForInSeveralWays() throws {
    #expect(try Program.run("help", "send").out == Program.run("send", "--help").out)
    let overview = try Program.run("--help").out
    for word in ["-h", "help"] { #expect(try Program.run(word).out == overview) }
  }

  @Test func nothingAtAllShowsWhatThereIsAndEndsWithTwo() throws {
    let easim = try Program.run()
    #expect(easim.ending == .exit(2))
    #expect(easim.err.contains("usage: easim COMMAND"))
  }
}
