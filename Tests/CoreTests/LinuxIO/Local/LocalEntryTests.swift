import AccessoryCables
import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct LocalEntryTests {
  let temporary = TemporaryFolder()
  var local: LocalDirectory { LocalDirectory(temporary.path) }

  /// Creates an entry whose process has died: its socket exists, but nothing listens on it.
  func leaveBehind(_ name: String, _ suffixes: [String]) throws -> LocalEntry {
    let entry = try #require(LocalEntry(name, in: local))
    for suffix in suffixes where suffix != "sock" { touch("\(temporary.path)/\(name).\(suffix)") }
    if suffixes.contains("sock") { try leaveSocket(entry.socketPath) }
    return entry
  }

  func leaveSocket(_ path: String) throws {
    // A listener that is closed abruptly leaves the same files behind as a killed process.
    let listener = try Transports.listen(at: .unix(path: path), on: EpollLoop()) { _ in }
    link(path, path + ".kept")
    listener.close()
    rename(path + ".kept", path)
    // Until it calls exec, a process that another test is launching holds a copy of the descriptor.
    while UnixListener.isListened(at: path) { sched_yield() }
  }

  func touch(_ path: String) { close(open(path, O_CREAT | O_WRONLY, 0o600)) }

  @Test(arguments: ["k3x9qa-2", "aaaaaa-123456789"])
  func aNameIsSixLettersAndACount(name: String) {
    #expect(LocalEntry(name, in: local)?.name == name)
    #expect(LocalEntry(card: name + ".json", in: local)?.name == name)
  }

  @Test(arguments: [
    "", "-", "package", "ts-config", "k3x9qa", "k3x9qa-", "k3x9qa-x", "k3x9qa-1-2", "K3X9QA-1", "k3x9q0-1", "../k3x-1",
    "k3x9qa-1234567890", "k3x9qa-1\n", "k3x9qa-١",
  ])
  func anotherNameIsSomebodyElses(name: String) {
    #expect(LocalEntry(name, in: local) == nil)
    #expect(LocalEntry(card: "k3x9qa-1.sock", in: local) == nil)
  }

  @Test(arguments: [
    ["sock"], ["sock", "lock", "json"], ["sock", "lock", "json", "tmp"], ["lock", "json"], ["json"], ["tmp"],
  ])
  func whatADeadProcessLeftIsSwept(suffixes: [String]) throws {
    let entry = try leaveBehind("k3x9qa-2", suffixes)
    #expect(!entry.isAlive)
    #expect(local.sweep() == [entry])
    #expect(temporary.names == [])
  }

  @Test func aSocketThatIsListenedOnKeepsItsFiles() throws {
    let entry = try #require(LocalEntry("k3x9qa-2", in: local))
    let loop = try EpollLoop()
    let listener = try Transports.listen(at: .unix(path: entry.socketPath), on: loop) { _ in }
    try entry.makeLock()
    touch(entry.cardPath)
    #expect(entry.isAlive)
    #expect(local.sweep() == [])
    #expect(temporary.names.count == 4, "socket, its lock, the claim's lock, card")
    #expect(local.entries() == [entry])
    entry.remove()
    listener.close()
    #expect(temporary.names == [])
  }

  @Test func aSocketIsLeftAloneWhileOneIsBeingCreated() throws {
    let entry = try leaveBehind("k3x9qa-2", ["sock"])
    #expect(local.creatingSocket { local.sweep() } == [])
    #expect(temporary.names == [entry.socketFile])
    #expect(local.sweep() == [entry])
  }

  @Test func theSocketOfACaptureIsSweptWithItsProcess() throws {
    let socket = local.captureSocket(of: getpid())
    let listener = try local.creatingSocket {
      try Transports.listen(at: .unix(path: socket), on: EpollLoop()) { _ in }
    }
    local.sweep()
    #expect(temporary.names.contains("capture-\(getpid()).sock"))
    listener.close()
    try leaveSocket(socket)
    local.sweep()
    #expect(temporary.names == [])
  }

  @Test func filesOfOtherNamesAreLeftAlone() {
    let names = ["package.json", "yarn.lock", "notes.tmp", "k3x9qa-1.txt", "server.sock", "k3x9qa-1.json.bak"]
    for name in names { touch("\(temporary.path)/\(name)") }
    #expect(local.sweep() == [])
    #expect(local.entries() == [])
    #expect(temporary.names == names.sorted())
  }

  @Test func aCardIsReplacedWhole() throws {
    let entry = try #require(LocalEntry("k3x9qa-2", in: local))
    var card = LocalCard(
      PortAppearance(name: "李未可", serial: "S\"1", manufacturer: "M", model: "L", protocols: []),
      process: ProcessIdentity(pid: 7, startTime: 8), attachedAt: 1_763_691_954_123_456)
    try entry.write(card)
    card.appearance.protocols = ["com.example.a"]
    try entry.write(card)
    #expect(try LocalCard(reading: try #require(try entry.readCard()), of: entry) == card)
    #expect(temporary.names == ["k3x9qa-2.json"])
    entry.remove()
    #expect(try entry.readCard() == nil)
  }

  @Test func oneHostHasTheCableAndTheOthersHearWhichProcess() throws {
    let entry = try #require(LocalEntry("k3x9qa-2", in: local))
    guard case .gone = try LocalClaim.make(for: entry) else { return #expect(Bool(false), "nothing is there to claim") }
    try entry.makeLock()
    guard case .granted(let first) = try LocalClaim.make(for: entry) else {
      return #expect(Bool(false), "nobody else has it")
    }
    guard case .inUse(getpid()) = try LocalClaim.make(for: entry) else { return #expect(Bool(false), "it is taken") }
    first.release()
    guard case .granted = try LocalClaim.make(for: entry) else { return #expect(Bool(false), "it was released") }
  }
}
