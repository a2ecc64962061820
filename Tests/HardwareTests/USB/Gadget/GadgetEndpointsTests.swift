import AccessoryCore
import Glibc
import LinuxIO
import Testing

@testable import AccessoryUSB

@Suite struct GadgetEndpointsTests {
  let rig = GadgetRig()

  @Test func readsAreLaidOutAndTwoProbesWhenTheHostConfigures() {
    #expect(rig.queue.log == [])
    rig.endpoints.begin(packetSize: 512)
    #expect(rig.queue.log == ["read 4 of 512", "write 0", "write 0"])
    #expect(rig.cables.isEmpty)
  }

  @Test func aFullSpeedHostIsReadInItsSmallerPackets() {
    rig.endpoints.begin(packetSize: 64)
    #expect(rig.queue.log.first == "read 4 of 64")
  }

  @Test func aHostThatReadsBeginsACableWithItsSecondRead() {
    rig.endpoints.begin(packetSize: 512)
    rig.queue.endWrite()
    #expect(rig.cables.isEmpty, "the first may be in the controller alone")
    rig.queue.endWrite()
    #expect(rig.cables.count == 1)
  }

  @Test func aHostThatWritesBeginsACableAndItsBytesAreDelivered() throws {
    rig.endpoints.begin(packetSize: 512)
    rig.queue.endRead([1, 2, 3])
    try rig.settle()
    #expect(rig.cables.count == 1)
    #expect(rig.cables[0].received == [[1, 2, 3]])
    #expect(rig.queue.log.last == "read 1 of 512", "its place is taken by the next one")
    #expect(rig.queue.readsUnderWay == 4)
  }

  @Test func whatEndsTogetherIsDeliveredTogether() throws {
    try rig.carry()
    rig.queue.endReads([[1, 2], [], [3]])
    #expect(rig.cables[0].received == [[1, 2, 3]])
  }

  @Test func aSendIsOneTransferAndAFullOneIsFollowedByAnEmptyOne() throws {
    try rig.carry()
    rig.queue.log = []
    #expect(rig.cables[0].send([UInt8](repeating: 7, count: 511)) == 511)
    #expect(rig.cables[0].send([UInt8](repeating: 7, count: 1024)) == 1024)
    #expect(rig.cables[0].send([9]) == 1)
    #expect(rig.queue.log == ["write 511", "write 1024", "write 0", "write 1"])
  }

  @Test func aLongSendGoesInPiecesWithoutAnEmptyOneBetweenThem() throws {
    try rig.carry()
    rig.queue.log = []
    #expect(rig.cables[0].send([UInt8](repeating: 7, count: 4096)) == 4096)
    #expect(rig.queue.log == ["write 2048", "write 2048", "write 0"])
  }

