import AccessoryCore
import Glibc
import TestSupport
import Testing

@testable import LinuxIO

/// Tests nonblocking streams over stdin, stdout and sockets, with every kind of descriptor and in both directions.
@Suite(.waits, .serialized) struct DescriptorStreamTests {
  private let loop: EpollLoop
  private let place = TemporaryFolder()
  private static let payload = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

  init() throws { loop = try EpollLoop(seed: 1) }

  private func wait(_ what: String, until condition: () -> Bool, _ location: SourceLocation = #_sourceLocation) {
    let came = loop.run(until: condition, limit: hangLimit)
    #expect(came, "\(what)", sourceLocation: location)
  }

  private func open(_ name: String, _ flags: Int32) -> Int32 { Glibc.open(place.file(name), flags | O_CLOEXEC, 0o600) }

  @Test func aFileIsCopiedToAFile() throws {
    place.write(Self.payload, to: "from")
    let (input, output) = (open("from", O_RDONLY), open("to", O_WRONLY | O_CREAT))
    defer { for descriptor in [input, output] { Glibc.close(descriptor) } }
    let stream = try DescriptorStream(input: input, output: output, on: loop)
    let copier = Copier(stream)
    wait("the copy is written") { copier.isDone }
    #expect(place.bytes("to") == Self.payload)
  }

  @Test func aPipeIsCopiedAndTheOtherUsersOfItMayStillWait() throws {
    let (from, to) = (try Pipe(), try Pipe())
    let stream = try DescriptorStream(input: from.reading, output: to.writing, on: loop)
    let copier = Copier(stream)
    for descriptor in [from.reading, to.writing] {
      let flags = fcntl(descriptor, F_GETFL)
      #expect(flags & O_NONBLOCK == 0)
    }
    from.fill("hello")
    wait("it is copied") { copier.count == 5 }
    from.closeWriting()
    wait("the end is seen") { copier.isDone }
    to.closeWriting()
    var bytes = [UInt8](repeating: 0, count: 10)
    let count = read(to.reading, &bytes, 10)
    #expect(count == 5)
    #expect(String(decoding: bytes.prefix(5), as: UTF8.self) == "hello")
  }

  @Test func aPipeThatIsNotReadTakesWhatFitsAndReportsRoom() throws {
    let (from, to) = (try Pipe(), try Pipe())
    let stream = try DescriptorStream(input: from.reading, output: to.writing, on: loop)
    let copier = Copier(stream)
    var sent = 0
    while case let count = stream.send(Self.payload.span.bytes), count > 0 { sent += count }
    #expect(sent > 0 && sent < Self.payload.count)
    var bytes = [UInt8](repeating: 0, count: sent)
    let got = read(to.reading, &bytes, sent)
    #expect(got == sent)
    wait("there is room") { copier.roomReports == 1 }
  }

  @Test func whatTheHandlerLeavesIsOfferedAgainBeforeTheEnd() throws {
    let (from, to) = (try Pipe(), try Pipe())
    let stream = try DescriptorStream(input: from.reading, output: to.writing, on: loop)
    let nibbler = Nibbler(stream)
    from.fill("hello world")
    from.closeWriting()
    stream.resumeReading()
    wait("the first bite is taken") { nibbler.text == "hel" }
    #expect(stream.unread == 8)
    while nibbler.text.count < 11 { stream.resumeReading() }
    #expect(nibbler.text == "hello world" && !nibbler.isOver)
    wait("the end comes last") {
      stream.resumeReading()
      return nibbler.isOver
    }
  }

  @Test func aSocketWhoseClientSendsNoMoreStillReceives() throws {
    let (socket, client) = try RawSocket.pair()
    let stream = try DescriptorStream(takingSocket: socket, on: loop)
    let nibbler = Nibbler(stream)
    nibbler.bite = 100
    client.write("VERSION?")
    client.shutDownWriting()
    stream.resumeReading()
    wait("the input ends") { nibbler.isOver }
    #expect(nibbler.text == "VERSION?" && nibbler.broken == nil)
    #expect(stream.send(Array("1.2".utf8).span.bytes) == 3)
    stream.endOutput()
    wait("the output ends") { nibbler.isOutputOver }
    stream.close()
    #expect(client.read() == "1.2" && client.read() == "")
  }

  @Test func aReaderThatLeavesIsNoticedWithoutWriting() throws {
    let (from, to) = (try Pipe(), try Pipe())
    let stream = try DescriptorStream(input: from.reading, output: to.writing, on: loop)
    let nibbler = Nibbler(stream)
    to.closeReading()
    wait("it is noticed") { nibbler.broken != nil }
    #expect(nibbler.broken == .some(nil))
  }

  @Test func aFullDiskIsAnErrorWithItsReason() throws {
    let from = try Pipe()
    let full = Glibc.open("/dev/full", O_WRONLY | O_CLOEXEC)
    defer { Glibc.close(full) }
    let stream = try DescriptorStream(input: from.reading, output: full, on: loop)
    let nibbler = Nibbler(stream)
    #expect(stream.send([UInt8(1)].span.bytes) == 1)
    wait("it is noticed") { nibbler.broken != nil }
    #expect(nibbler.broken == "No space left on device")
  }

  @Test func aFolderCannotBeRead() throws {
    let folder = Glibc.open(place.path, O_RDONLY | O_CLOEXEC)
    let to = try Pipe()
    defer { Glibc.close(folder) }
    let stream = try DescriptorStream(input: folder, output: to.writing, on: loop)
    let nibbler = Nibbler(stream)
    stream.resumeReading()
    wait("the input ends") { nibbler.isOver }
    #expect(nibbler.inputFailure == "Is a directory")
  }
}

private final class Copier: ByteStreamHandler {
  private(set) var count = 0
  private(set) var isDone = false
  private(set) var roomReports = 0

  init(_ stream: DescriptorStream) {
    stream.start(self)
    stream.resumeReading()
  }

  func stream(_ stream: any ByteStream, received bytes: RawSpan) -> Int {
    let taken = stream.send(bytes)
    count += taken
    return taken
  }

  func stream(_ stream: any ByteStream, inputEndedBecause reason: String?) { stream.endOutput() }

  func streamIsWritable(_ stream: any ByteStream) {
    roomReports += 1
    stream.resumeReading()
  }

  func stream(_ stream: any ByteStream, outputBrokeBecause reason: String?) {}

  func streamOutputEnded(_ stream: any ByteStream) {
    isDone = true
    stream.close()
  }
}

private final class Nibbler: ByteStreamHandler {
  var bite = 3
  private(set) var text = ""
  private(set) var isOver = false
  private(set) var inputFailure: String?
  private(set) var broken: String??
  private(set) var isOutputOver = false

  init(_ stream: DescriptorStream) { stream.start(self) }

  func stream(_ stream: any ByteStream, received bytes: RawSpan) -> Int {
    let taken = min(bite, bytes.byteCount)
    text += bytes.extracting(0..<taken).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    return taken
  }

  func stream(_ stream: any ByteStream, inputEndedBecause reason: String?) { (isOver, inputFailure) = (true, reason) }
  func streamIsWritable(_ stream: any ByteStream) {}
  func stream(_ stream: any ByteStream, outputBrokeBecause reason: String?) { broken = .some(reason) }
  func streamOutputEnded(_ stream: any ByteStream) { isOutputOver = true }
}
