import AccessoryCore
import Glibc

/// The bulk endpoints of a gadget: joins transfers to the channel that the accessory has.
///
/// States as the wire shows them: off (the host has not configured the device), waiting (it has, and no program of it
/// moves anything), carrying a cable, leaving (the accessory has closed it, and its last bytes go out), spent.
///
/// A cable begins with the first bulk transfer after the host chose the configuration or the alternate setting, as with
/// USB/IP. What the host writes shows by itself; that it reads shows by transfers of no bytes, which are laid out before
/// anything else and end when the host asks for them. It takes two: a controller may swallow the first, having room for it.
///
/// Reads are of one packet: a longer one would wait for the packets that fill it, since not every host says with an
/// empty packet that a full one was the last. A write that is a multiple of the packet size is followed by an empty one,
/// so that each `send` is one transfer to the host.
///
/// USB does not tell a device that a program of the host has ended. So after a time of silence empty transfers are laid out
/// again, and a host that asks for nothing as long once more is gone; while the bus sleeps that is not asked.
///
/// Each choice of the host is a generation, and what belongs to an older one is neither delivered nor sent.
final class GadgetEndpoints: BulkCarrier, TransferHandler {
  private enum State {
    case off
    case waiting
    case carrying(BulkPipe)
    case leaving(BulkPipe)
    case spent
  }

  /// What becomes of a cable, for the gadget.
  enum News {
    /// The host began to use the accessory.
    case cable(Cable)
    /// The accessory closed its cable, and what it had sent has gone.
    case closed
    /// A transfer cannot be made.
    case failed(String)
  }

  private static let probeCount = 2
  /// How long nothing may go to the host before it is asked whether it still reads, and how long it may take over it.
  static let silence = Duration.seconds(5)

  private let queue: any TransferQueue
  private let loop: any EventLoop
  private let hear: (News) -> Void
  private let sizes: (reads: Int, write: Int)

  private var state = State.off
  private var generation = 0
  private var packetSize = 512
  /// What the host wrote and the accessory does not take yet; no more than the reads of one round.
  private var arrived: [UInt8] = []
  private var readsUnderWay = 0
  private var writesUnderWay = 0
  /// What was taken from the channel and finds no room.
  private var held: (bytes: ArraySlice<UInt8>, endsTransfer: Bool)?
  /// Empty packets to be written before anything else: what ends a transfer of full packets, or the probes.
  private var emptyPacketsOwed = 0
  /// How many probes the host has not asked for.
  private var probes = 0
  private var quiet: LoopTimer?
  /// Whether the host has asked for something since the timer was looked at last.
  private var hasRead = false
  /// Whether the bus sleeps, so that the host asks for nothing.
  var isAsleep = false

  init(
    _ queue: any TransferQueue, reads: Int = KernelTransfers.mostReads, writeSize: Int = KernelTransfers.writeSize,
    on loop: any EventLoop, hear: @escaping (News) -> Void
  ) {
    self.queue = queue
    self.loop = loop
    self.hear = hear
    sizes = (reads, writeSize)
    queue.handler = self
    quiet = loop.makeTimer { [unowned self] in askWhetherTheHostReads() }
  }

  deinit {
    quiet?.cancel()
  }

  // MARK: What the host and the gadget do

  /// The host chose the configuration or the alternate setting.
  func begin(packetSize: Int) {
    stop(.closedByPeer)
    isAsleep = false
    self.packetSize = packetSize
    wait()
  }

  private func wait() {
    state = .waiting
    emptyPacketsOwed = Self.probeCount
    probes = Self.probeCount
    work()
  }

  /// The endpoints are gone, or begin anew.
  func stop(_ end: ChannelEnd) {
    let before = state
    state = .off
    generation += 1
    (readsUnderWay, writesUnderWay) = (0, 0)
    (arrived, held, emptyPacketsOwed, probes) = ([], nil, 0, 0)
    queue.cancelAll()
    quiet?.cancel()
    if case .carrying(let pipe) = before { pipe.end(end) }
  }

  /// Whether bytes of a closed cable are still on their way.
  var isLeaving: Bool {
    if case .leaving = state { true } else { false }
  }

  // MARK: Transfers