  @Test func whatFindsNoRoomWaitsForTheNextEnd() throws {
    try rig.carry()
    rig.queue.writeRoom = 1
    rig.queue.log = []
    for byte in 1...3 { #expect(rig.cables[0].send([UInt8(byte)]) == 1) }
    #expect(rig.queue.log == ["write 1"])
    rig.queue.endWrite()
    rig.queue.endWrite()
    rig.queue.endWrite()
    #expect(rig.queue.written == [[1], [2], [3]])
  }

  @Test func aSenderIsToldWhenThereIsRoom() throws {
    try rig.carry()
    rig.queue.writeRoom = 1
    let cable = rig.cables[0]
    let taken = cable.send([UInt8](repeating: 1, count: 200_000))
    #expect(taken < 200_000)
    var ends = 0
    while cable.writableCalls == 0, ends < 200 {
      rig.queue.endWrite()
      ends += 1
    }
    #expect(cable.writableCalls == 1)
  }

  @Test func aPausedAccessoryLeavesTheHostWaiting() throws {
    try rig.carry()
    rig.cables[0].channel.pauseReading()
    rig.queue.log = []
    for byte in 1...4 { rig.queue.endRead([UInt8(byte)]) }
    #expect(rig.queue.log == [], "nothing more is read")
    #expect(rig.queue.readsUnderWay == 0)
    #expect(rig.cables[0].received == [])
    rig.cables[0].channel.resumeReading()
    try rig.settle()
    #expect(rig.cables[0].received == [[1, 2, 3, 4]])
    #expect(rig.queue.log == ["read 4 of 512"])
  }

  // MARK: Restart and end

  @Test func aSecondConfigurationEndsTheCableAndDropsWhatWasOfTheFirst() throws {
    try rig.carry()
    rig.queue.writeRoom = 0
    #expect(rig.cables[0].send([5]) == 1)
    rig.endpoints.begin(packetSize: 512)
    #expect(rig.cables[0].end == .closedByPeer)
    #expect(rig.queue.log.contains("cancel"))
    rig.queue.writeRoom = 8
    rig.queue.endOldReads([1, 2, 3])
    #expect(rig.cables.count == 1, "what ended late is of the first")
    rig.queue.endRead([4])
    try rig.settle()
    #expect(rig.cables[1].received == [[4]])
    #expect(!rig.queue.written.contains([5]))
  }

  @Test func bytesThatWereNotReadWhenTheHostBeginsAnewAreALoss() throws {
    try rig.carry()
    rig.cables[0].channel.pauseReading()
    for byte in 1...3 { rig.queue.endRead([UInt8(byte)]) }
    rig.endpoints.begin(packetSize: 512)
    #expect(rig.cables[0].received == [])
    #expect(rig.cables[0].end == .lost("it closed the channel; 3 of its bytes were not read"))
  }

  @Test func anUnplugEndsTheCableAndNothingIsBegunUntilTheNext() throws {
    try rig.carry()
    rig.endpoints.stop(.closedByPeer)
    #expect(rig.cables[0].end == .closedByPeer)
    rig.queue.log = []
    rig.queue.endAll(.away)
    #expect(rig.queue.log == [])
    #expect(rig.cables[0].send([1]) == 0)
  }

  @Test func transfersThatTheUnplugTookAreNoFailure() throws {
    try rig.carry()
    rig.queue.endAll(.away)
    #expect(rig.cables[0].end == nil, "endpoint 0 tells what it was")
    #expect(rig.failures == [])
  }

  @Test func anEndpointThatIsNotThereIsAskedAgainWhenItIs() throws {
    rig.queue.isAway = true
    rig.endpoints.begin(packetSize: 512)
    #expect(rig.queue.readsUnderWay == 0)
    rig.queue.isAway = false
    rig.endpoints.begin(packetSize: 512)
    #expect(rig.queue.readsUnderWay == 4)
  }

  @Test func aHostThatAsksForNothingIsGoneAndCanComeAgain() throws {
    try rig.carry()
    rig.queue.log = []
    try rig.loop.advance(by: .seconds(5))
    #expect(rig.queue.log == ["write 0", "write 0"])
    rig.queue.endWrite()
    rig.queue.endWrite()
    try rig.loop.advance(by: .seconds(5))
    #expect(rig.cables[0].end == nil, "it reads")
    try rig.loop.advance(by: .seconds(5))
    #expect(rig.cables[0].end == .lost("the host stopped reading"))
    rig.queue.endWrite()
    rig.queue.endWrite()
    #expect(rig.cables.count == 2, "it reads again")
  }

  @Test func aHostThatLeavesBytesLyingIsGoneToo() throws {
    try rig.carry()
    #expect(rig.cables[0].send([1]) == 1)
    try rig.loop.advance(by: .seconds(10))
    #expect(rig.cables[0].end == .lost("the host stopped reading"))
    #expect(rig.failures == [])
  }

  @Test func aSleepingBusIsNoHostThatHasGone() throws {
    try rig.carry()
    rig.endpoints.isAsleep = true
    try rig.loop.advance(by: .seconds(60))
    #expect(rig.cables[0].end == nil)
    rig.endpoints.isAsleep = false
    try rig.loop.advance(by: .seconds(10))
    #expect(rig.cables[0].end == .lost("the host stopped reading"))
  }

  @Test func aFailedTransferEndsTheCableAndIsTold() throws {
    try rig.carry()
    rig.queue.endRead([], .failed(EIO))
    #expect(rig.cables[0].end == .failed("Input/output error"))
    #expect(rig.failures == ["Input/output error"])
    rig.queue.log = []
    rig.queue.endRead([1])
    #expect(rig.queue.log == [])
  }

  @Test func aTransferThatCannotBeBegunIsTheSame() throws {
    try rig.carry()
    rig.queue.refusal = ENOMEM
    _ = rig.cables[0].send([1])
    try rig.settle()
    #expect(rig.failures == ["Cannot allocate memory"])
  }

  @Test func aClosedCableIsToldWhenItsLastBytesHaveGone() throws {
    try rig.carry()
    #expect(rig.cables[0].send([UInt8](repeating: 1, count: 512)) == 512)
    rig.cables[0].channel.close()
    try rig.settle()
    #expect(rig.endpoints.isLeaving)
    #expect(rig.closes == 0)
    rig.queue.endWrite()
    rig.queue.endWrite()
    #expect(rig.closes == 1)
    #expect(!rig.endpoints.isLeaving)
    rig.queue.endRead([1])
    try rig.settle()
    #expect(rig.cables.count == 1, "a cable that was closed is not begun again by what the host still sends")
    #expect(rig.cables[0].end == nil, "whoever closed it hears nothing more")
  }
}

/// Endpoints on a virtual loop. The queue holds four reads and four writes, each of up to 2,048 bytes.
final class GadgetRig {
  let loop = VirtualLoop()
  let queue = ScriptedQueue()
  private(set) var cables: [AccessoryEnd] = []
  private(set) var failures: [String] = []
  private(set) var closes = 0
  private(set) lazy var endpoints = GadgetEndpoints(queue, reads: 4, writeSize: 2048, on: loop) {
    [unowned self] in handle($0)
  }

