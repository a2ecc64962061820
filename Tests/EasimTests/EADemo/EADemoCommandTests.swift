import AccessoryHost
import Testing

@testable import easim

@Suite struct EADemoCommandTests {
  @Test(
    arguments: [
      ("list", .list), ("  show 2 ", .show(2)), ("show", .show(1)), ("open", .open(protocolName: nil, number: nil)),
      ("open com.example.echo 3", .open(protocolName: "com.example.echo", number: 3)),
      ("string hello  world ", .send(Array("hello  world ".utf8))), ("string  x", .send(Array(" x".utf8))),
      ("hex 01 02ff", .send([1, 2, 255])), ("10k", .send((0..<10_000).map { UInt8(truncatingIfNeeded: $0) })),
      ("text a\\r\\n\\x02\\\\", .send([97, 13, 10, 2, 92])), ("save a file", .save("a file")),
      ("repeat 3 hex 01", .again(3, every: .zero, [1])),
      ("repeat 10 every 50ms string hi", .again(10, every: .milliseconds(50), [104, 105])),
      ("read", .read(nil)), ("read 5", .read(.count(5))), ("read 1s", .read(.time(.seconds(1)))),
      ("read until:\\r\\n", .read(.until([13, 10]))),
      ("expect text:OK\\n", .expect(ReplyRule(.bytes([79, 75, 10])))),
      ("expect prefix:V", .expect(ReplyRule(.prefix([86])))), ("expect 0102", .expect(ReplyRule(.bytes([1, 2])))),
      ("sessions", .sessions), ("use 2", .use(2)), ("unplug", .unplug),
      ("counters", .counters), ("wait connect", .wait(.connect)), ("wait disconnect", .wait(.disconnect)),
      ("wait 5", .wait(.received(5))), ("close", .close), ("background", .background), ("foreground", .foreground),
      ("help", .help), ("quit\r", .quit), ("", nil), ("  ", nil), ("# a note", nil),
    ] as [(String, EADemoCommand?)]) func aLineIsACommand(line: String, expected: EADemoCommand?) throws
  {
    #expect(try EADemoCommand(line: line) == expected)
  }

  @Test(arguments: [
    ("lst", "unknown command 'lst', did you mean 'list'?"),
    ("frobnicate", "unknown command 'frobnicate', try 'help'"),
    ("string", "nothing to send: string TEXT"), ("hex", "nothing to send: hex BYTES, such as hex 01 02 ff"),
    ("hex 0", "hex 0: a byte is two hex digits, but the last one has only one"),
    ("show two", "show 'two': expected a number from 1"), ("wait -1", "wait '-1': expected a number from 1"),
    ("text a\\q", "'a\\q': '\\q' is not an escape; use \\r, \\n, \\t, \\0, \\\\ and \\xHH"),
    (
      "repeat 0 10k",
      "expected repeat N [every TIME] COMMAND, such as repeat 10 every 100ms 10k, with N from 1 to 1000000"
    ),
    ("repeat 2 list", "expected repeat N [every TIME] COMMAND, such as repeat 10 every 100ms 10k"),
    ("wait", "expected wait connect|disconnect|N"), ("quit now", "expected quit"),
  ]) func whatIsNoneSaysWhatToTypeInstead(line: String, expected: String) {
    #expect(throws: UsageError(expected)) { try EADemoCommand(line: line) }
  }

  @Test func everyCommandIsInTheTable() throws {
    for (form, _, _) in EADemoCommand.table {
      let name = String(form.prefix { $0 != " " })
      let lines = [name, "\(name) 1", "\(name) 01", "\(name) 1 10k"]
      #expect(lines.contains { (try? EADemoCommand(line: $0)) != nil }, "\(form)")
    }
  }
}
