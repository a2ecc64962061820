import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct UnixSocketTests {
  let directory = TemporaryFolder()
  var path: String { directory.path + "/a.sock" }
  var address: Address { .unix(path: path) }

  @Test func bothSidesKnowTheProcessOnTheOther() throws {
    let meeting = try Meeting(at: address)
    let both = try meeting.connect()
    let here = PeerProcess(pid: getpid(), user: geteuid())
    #expect(both.hostSees == PeerDescription(address: address, process: here))
    #expect(both.accessorySees == PeerDescription(address: address, process: here))
    #expect(both.hostSees.description == "process \(getpid()) of user \(geteuid()) on unix:\(path)")
    both.close()
  }

  @Test func theSocketFileIsTheOwnersAloneAndGoesWithTheListener() throws {
    let meeting = try Meeting(at: address)
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    meeting.listener.close()
    #expect(directory.names == [])
    meeting.listener.close()
  }

  @Test func acceptedCablesGoOnWhenTheListenerCloses() throws {
    let meeting = try Meeting(at: address)
    let both = try meeting.connect()
    let recorder = both.accessory.startRecording()
    meeting.listener.close()
    both.host.send("still here")
    #expect(meeting.loop.run(until: { recorder.text == "still here" }, limit: hangLimit))
    #expect(meeting.loop.refusal(from: address) == .nobodyThere(address, "No such file or directory"))
    both.close()
  }

  @Test func theSocketFileOfADeadProcessIsReplaced() throws {
    try leaveASocketFile(listening: false)
    let meeting = try Meeting(at: address)
    try meeting.connect().close()
  }

  @Test func aLiveListenerKeepsItsPathAndDoesNotNotice() throws {
    let meeting = try Meeting(at: address)
    #expect(throws: TransportError.inUse(address, pid: getpid())) { try Meeting(at: address) }
    #expect(TransportError.inUse(address, pid: 7).description == "unix:\(path) is in use by pid 7")
    // Checking whether the path is in use leaves no connection in the queue, so the first accepted connection is a
    // genuine one.
    try meeting.connect().close()
    #expect(meeting.accepted.count == 1)
  }

  @Test func aFileThatIsNoSocketStaysWhereItIs() throws {
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    #expect(throws: TransportError.unusable(address, "another file, which is not a socket, has this name")) {
      try Meeting(at: address)
    }
    #expect(directory.names == ["a.sock"])
  }

  @Test func aFileThatTookTheListenersPlaceIsNotRemoved() throws {
    let meeting = try Meeting(at: address)
    unlink(path)
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    meeting.listener.close()
    #expect(directory.names == ["a.sock"])
  }

  @Test func aPathThatIsTooLongIsRefusedOnBothSides() throws {
    let address = Address.unix(path: "/" + String(repeating: "a", count: 107))
    #expect(throws: TransportError.unusable(address, "a socket path has at most 107 bytes")) {
      try Meeting(at: address)
    }
    #expect(try EpollLoop().refusal(from: address) == .unusable(address, "a socket path has at most 107 bytes"))
  }

  @Test func nobodyThereIsSaidAtOnce() throws {
    let loop = try EpollLoop()
    #expect(loop.refusal(from: address) == .nobodyThere(address, "No such file or directory"))
    try leaveASocketFile(listening: false)
    #expect(loop.refusal(from: address) == .nobodyThere(address, "Connection refused"))
    directory.write("text", to: "text")
    let text = Address.unix(path: directory.file("text"))
    #expect(loop.refusal(from: text) == .nobodyThere(text, "this file is not a socket"))
  }

  @Test func otherUsersAreTurnedAwayUnlessAllowed() {
    let trusted = TrustedUsers(user: 1_000, sudoUser: "1001")
    func refusal(_ user: UInt32?) -> String? { trusted.refusal(of: user.map { PeerProcess(pid: 1, user: $0) }) }
    #expect(refusal(1_000) == nil)
    #expect(refusal(0) == nil)
    #expect(refusal(1_001) == "the process belongs to user 1001, but only root and user 1000 may connect")
    #expect(
      refusal(nil) == "the system does not show the process's user, but only root and user 1000 may connect")
    func server(_ user: UInt32?) -> String? {
      trusted.refusal(ofServer: user.map { PeerProcess(pid: 1, user: $0) })
    }
    #expect(server(1_000) == nil)
    #expect(server(1_001) == "the process belongs to user 1001, but only root and user 1000 are trusted")
    #expect(server(nil) == "the system does not show the process's user")
  }

  @Test func theCallerOfSudoIsTrustedByRootAlone() {
    #expect(TrustedUsers(user: 0, sudoUser: "1001").names() == "root and user 1001")
    #expect(TrustedUsers(user: 0, sudoUser: "1001").contains(1_001))
    #expect(TrustedUsers(user: 0, sudoUser: "no number").names() == "root")
    #expect(!TrustedUsers(user: 0, sudoUser: nil).contains(1_001))
    #expect(TrustedUsers(user: 1_000, sudoUser: "1001").names("or") == "root or user 1000")
  }

  @Test func aFullBacklogIsWaitedForAndThenTimedOut() throws {
    let full = try leaveASocketFile(listening: true)
    let loop = try EpollLoop()
    // A backlog of 0 leaves room for one connection, which is never accepted.
    let first = try loop.connect(to: address).get().cable.main
    #expect(loop.refusal(from: address, timeout: .milliseconds(30)) == .timedOut(address, after: .milliseconds(30)))
    // A waiting connector connects as soon as the backlog has room.
    var answer: Transports.Answer?
    Transports.connect(to: address, on: loop) { answer = $0 }
    #expect(!loop.run(until: { answer != nil }, limit: .milliseconds(15)))
    let accepted = accept(full, nil, nil)
    #expect(loop.run(until: { answer != nil }, limit: hangLimit))
    try answer?.get().cable.main.close()
    first.close()
    close(accepted)
    close(full)
  }

  @Test func aCancelledConnectionIsNeverAnswered() throws {
    let meeting = try Meeting(at: address)
    let attempt = Transports.connect(to: address, on: meeting.loop) { _ in Issue.record("answered after cancel") }
    attempt.cancel()
    attempt.cancel()
    try meeting.connect().close()
  }

  @Test func aListenerMayBeClosedFromItsOwnCallback() throws {
    let loop = try EpollLoop()
    var listener: (any Listener)?
    var accepted: [Cable] = []
    listener = try Transports.listen(at: address, on: loop) {
      if case .accepted(let cable, _) = $0 { accepted.append(cable) }
      listener?.close()
    }
    var answers: [Transports.Answer] = []
    for _ in 0..<3 { Transports.connect(to: address, on: loop) { answers.append($0) } }
    #expect(loop.run(until: { answers.count == 3 && !accepted.isEmpty }, limit: hangLimit))
    #expect(accepted.count == 1)
    for answer in answers { try? answer.get().cable.main.close() }
    accepted[0].main.close()
  }

  /// The descriptor limit applies to the whole process, so the test runs in a separate one. If another thread releases
  /// a descriptor, one more connection is accepted, and the next failure counts as a new problem.
  @Test func withoutDescriptorsAListenerSaysSoOnceAndTriesAgain() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryFolder()
      let meeting = try Meeting(at: .unix(path: directory.path + "/a.sock"))
      let waiting = try (0..<10).map { _ in try RawSocket(connectingTo: directory.path + "/a.sock") }
      let limit = try DescriptorLimit(100)
      precondition(meeting.loop.run(until: { !meeting.hindrances.isEmpty }, limit: hangLimit), "nobody complained")
      precondition(meeting.hindrances.first?.code == EMFILE, "the complaint is another")
      _ = meeting.loop.run(until: { meeting.accepted.count == 10 }, limit: .milliseconds(150))
      precondition(meeting.accepted.count < 10, "descriptors came from nowhere")
      precondition(meeting.hindrances.count <= meeting.accepted.count + 1, "it complains again and again")
      limit.lift()
      precondition(meeting.loop.run(until: { meeting.accepted.count == 10 }, limit: hangLimit), "it gave up")
      withExtendedLifetime(waiting) {}
    }
  }

  /// Creates the socket file of a dead process. If `listening` is set, the file belongs to a process that listens but
  /// never accepts.
  @discardableResult
  private func leaveASocketFile(listening: Bool) throws -> Int32 {
    guard let socket = UnixSocket.make(bind, path) else { throw SystemError("bind", code: errno) }
    if listening { listen(socket, 0) } else { close(socket) }
    return socket
  }
}
