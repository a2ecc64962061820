import Glibc
import TestSupport
import Testing

@Suite(.waits) struct LocalTests {
  let place = TemporaryFolder()

  func easim(_ words: String...) throws -> Program {
    try Program(path: BuiltProducts.easim, words, environment: ["EASIM_LOCAL": place.file("local")])
  }

  @Test func whatRunsIsListedAndFoundWithoutAnAddress() throws {
    let run = try easim("run", "lawk-view")
    try run.line("plugged in")
    let list = try easim("list").wait()
    #expect(list.ending == .exit(0))
    #expect(list.out.contains("李未可 View AI眼镜") && list.out.contains("com.lawaken.iap2"))
    #expect(try easim("send", "--10k", "--expect", "echo").wait().ending == .exit(0))
    run.send(SIGINT)
    #expect(try run.wait().ending == .exit(0))
    #expect(try easim("list").wait().ending == .exit(3))
  }

  @Test func forAnUnknownSerialNumberThoseThatArePresentAreListed() throws {
    let run = try easim("run", "echo")
    try run.line("plugged in")
    let send = try easim("send", "local:EW1-000", "--text", "a", "--timeout", "100ms").wait()
    #expect(send.ending == .exit(3))
    #expect(send.err.contains("waiting\neasim: did you mean 'EW1-0001'? There are:\n  local:EW1-0001 "), "\(send.err)")
    run.send(SIGINT)
    _ = try run.wait()
  }

  /// The local directory's path depends on the runtime directory. If the list is empty, easim therefore prints the path
  /// of the directory and the likely reason.
  @Test func aListOfNothingSaysWhereItLooked() throws {
    place.makeFolder("runtime")
    let list = try Program(
      path: BuiltProducts.easim, ["list"], environment: ["EASIM_LOCAL": "", "XDG_RUNTIME_DIR": place.file("runtime")]
    ).wait()
    #expect(list.ending == .exit(3))
    #expect(list.err.contains("looked at the local directory \(place.file("runtime"))/easim"), "\(list.err)")
    #expect(list.err.contains("a different EASIM_LOCAL, XDG_RUNTIME_DIR or TMPDIR"), "\(list.err)")
  }

  @Test func aListOfOneProtocolHasOnlyThoseThatOfferIt() throws {
    let run = try easim("run", "lawk-view", "echo")
    try run.line("plugged in")
    try run.line("plugged in")
    let list = try easim("list", "--protocol", "com.lawaken.iap2").wait()
    #expect(list.ending == .exit(0))
    #expect(list.outLines.count == 1 && list.out.contains("com.lawaken.iap2"))
    #expect(try easim("list", "--protocol", "com.example.other").wait().ending == .exit(3))
    run.send(SIGINT)
    _ = try run.wait()
  }

  @Test func aListAsJSONHasTheOneShape() throws {
    let run = try easim("run", "lawk-view")
    try run.line("plugged in")
    let lines = try EventLines(try easim("list", "--json").wait().out)
    #expect(lines.names == ["attach"])
    #expect(lines.events.first?.protocols == ["com.lawaken.iap2"])
    run.send(SIGINT)
    _ = try run.wait()
  }

  @Test func anEmptyLocalDirectoryIsNamedAndEndsWithThree() throws {
    let list = try easim("list").wait()
    #expect(list.ending == .exit(3))
    #expect(list.out == "")
    #expect(list.err.contains("No Accessories Connected") && list.err.contains(place.file("local")))
    let send = try easim("send", "--10k", "--timeout", "50ms").wait()
    #expect(send.ending == .exit(3))
    #expect(send.err.contains("No Accessories Connected"))
  }

  @Test func severalAccessoriesThatFitAreListedAndEndWithTwo() throws {
    let run = try easim("run", "lawk-view", "--count", "2")
    try run.line("plugged in")
    try run.line("plugged in")
    let send = try easim("send", "--10k").wait()
    #expect(send.ending == .exit(2))
    #expect(send.err.contains("2 accessories are connected, choose one:"))
    for (name, beginning) in [
      ("com.nope", "com.nope. There are:\n"),
      ("com.lawaken.iap1", "com.lawaken.iap1, did you mean 'com.lawaken.iap2'? There"),
    ] {
      let unfit = try easim("send", "--10k", "--protocol", name).wait()
      #expect(unfit.ending == .exit(2))
      #expect(unfit.err.hasPrefix("easim: no accessory offers \(beginning)"), "\(unfit.err)")
    }
    let long = try easim("send", "--10k", "--protocol", String(repeating: "x", count: 100_000)).wait()
    #expect(long.ending == .exit(2) && long.err.utf8.count < 4_000)
    run.send(SIGINT)
    _ = try run.wait()
  }

  @Test func twoOfOneSerialNumberAreToldWithWhatToDo() throws {
    let runs = [try easim("run", "echo"), try easim("run", "echo")]
    for run in runs { try run.line("plugged in") }
    for words in [["send", "--10k"], ["send", "local:EW1-0001", "--10k"], ["burst", "--all"]] {
      let end = try Program(
        path: BuiltProducts.easim, words, environment: ["EASIM_LOCAL": place.file("local")]
      ).wait()
      #expect(end.ending == .exit(2))
      #expect(
        end.err.contains("Accessories with the same serial number cannot be told apart: unplug all but one,"),
        "\(end.err)")
    }
    for run in runs { run.send(SIGINT) }
    for run in runs { #expect(try run.wait().ending == .exit(0)) }
  }

  @Test func aFlickerInTheLocalDirectoryIsWaitedThrough() throws {
    let run = try easim("run", "lawk-view", "--quirk", "flicker,empty=30ms,gap=30ms")
    try run.line("plugged in")
    let send = try easim("send", "--text", "hello", "--expect", "echo", "--json").wait()
    #expect(send.ending == .exit(0))
    #expect(try EventLines(send.out).events("connect").map(\.protocols) == [[], ["com.lawaken.iap2"]])
    run.send(SIGINT)
    _ = try run.wait()
  }
}
