import AccessoryCables
import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct BenchEntryTests {
  let temporary = TemporaryFolder()
  var bench: BenchDirectory { BenchDirectory(temporary.path) }

  /// An entry whose process died: its socket exists, and nothing listens on it.
  func leaveBehind(_ name: String, _ suffixes: [String]) throws -> BenchEntry {
    let entry = try #require(BenchEntry(name, in: bench))
    for suffix in suffixes where suffix != "sock" { touch("\(temporary.path)/\(name).\(suffix)") }
    if suffixes.contains("sock") {
      // A listener that is taken down without ceremony leaves what a killed process leaves.
      let keep = entry.socketPath + ".kept"
      let loop = try EpollLoop()
      let listener = try Transports.listen(at: .unix(path: entry.socketPath), on: loop) { _ in }
      link(entry.socketPath, keep)
      listener.close()
      rename(keep, entry.socketPath)
      // A process that another test starts in this moment has the descriptor until it runs its program.
      while entry.isAlive { sched_yield() }
    }
    return entry
  }

  func touch(_ path: String) { close(open(path, O_CREAT | O_WRONLY, 0o600)) }

  @Test(arguments: ["k3x9qa-2", "aaaaaa-123456789"])
  func aNameIsSixLettersAndACount(name: String) {
    #expect(BenchEntry(name, in: bench)?.name == name)
    #expect(BenchEntry(card: name + ".json", in: bench)?.name == name)
    #expect(BenchEntry(name, in: bench)?.accessoryName == name.prefix(6))
  }

  @Test(arguments: [
    "", "-", "package", "ts-config", "k3x9qa", "k3x9qa-", "k3x9qa-x", "k3x9qa-1-2", "K3X9QA-1", "k3x9q0-1", "../k3x-1",
    "k3x9qa-1234567890", "k3x9qa-1\n", "k3x9qa-١",
  ])
  func anotherNameIsSomebodyElses(name: String) {
    #expect(BenchEntry(name, in: bench) == nil)
    #expect(BenchEntry(card: "k3x9qa-1.sock", in: bench) == nil)
  }

  @Test func freshNamesAreNames() {
    for _ in 0..<100 { #expect(BenchEntry(BenchEntry.freshAccessoryName() + "-1", in: bench) != nil) }
  }

  @Test(arguments: [["sock", "lock", "json"], ["sock", "lock", "json", "tmp"], ["lock", "json"], ["json"], ["tmp"]])
  func whatADeadProcessLeftIsSwept(suffixes: [String]) throws {
    let entry = try leaveBehind("k3x9qa-2", suffixes)
    #expect(!entry.isAlive)
    #expect(bench.sweep() == [entry])
    #expect(temporary.names == [])
  }

  @Test func aSocketThatIsListenedOnKeepsItsFiles() throws {
    let entry = try #require(BenchEntry("k3x9qa-2", in: bench))
    let loop = try EpollLoop()
    let listener = try Transports.listen(at: .unix(path: entry.socketPath), on: loop) { _ in }
    try entry.makeLock()
    touch(entry.cardPath)
    #expect(entry.isAlive)
    #expect(bench.sweep() == [])
    #expect(temporary.names.count == 4, "socket, its lock, the claim's lock, card")
    #expect(bench.entries() == [entry])
    entry.remove()
    listener.close()
    #expect(temporary.names == [])
  }

  @Test func aSocketThatWasJustMadeMayBeAboutToBeListenedOn() throws {
    let entry = try leaveBehind("k3x9qa-2", ["sock"])
    #expect(bench.sweep() == [])
    #expect(temporary.names == [entry.socketFile])
  }

  @Test func filesOfOtherNamesAreLeftAlone() {
    let names = ["package.json", "yarn.lock", "notes.tmp", "k3x9qa-1.txt", "server.sock", "k3x9qa-1.json.bak"]
    for name in names { touch("\(temporary.path)/\(name)") }
    #expect(bench.sweep() == [])
    #expect(bench.entries() == [])
    #expect(temporary.names == names.sorted())
  }

  @Test func aCardIsReplacedWhole() throws {
    let entry = try #require(BenchEntry("k3x9qa-2", in: bench))
    var card = BenchCard(
      name: "李未可", serial: "S\"1", manufacturer: "M", model: "L", protocols: [],
      process: ProcessIdentity(pid: 7, startTime: 8), attachedAt: 1_763_691_954_123_456)
    try entry.write(card)
    card.protocols = ["com.example.a"]
    try entry.write(card)
    let text = String(decoding: try #require(try entry.readCard()), as: UTF8.self)
    #expect(
      text == """
        {"v":1,"name":"李未可","serial":"S\\"1","manufacturer":"M","model":"L","protocols":["com.example.a"],"pid":7,\
        "processStart":8,"attachedAt":1763691954.123456,"socket":"k3x9qa-2.sock"}

        """)
    #expect(temporary.names == ["k3x9qa-2.json"])
    entry.remove()
    #expect(try entry.readCard() == nil)
  }

  @Test func oneHostHasTheCableAndTheOthersHearWhichProcess() throws {
    let entry = try #require(BenchEntry("k3x9qa-2", in: bench))
    guard case .gone = try BenchClaim.make(for: entry) else { return #expect(Bool(false), "nothing is there to claim") }
    try entry.makeLock()
    guard case .granted(let first) = try BenchClaim.make(for: entry) else {
      return #expect(Bool(false), "nobody else has it")
    }
    guard case .inUse(getpid()) = try BenchClaim.make(for: entry) else { return #expect(Bool(false), "it is taken") }
    first.release()
    guard case .granted = try BenchClaim.make(for: entry) else { return #expect(Bool(false), "it was released") }
  }
}
