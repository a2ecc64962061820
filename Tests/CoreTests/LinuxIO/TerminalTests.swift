import AccessoryCore
import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct PtyTests {
  let directory = TemporaryFolder()
  var path: String { directory.path + "/line" }
  var address: Address { .pty(path: path) }

  @Test func theLinkLeadsToATerminalAndGoesWithTheListener() throws {
    let meeting = try Meeting(at: address)
    #expect(target?.hasPrefix("/dev/pts/") == true)
    meeting.listener.close()
    #expect(directory.names == [])
  }

  @Test func nobodyIsAcceptedUntilTheTerminalIsOpened() throws {
    let meeting = try Meeting(at: address)
    #expect(!meeting.loop.run(until: { !meeting.accepted.isEmpty }, limit: .milliseconds(5)))
    let host = open(path, O_RDWR | O_NOCTTY)
    #expect(meeting.loop.run(until: { meeting.accepted.count == 1 }, limit: hangLimit))
    close(host)
  }

  /// The host program does not set up the terminal. The program only opens the terminal, writes to it and reads from
  /// it.
  @Test func bytesPassUntouchedEvenBeforeAHostSetsTheTerminalUp() throws {
    let meeting = try Meeting(at: address)
    let host = open(path, O_RDWR | O_NOCTTY)
    defer { close(host) }
    let bytes = [UInt8](0...255) + [0x0D, 0x0A, 0x03, 0x04, 0x11, 0x13, 0x1A, 0x7F]
    #expect(write(host, bytes, bytes.count) == bytes.count)
    #expect(meeting.loop.run(until: { meeting.accepted.count == 1 }, limit: hangLimit))
    let channel = meeting.accepted[0].cable.main
    let recorder = channel.startRecording()
    #expect(meeting.loop.run(until: { recorder.bytes.count >= bytes.count }, limit: hangLimit))
    #expect(recorder.bytes == bytes)
    #expect(channel.send(bytes) == bytes.count)
    var received: [UInt8] = []
    while received.count < bytes.count {
      var part = [UInt8](repeating: 0, count: 512)
      let count = read(host, &part, part.count)
      guard count > 0 else { break }
      received += part[..<count]
    }
    // The host's bytes are not echoed or translated.
    #expect(received == bytes)
    channel.close()
  }

  @Test func theNextHostGetsAFreshTerminal() throws {
    let meeting = try Meeting(at: address)
    let first = target
    let one = try meeting.connect()
    #expect(target != first)
    // Bytes that the first host did not read do not reach the second host.
    one.accessory.send("for the first host")
    let two = try meeting.connect()
    let (receives, says) = (two.host.startRecording(), two.accessory.startRecording())
    two.accessory.send("for the second")
    two.host.send("answer")
    #expect(meeting.loop.run(until: { receives.text.utf8.count >= 14 && says.text == "answer" }, limit: hangLimit))
    #expect(receives.text == "for the second")
    one.close()
    two.close()
  }

  @Test func aLinkInUseNamesWhoMadeItsTerminal() throws {
    let meeting = try Meeting(at: address)
    #expect(throws: TransportError.inUse(address, pid: getpid())) { try Meeting(at: address) }
    try meeting.connect().close()
  }

  /// A killed accessory leaves its link behind, and the next process that requests a terminal gets the same terminal
  /// number from the kernel.
  private func leaveLink(to terminal: String) {
    symlink(terminal, path)
    let longAgo = [timespec(tv_sec: 1_000_000, tv_nsec: 0), timespec(tv_sec: 1_000_000, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, path, longAgo, AT_SYMLINK_NOFOLLOW) == 0)
  }

  @Test func aTerminalThatIsYoungerThanTheLinkToItIsSomebodyElses() throws {
    let (other, name) = try openTerminal()
    defer { close(other) }
    leaveLink(to: name)
    let answer = try EpollLoop().connect(to: address)
    #expect(throws: TransportError.nobodyThere(address, "the program that created the link is gone")) {
      try answer.get()
    }
    // If the host had opened the terminal, the terminal's new owner would have received a hang-up by now.
    var byte: UInt8 = 0
    #expect(read(other, &byte, 1) == -1)
    #expect(errno == EAGAIN)
  }

  @Test(arguments: [true, false]) func aLinkToWhatIsGoneOrSomebodyElsesByNowIsReplaced(isGone: Bool) throws {
    let (other, name) = try openTerminal()
    defer { close(other) }
    leaveLink(to: isGone ? "/dev/pts/999999" : name)
    let meeting = try Meeting(at: address)
    try meeting.connect().close()
  }

  /// easim could mistake files with these names next to the path for its own files.
  @Test func noFileBesideThePathIsTouched() throws {
    let names = ["line.\(getpid())", "line.lock", "line.tmp"]
    for name in names { close(open(directory.path + "/" + name, O_CREAT | O_WRONLY, 0o600)) }
    let meeting = try Meeting(at: address)
    try meeting.connect().close()
    meeting.listener.close()
    #expect(directory.names == names.sorted())
  }

  @Test func aFileThatTookTheLinksPlaceStays() throws {
    let meeting = try Meeting(at: address)
    let terminal = try #require(target)
    unlink(path)
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    // The path should now be a link to the next terminal, but that link cannot be created.
    let host = open(terminal, O_RDWR | O_NOCTTY)
    defer { close(host) }
    #expect(meeting.loop.run(until: { !meeting.ends.isEmpty }, limit: hangLimit))
    #expect(meeting.ends == [.unusable(address, "another file, which is not a link to a terminal, has this name")])
    #expect(directory.names == ["line"])
    var status = stat()
    #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG)
  }

  @Test func aFileInTheWayStays() throws {
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    #expect(throws: TransportError.unusable(address, "another file, which is not a link to a terminal, has this name"))
    {
      try Meeting(at: address)
    }
    #expect(directory.names == ["line"])
  }

  @Test func aLinkThatTookTheListenersPlaceIsNotRemoved() throws {
    let meeting = try Meeting(at: address)
    unlink(path)
    symlink("/dev/null", path)
    meeting.listener.close()
    #expect(target == "/dev/null")
  }

  @Test func aListenerThatCanMakeNoMoreTerminalsEndsAndKeepsTheCable() throws {
    let folder = directory.path + "/folder"
    mkdir(folder, 0o700)
    let address = Address.pty(path: folder + "/line")
    let meeting = try Meeting(at: address)
    // The directory that contains the link disappears while the host has the terminal open by its device name.
    let host = open(try #require(FilePath.target(ofLink: folder + "/line")), O_RDWR | O_NOCTTY)
    unlink(folder + "/line")
    rmdir(folder)
    #expect(meeting.loop.run(until: { !meeting.ends.isEmpty }, limit: hangLimit))
    #expect(meeting.ends == [.unusable(address, "the directory does not exist; create it first")])
    let recorder = try #require(meeting.accepted.first).cable.main.startRecording()
    #expect(write(host, "hello", 5) == 5)
    #expect(meeting.loop.run(until: { recorder.text == "hello" }, limit: hangLimit))
    close(host)
    #expect(meeting.loop.run(until: { recorder.end == .closedByPeer }, limit: hangLimit))
  }

  @Test func aTerminalThatIsNotThereIsNobody() throws {
    #expect(try EpollLoop().refusal(from: address) == .nobodyThere(address, "No such file or directory"))
  }

  private var target: String? { FilePath.target(ofLink: path) }
}

