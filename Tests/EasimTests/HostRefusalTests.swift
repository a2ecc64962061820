import TestSupport
import Testing

/// Tests accessories that a host cannot use. As soon as the command detects that it cannot use an accessory, it prints
/// the reason and some advice, and exits with code 6.
@Suite(.waits) struct HostRefusalTests {
  let place = TemporaryFolder()

  @Test(arguments: [["send", "--10k"], ["info"], ["burst"]])
  func aWrongSignatureEndsACommandAtOnce(_ words: [String]) throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", "authentication,wrong")
    let line = [words[0], accessory.address] + words.dropFirst() + ["--timeout", "1h"]
    let host = try Program(path: BuiltProducts.easim, line).wait()
    #expect(host.ending == .exit(6), "\(host.out)\(host.err)")
    #expect(host.err.contains("easim: authentication failed (AA04): "), "\(host.err)")
    #expect(host.err.contains("easim: try: --auth accept "), "\(host.err)")
    try accessory.interrupt()
  }

  @Test func aRefusalEndsWatching() throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", "authentication,wrong")
    let watch = try Program.run("watch", accessory.address)
    #expect(watch.ending == .exit(6), "\(watch.out)\(watch.err)")
    #expect(watch.err.contains("easim: try: --auth accept "), "\(watch.err)")
    try accessory.interrupt()
  }

  @Test func acceptUsesAnAccessoryWhoseSignatureIsWrong() throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", "authentication,wrong")
    let send = try Program.run("send", accessory.address, "--10k", "--expect", "echo", "--auth", "accept")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    #expect(send.out.contains("an Apple device would refuse this accessory"), "\(send.out)")
    try accessory.interrupt()
  }

  @Test func skipUsesAnAccessoryThatNeverAuthenticates() throws {
    let accessory = try Accessory(on: .unix, in: place, "--quirk", "authentication,never")
    let send = try Program.run("send", accessory.address, "--10k", "--expect", "echo", "--auth", "skip")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    try accessory.interrupt()
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
    try accessory.interrupt()
  }

  @Test func theFirstDataCanWait() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--10k", "--expect", "echo", "--first-write-delay", "50ms")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    try accessory.interrupt()
  }
}
