import TestSupport
import Testing

/// A mistake in a command line is reported along with the nearest correct word, and the exit code is 2.
@Suite(.waits) struct UsageTests {
  static let wrong: [(words: String, complaint: String)] = [
    ("dmo", "unknown command 'dmo', did you mean 'demo'?"),
    ("--json", "unknown command '--json'"),
    ("demo --jsn", "unknown option '--jsn', did you mean '--json'?"),
    ("demo -j", "unknown option '-j'"),
    ("demo lawk-veiw", "did you mean 'lawk-view'?"),
    ("demo /nonexistent/glasses.json5", "/nonexistent/glasses.json5"),
    ("demo Package.swift", "; to use the file with that name, write ./Package.swift"),
    ("demo lawk-view echo", "unexpected argument 'echo'"),
    ("demo --seed", "--seed needs a value: --seed N"),
    ("demo --seed soon", "--seed soon: expected a whole number from 0"),
    ("demo --seed -1", "--seed -1: expected a whole number from 0"),
    ("demo --seed 1 --seed 2", "--seed is given twice"),
    ("demo --json=yes", "--json takes no value"),
    ("demo --quirk flickr", "unknown quirk 'flickr', did you mean 'flicker'?"),
    ("demo --quirk flicker,cycls=3", "did you mean 'cycles'?"),
    ("demo --quirk flicker,cycles=0", "cycles"),
    ("demo --quirk flicker,empty=5parsecs", "empty"),
    ("demo --transcript /nonexistent/t", "--transcript /nonexistent/t: No such file or directory"),
    ("run", "PROFILE… is missing"),
    ("run lawk-view --count 2 --on unix:/tmp/a", "put {index} into the address"),
    ("run lawk-view --count none", "--count none: expected a whole number from 1"),
    ("run lawk-view --on local:SERIAL", "the serial number is set by the profile"),
    ("run lawk-view --on unx:/tmp/glasses.sock", "did you mean 'unix:/tmp/glasses.sock'?"),
    ("run lawk-view --on /tmp/glasses.sock", "did you mean 'unix:/tmp/glasses.sock'?"),
    ("run lawk-view --on unix:", "unix:PATH"),
    ("run lawk-view --on tcp:localhost", "tcp:"),
    ("run lawk-view --on tcp:0.0.0.0:0", "must be allowed: use --allow-remote"),
    ("run lawk-view --on usb:", "usb: is where a host finds real accessories"),
    ("run lawk-view --on gadget:no_such_udc.7", "there is no USB device controller 'no_such_udc.7'"),
    ("run lawk-view --on gadget:/sys/class/udc/a", "did you mean 'gadget:a'?"),
    ("run lawk-view --on usbip:0.0.0.0:0", "usbip:0.0.0.0:0 is not a loopback address"),
    ("run lawk-view --on usbip:0.0.0.0:0", "must be allowed: use --allow-remote"),
    ("send gadget:dummy_udc.0 --10k", "gadget:dummy_udc.0 is where a simulated accessory appears (easim run --on)"),
    ("send usbip:127.0.0.1:3240 --10k", "a host finds it at usb: once 'easim plug' has plugged it in"),
    ("plug", "usbip:HOST:PORT is missing"),
    ("plug usbip:192.0.2.1:3240", "must be allowed: use --allow-remote"),
    ("plug usbip:server.invalid:3240", "must be allowed: use --allow-remote"),
    ("plug unix:/tmp/a", "unix:/tmp/a: expected the address of a USB/IP server, usbip:HOST:PORT"),
    ("run lawk-view --on unix:/nonexistent/a", "the directory does not exist; create it first"),
    ("run lawk-view --on unix:/tmp/a --behavior ehco", "unknown behavior 'ehco', did you mean 'echo'?"),
    ("run lawk-view --on unix:/tmp/a --for soon", "--for soon"),
    ("run lawk-view --on unix:/tmp/a --quirk session,answer=shrug", "answer"),
    ("run lawk-veiw --on unix:/tmp/a", "did you mean 'lawk-view'?"),
    ("run lawk-view --fault los", "--fault los: unknown fault 'los', did you mean 'loss'?"),
    ("run lawk-view --fault loss,chanc=1%", "did you mean 'chance'?"),
    ("run --scenario flickr", "no scenario 'flickr', did you mean 'flicker'?"),
    (
      "run --scenario flicker --count 2",
      "--count and --scenario cannot be combined: a scenario has its own accessories"
    ),
    ("run echo echo --scenario flicker", "has 1 accessory, but 2 profiles were given"),
    ("run --scenario transport-switch --on unix:/tmp/a", "put {index} into the address"),
    ("scenario run transport-switch --at unix:/tmp/a", "put {index} into the address"),
    ("run --scenario ghost --on usbip:127.0.0.1:0", "the device must not notice, but on USB it always does"),
    ("scenario run ghost --at usb:", "--at usb: cannot play ghost: a cable is pulled"),
    ("scenario run flicker --at unx:/tmp/a", "did you mean 'unix:/tmp/a'?"),
    ("send", "nothing to send: give --text S, --hex H, --file F, --script F, --10k or --size N"),
    ("send one two --10k", "unexpected argument 'two'"),
    ("send unix:/tmp/a", "nothing to send: give --text S, --hex H, --file F, --script F, --10k or --size N"),
    ("send unix:/tmp/a --text a --10k", "--text and --10k cannot be combined"),
    ("send unix:/tmp/a --hex 0g", "--hex '0g': expected pairs of hex digits"),
    ("send unix:/tmp/a --hex 012", "--hex '012': expected pairs of hex digits"),
    ("send unix:/tmp/a --file /nonexistent/f", "--file /nonexistent/f: No such file or directory"),
    ("send unix:/tmp/a --file /tmp", "--file /tmp"),
    ("send unix:/tmp/a --file /dev/null", "nothing to send: --file /dev/null is empty"),
    ("send unix:/tmp/a --text=", "nothing to send: --text is empty"),
    ("send unix:/tmp/a --hex=", "nothing to send: --hex is empty"),
    (
      "send unix:/tmp/a --10k --expect=",
      "--expect is empty: expected echo, none, text:…, hex:…, prefix:…, regex:… or file:…"
    ),
    (
      "send unix:/tmp/a --10k --expect ecco",
      "--expect 'ecco': expected echo, none, text:…, hex:…, prefix:…, regex:… or file:…"
    ),
    ("send unix:/tmp/a --10k --timeout soon", "--timeout soon"),
    ("send unix:/tmp/a --10k --timout 1s", "did you mean '--timeout'?"),
    ("list usbip:127.0.0.1:3240", "a host finds it at usb: once 'easim plug' has plugged it in"),
    ("list gadget:", "gadget: is where a simulated accessory appears (easim run --on)"),
    ("list unix:/tmp/a", "cannot be listed without connecting"),
    ("watch --for soon", "--for soon"),
    ("list bench:/tmp/b#", "did you mean 'local:/tmp/b#'?"),
    ("watch local:/a/b", "did you mean 'local:/a/b#'?"),
    ("watch tcp:192.0.2.1:7000", "must be allowed: use --allow-remote"),
    ("info one", "unknown kind 'one'"),
    ("info --layout D", "--layout D: expected A, B, C"),
    ("info --info-plist /nonexistent/Info.plist", "/nonexistent/Info.plist cannot be read: No such file"),
    ("info --timeout never", "--timeout never"),
    ("doctor who", "unexpected argument 'who'"),
    ("burst --size 0", "--size 0: expected a whole number from 1"),
    ("burst --size 10 --payload /tmp/f", "--size and --payload cannot be combined"),
    ("burst --payload /nonexistent/f", "--payload /nonexistent/f: No such file or directory"),
    ("burst --payload /dev/null", "--payload /dev/null is empty"),
    ("burst --count 5 --for 1s", "--count and --for cannot be combined"),
    ("burst --for 0s", "--for 0s: expected a duration from 1ms"),
    ("burst --rate fast", "'fast' is not a rate"),
    ("burst --pause-every 5", "--pause-every needs --pause"),
    ("burst --verify ecco", "did you mean 'echo'?"),
    ("burst --verify reply", "--verify reply needs --expect-reply HEX, LENGTH or FILE"),
    ("burst --verify echo --expect-reply 5", "--expect-reply needs --verify reply"),
    ("burst --expect-reply 0", "--expect-reply 0: expected a length from 1"),
    ("burst --expect-reply 0x0", "a byte is two hex digits"),
    ("burst --expect-reply /nonexistent/f", "--expect-reply /nonexistent/f: No such file or directory"),
    ("burst --report report.txt", "expected a name that ends in .json, .html, .xml, .csv, .hgrm, .om or .prom"),
    ("burst --report /nonexistent/r.json", "--report /nonexistent/r.json: No such file or directory"),
    ("burst --baseline /nonexistent/b.json", "--baseline /nonexistent/b.json: No such file or directory"),
    ("burst --baseline /dev/null", "the file is empty"),
    ("burst --tolerance 5%", "--tolerance needs --baseline"),
    ("burst --baseline /dev/null --tolerance much", "--tolerance much: expected a percentage"),
    ("burst --fault bluetoth", "did you mean 'bluetooth'?"),
    ("burst --fault loss,chance=often", "chance"),
    ("burst unix:/tmp/a unix:/tmp/a", "unix:/tmp/a is given twice"),
    ("burst --probe unix:/tmp/a unix:/tmp/b", "--probe takes one accessory"),
    ("burst usb:12", "usb:"),
    ("send unix:/tmp/a --10k --fault los", "did you mean 'loss'?"),
    ("report merge", "FILE… is missing"),
    ("report add a b", "'add': expected compare, merge, show"),
    ("report show a b", "show takes one report"),
    ("report show /nonexistent/r.json", "/nonexistent/r.json: No such file or directory"),
    ("scenario run /tmp/", "/tmp/ cannot be read: Is a directory"),
    ("scenario run flicker --client sound", "--client sound: unknown client: it is now called RobustClient"),
    ("scenario run Package.swift", "; to use the file with that name, write ./Package.swift"),
    ("completion", "bash|zsh|fish is missing"),
    ("completion tcsh", "expected bash, zsh, fish"),
    ("list --jsn", "did you mean '--json'?"),
    ("send localhost:7000 --10k", "did you mean 'tcp:localhost:7000'?"),
    ("send tcp:localhost:0 --10k", "port 0 means any free port"),
    ("send tcp:192.0.2.1:7000 --10k", "must be allowed: use --allow-remote"),
    ("send unix:\(String(repeating: "a", count: 108)) --10k", "a socket's may have at most 107"),
    ("send usbip:localhost:3240 --10k", "is where a simulated accessory appears"),
    ("send usb --10k", "did you mean 'usb:'?"),
    ("send usb:12 --10k", "usb:"),
  ]

  @Test(arguments: wrong) func aWrongCommandLineEndsWithTwoAndIsExplained(words: String, complaint: String) throws {
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

  /// Swift would replace these bytes, so easim would open a different path or send different bytes.
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