  func transferEnded(tag: Int, isRead: Bool, _ problem: TransferProblem?, _ bytes: RawSpan) {
    guard tag == generation else { return }
    if isRead { readsUnderWay -= 1 } else { writesUnderWay -= 1 }
    switch problem {
    case .away: return
    case .failed(let code): return fail(code)
    case nil: break
    }
    if !isRead {
      hasRead = true
      if probes > 0 { probes -= 1 }
    }
    if case .waiting = state, isRead || probes == 0 {
      let pipe = BulkPipe(self, on: loop)
      state = .carrying(pipe)
      quiet?.arm(at: loop.now + Self.silence)
      hear(.cable(Cable(main: pipe)))
    }
    if isRead { bytes.withUnsafeBytes { arrived.append(contentsOf: $0) } }
  }

  func transfersTold() {
    work()
  }

  private func fail(_ code: Int32) {
    let reason = String(cString: strerror(code))
    stop(.failed(reason))
    state = .spent
    hear(.failed(reason))
  }

  private func work() {
    deliver()
    readMore()
    writeMore()
    if case .carrying(let pipe) = state { pipe.tellWritable() }
    if case .leaving(let pipe) = state, isSent(pipe) {
      state = .spent
      hear(.closed)
    }
  }

  private func deliver() {
    while case .carrying(let pipe) = state, pipe.takesBytes, !arrived.isEmpty {
      let bytes = arrived
      arrived = []
      pipe.deliver(bytes.span.bytes)
    }
  }

  private func readMore() {
    switch state {
    case .waiting: break
    // An accessory that does not take bytes: the host's transfers wait on the bus.
    case .carrying(let pipe): if !pipe.takesBytes { return }
    case .off, .leaving, .spent: return
    }
    switch queue.read(sizes.reads - readsUnderWay, size: packetSize, tag: generation) {
    case .success(let begun): readsUnderWay += begun
    case .failure(.away): break
    case .failure(.failed(let code)): fail(code)
    }
  }

  private func writeMore() {
    while let next = nextWrite() {
      switch queue.write(next.bytes, tag: generation) {
      case .success(true):
        writesUnderWay += 1
        if next.bytes.isEmpty { emptyPacketsOwed -= 1 } else { held = nil }
        if next.endsTransfer, !next.bytes.isEmpty, next.bytes.count % packetSize == 0 { emptyPacketsOwed += 1 }
      case .success(false), .failure(.away): return
      case .failure(.failed(let code)): return fail(code)
      }
    }
  }

  /// What is to be written next; it stays next until it is under way.
  private func nextWrite() -> (bytes: ArraySlice<UInt8>, endsTransfer: Bool)? {
    if emptyPacketsOwed > 0 { return ([], true) }
    if let held { return held }
    switch state {
    case .carrying(let pipe), .leaving(let pipe):
      guard let piece = pipe.take(sizes.write) else { return nil }
      held = (piece, !pipe.isInsideTransfer)
      return held
    case .off, .waiting, .spent: return nil
    }
  }

  private func isSent(_ pipe: BulkPipe) -> Bool {
    writesUnderWay == 0 && emptyPacketsOwed == 0 && held == nil && !pipe.hasBytes
  }

  private func askWhetherTheHostReads() {
    guard case .carrying = state else { return }
    if writesUnderWay > 0, !hasRead, !isAsleep {
      stop(.lost("the host stopped reading"))
      return wait()
    }
    if writesUnderWay == 0 { emptyPacketsOwed += Self.probeCount }
    hasRead = false
    quiet?.arm(at: loop.now + Self.silence)
    work()
  }

  // MARK: The channel

  /// Nothing: what is written has to live until the kernel is done with it.
  func pipe(_ pipe: BulkPipe, takes bytes: RawSpan) -> Int { 0 }

  func pipeHasBytes(_ pipe: BulkPipe) {
    writeMore()
  }

  func pipeTakesBytes(_ pipe: BulkPipe) {
    work()
  }

  func pipeIsClosed(_ pipe: BulkPipe) {
    guard case .carrying(let current) = state, current === pipe else { return }
    state = .leaving(pipe)
    arrived = []
    // Not from within its own call.
    loop.schedule(after: .zero) { [weak self] in self?.work() }
  }
}
