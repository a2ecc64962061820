import AccessoryCore
import Glibc

/// Connects the transfers on a gadget's bulk endpoints to the accessory's channel.
///
/// The states are off (the host has not configured the device), waiting (configured, but no host program is active),
/// connected (bytes pass through a cable), closing (the accessory has closed the cable, and the last bytes are being
/// sent), and ended.
///
/// As with USB/IP, a cable begins with the first bulk transfer after the host selects the configuration or the
/// alternate setting. A write by the host is noticed immediately. To detect a read by the host, this type first queues
/// empty transfers (probes), which complete when the host reads. Two probes are needed because a controller's buffer
/// can absorb the first one.
///
/// Each read covers one packet. A longer read would wait for more packets, because some hosts do not send an empty
/// packet after a transfer that consists of full packets. After a write whose size is a multiple of the packet size, an
/// empty packet is sent, so that the host receives each `send` as one transfer.
///
/// USB does not notify a device when a host program ends. If the host has read nothing for ``silence``, probes are
/// therefore queued again. If the host still reads no probe for another ``silence``, the host is considered gone,
/// unless the bus is suspended.
///
/// A new generation starts each time the host selects the configuration or the alternate setting. Bytes from an earlier
/// generation are neither delivered nor sent.
final class GadgetEndpoints: BulkCarrier, TransferHandler {
  private enum State {
    case off
    case waiting
    case carrying(BulkPipe)
    case leaving(BulkPipe)
    case spent
  }

  enum News {
    case cable(Cable)
    case closed
    case failed(String)
  }

  private static let probeCount = 2
  /// How long the host may go without reading before probes are queued, and then how long it may take to read a probe.
  static let silence = Duration.seconds(5)

  private let queue: any TransferQueue
  private let loop: any EventLoop
  private let onEvent: (News) -> Void
  private let sizes: (reads: Int, write: Int)

  private var state = State.off
  private var generation = 0
  private var packetSize = 512
  /// Bytes from the host that the accessory has not accepted yet. This array holds at most what one round of reads
  /// returns.
  private var arrived: [UInt8] = []
  private var readsUnderWay = 0
  private var writesUnderWay = 0
  /// Bytes that were taken from the channel but did not fit into the current write.
  private var held: (bytes: ArraySlice<UInt8>, endsTransfer: Bool)?
  /// How many empty packets to write before anything else. Each empty packet is a probe or marks the end of a transfer
  /// that consists of full packets.
  private var emptyPacketsOwed = 0
  /// The number of probes that the host has not read.
  private var probes = 0
  private var quiet: LoopTimer?
  private var hasRead = false
  /// Whether the bus is suspended, in which case the host reads nothing.
  var isAsleep = false

  init(
    _ queue: any TransferQueue, reads: Int = KernelTransfers.mostReads, writeSize: Int = KernelTransfers.writeSize,
    on loop: any EventLoop, onEvent: @escaping (News) -> Void
  ) {
    self.queue = queue
    self.loop = loop
    self.onEvent = onEvent
    sizes = (reads, writeSize)
    queue.handler = self
    quiet = loop.makeTimer { [unowned self] in askWhetherTheHostReads() }
  }

  deinit {
    quiet?.cancel()
  }

  // MARK: Events from the host and the gadget

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

  func stop(_ end: ChannelEnd) {
    let before = state
    // The host assumes that bytes were delivered even if the accessory has not read them. If unread bytes are lost, the
    // channel must not appear to have ended normally.
    let unread = arrived.count
    state = .off
    generation += 1
    (readsUnderWay, writesUnderWay) = (0, 0)
    (arrived, held, emptyPacketsOwed, probes) = ([], nil, 0, 0)
    queue.cancelAll()
    quiet?.cancel()
    if case .carrying(let pipe) = before { pipe.end(end.dropping(unread: unread)) }
  }

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
      onEvent(.cable(Cable(main: pipe)))
    }
    if isRead { bytes.withUnsafeBytes { arrived.append(contentsOf: $0) } }
  }

  func transfersReported() {
    work()
  }

  private func fail(_ code: Int32) {
    let reason = String(cString: strerror(code))
    stop(.failed(reason))
    state = .spent
    onEvent(.failed(reason))
  }

  private func work() {
    deliver()
    readMore()
    writeMore()
    if case .carrying(let pipe) = state { pipe.notifyWritable() }
    if case .leaving(let pipe) = state, isSent(pipe) {
      state = .spent
      onEvent(.closed)
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
    // While the accessory is not accepting bytes, the host's transfers stay pending.
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

  /// Returns the next write. Repeated calls return the same write until it has started.
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

  /// Always returns 0 because the bytes must stay in the pipe's memory until the kernel has written them.
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
    // The work is deferred to a later turn of the loop because another method of this object might be running.
    loop.schedule(after: .zero) { [weak self] in self?.work() }
  }
}