  private func handle(_ news: GadgetEndpoints.News) {
    switch news {
    case .cable(let cable): cables.append(AccessoryEnd(cable.main))
    case .closed: closes += 1
    case .failed(let reason): failures.append(reason)
    }
  }

  func settle() throws {
    try loop.advance(by: .seconds(1))
  }

  func carry() throws {
    endpoints.begin(packetSize: 512)
    queue.endWrite()
    queue.endWrite()
    try settle()
    queue.written = []
  }
}

final class ScriptedQueue: TransferQueue {
  weak var handler: (any TransferHandler)?
  var log: [String] = []
  var written: [[UInt8]] = []
  var writeRoom = 8
  var isAway = false
  var refusal: Int32?
  private var reads: [Int] = []
  private var writes: [Int] = []
  private var old: [Int] = []
  private static let nothing: [UInt8] = []

  var readsUnderWay: Int { reads.count }

  func read(_ count: Int, size: Int, tag: Int) -> Result<Int, TransferProblem> {
    if let problem { return .failure(problem) }
    if count > 0 { log.append("read \(count) of \(size)") }
    reads += [Int](repeating: tag, count: count)
    return .success(count)
  }

  func write(_ bytes: ArraySlice<UInt8>, tag: Int) -> Result<Bool, TransferProblem> {
    if let problem { return .failure(problem) }
    guard writes.count < writeRoom else { return .success(false) }
    log.append("write \(bytes.count)")
    written.append(Array(bytes))
    writes.append(tag)
    return .success(true)
  }

  func cancelAll() {
    if !reads.isEmpty || !writes.isEmpty { log.append("cancel") }
    old += reads
    (reads, writes) = ([], [])
  }

  private var problem: TransferProblem? { refusal.map { .failed($0) } ?? (isAway ? .away : nil) }

  // MARK: The test's side

  func endRead(_ bytes: [UInt8], _ problem: TransferProblem? = nil) {
    guard !reads.isEmpty else { return }
    handler?.transferEnded(tag: reads.removeFirst(), isRead: true, problem, bytes.span.bytes)
    handler?.transfersReported()
  }

  func endReads(_ pieces: [[UInt8]]) {
    for piece in pieces { handler?.transferEnded(tag: reads.removeFirst(), isRead: true, nil, piece.span.bytes) }
    handler?.transfersReported()
  }

  func endOldReads(_ bytes: [UInt8]) {
    for tag in old { handler?.transferEnded(tag: tag, isRead: true, nil, bytes.span.bytes) }
    old = []
    handler?.transfersReported()
  }

  func endWrite() {
    guard !writes.isEmpty else { return }
    handler?.transferEnded(tag: writes.removeFirst(), isRead: false, nil, Self.nothing.span.bytes)
    handler?.transfersReported()
  }

  func endAll(_ problem: TransferProblem) {
    for tag in reads { handler?.transferEnded(tag: tag, isRead: true, problem, Self.nothing.span.bytes) }
    for tag in writes { handler?.transferEnded(tag: tag, isRead: false, problem, Self.nothing.span.bytes) }
    (reads, writes) = ([], [])
    isAway = true
    handler?.transfersReported()
  }
}
