import TestSupport
import Testing

/// Tests accessories that a host cannot use. As soon as the command detects that it cannot use an accessory, it prints
/// the reason and some advice, and exits with code 6.
@Suite(.waits) struct HostRefusalTests {
  let place = TemporaryFolder()

  @Test(arguments: [["send", "--10k", "--timeout", "1h"], ["info", "--timeout", "1h"], ["burst"], ["watch"]])
  func aWrongSignatureEndsACommandAtOnce(_ words: [String]) throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", "authentication,wrong")
    let host = try Program.run([words[0], accessory.address] + words.dropFirst())
    #expect(host.ending == .exit(6), "\(host.out)\(host.err)")
    #expect(host.err.contains("easim: authentication failed (AA04): "), "\(host.err)")
    #expect(host.err.contains("easim: try: --auth accept "), "\(host.err)")
  }

  @Test(arguments: [
    ("authentication,wrong", "accept", "an Apple device would refuse this accessory"),
    ("authentication,never", "skip", "EADemo's pattern came back"),
  ]) func anAccessoryThatDoesNotAuthenticateCanBeUsed(quirk: String, mode: String, text: String) throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", quirk)
    let send = try Program.run("send", accessory.address, "--10k", "--expect", "echo", "--auth", mode)
    #expect(send.ending == .exit(0) && send.out.contains(text), "\(send.out)\(send.err)")
  }

  @Test(arguments: [
    ("authentication,never", "did not answer the request to authenticate"),
    ("identification,never", "did not answer the request to identify itself"),
  ])
  func whatIsNeverAnsweredIsNamedBeforeTheTimeIsUp(quirk: String, sentence: String) throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", quirk)
    let send = try Program.run("send", accessory.address, "--10k", "--timeout", "2s")
    #expect(send.ending == .exit(6), "\(send.out)\(send.err)")
    #expect(send.err.contains(sentence), "\(send.err)")
  }

  @Test func theFirstDataCanWait() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--10k", "--expect", "echo", "--first-write-delay", "50ms")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
  }
}