/// Tests serial lines, using a pty in place of the line. The test holds the other side of the pty.
@Suite(.waits) struct SerialTests {
  let loop: EpollLoop
  let farEnd: DescriptorChannel
  let line: String
  private let farDescriptor: Int32

  init() throws {
    loop = try EpollLoop()
    (farDescriptor, line) = try openTerminal()
    farEnd = DescriptorChannel(taking: farDescriptor, as: .terminal(hangUp: .closedByPeer), on: loop)
  }

  @Test func theLineIsOpenedRawAtTheRateAndCarriesBytesBothWays() throws {
    let address = Address.serial(path: line, baud: 57_600)
    let (cable, peer) = try loop.connect(to: address).get()
    #expect(peer == PeerDescription(address: address))
    var settings = termios()
    #expect(tcgetattr(farDescriptor, &settings) == 0)
    #expect(cfgetospeed(&settings) == speed_t(B57600))
    #expect(settings.c_lflag & tcflag_t(ECHO | ICANON | ISIG) == 0)
    #expect(settings.c_iflag & tcflag_t(IXON | ICRNL) == 0)
    #expect(settings.c_oflag & tcflag_t(OPOST) == 0)
    let (near, far) = (cable.main.startRecording(), farEnd.startRecording())
    cable.main.send("ping\r\n\u{3}")
    farEnd.send("pong\r\n\u{3}")
    #expect(loop.run(until: { near.bytes.count == 7 && far.bytes.count == 7 }, limit: hangLimit))
    #expect(near.text == "pong\r\n\u{3}")
    #expect(far.text == "ping\r\n\u{3}")
    cable.main.close()
    farEnd.close()
  }

  @Test func theUsualRateIs115200() throws {
    try loop.connect(to: .serial(path: line, baud: nil)).get().cable.main.close()
    var settings = termios()
    tcgetattr(farDescriptor, &settings)
    #expect(cfgetospeed(&settings) == speed_t(B115200))
  }

  @Test func aLineThatHangsUpIsLost() throws {
    let channel = try loop.connect(to: .serial(path: line, baud: nil)).get().cable.main
    let recorder = channel.startRecording()
    _ = farEnd.startRecording()
    farEnd.close()
    #expect(loop.run(until: { recorder.end != nil }, limit: hangLimit))
    #expect(recorder.end == .lost("the serial line hung up"))
  }

  @Test func aSimulatorOnALineIsConnectedInTheNextTurn() throws {
    var accepted: [Cable] = []
    let listener = try Transports.listen(at: .serial(path: line, baud: 9_600), on: loop) {
      if case .accepted(let cable, _) = $0 { accepted.append(cable) }
    }
    #expect(accepted.isEmpty)
    #expect(loop.run(until: { accepted.count == 1 }, limit: hangLimit))
    listener.close()
    let recorder = farEnd.startRecording()
    accepted[0].main.send("still plugged in")
    #expect(loop.run(until: { recorder.text == "still plugged in" }, limit: hangLimit))
    accepted[0].main.close()
    farEnd.close()
  }

  @Test func aListenerClosedBeforeThatAcceptsNobody() throws {
    let listener = try Transports.listen(at: .serial(path: line, baud: 9_600), on: loop) { _ in
      Issue.record("a closed listener spoke")
    }
    listener.close()
    let far = farEnd.startRecording()
    #expect(loop.run(until: { far.end != nil }, limit: hangLimit))
  }

  @Test func anUnknownRateIsAnsweredWithThoseNearIt() {
    let address = Address.serial(path: line, baud: 115_000)
    #expect(
      loop.refusal(from: address)
        == .unusable(address, "there is no baud rate 115000; supported rates near it: 57600 and 115200"))
    let fastest = Address.serial(path: line, baud: 9_000_000)
    #expect(
      loop.refusal(from: fastest)
        == .unusable(fastest, "there is no baud rate 9000000; supported rates near it: 4000000"))
  }

  @Test func whatIsNoTerminalIsRefused() {
    let address = Address.serial(path: "/dev/null", baud: nil)
    #expect(loop.refusal(from: address) == .unusable(address, "/dev/null is not a terminal"))
  }

  @Test func aLineThatIsNotThereIsNobody() {
    let address = Address.serial(path: "/dev/ttyNONE", baud: nil)
    #expect(loop.refusal(from: address) == .nobodyThere(address, "No such file or directory"))
  }
}
