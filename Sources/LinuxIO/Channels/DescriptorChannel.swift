import AccessoryCore
import Glibc

/// A channel over a stream descriptor: a connected socket, one side of a pty, or a serial line.
///
/// The channel itself buffers no bytes. Bytes accepted by `send` go directly to the kernel. Arriving bytes are read
/// into the loop's buffer once per turn, so that a peer that sends without pause cannot starve other channels. The
/// channel waits for room to write only after a partial `send`.
///
/// **How a channel ends.** Only a read ends the channel, so that everything the peer sent before closing is delivered
/// first. A broken pipe in `send` only stops sending; the channel ends once everything has been read. The channel ends
/// with ``ChannelEnd/closedByPeer`` at EOF, and with ``ChannelEnd/lost(_:)`` after a reset. When a terminal hangs up,
/// the channel ends with the value that was chosen when the channel was created. Bluetooth sockets have no EOF. Linux
/// reports an orderly close of such a socket as a reset, so on a medium with frames, a reset counts as an orderly
/// close.
///
/// While reading is paused, the kernel still reports half-closes, hang-ups and errors, which the channel handles as
/// documented in ``Channel``. If a report has to wait for ``resumeReading()``, the kernel is not polled until then,
/// because polling would keep the loop awake.
///
/// **Closing.** ``close()`` ends the channel immediately, but ``ClosingSocket`` or ``ClosingTerminal`` keeps the
/// descriptor open briefly, so that accepted bytes are still sent.
public final class DescriptorChannel: Channel, DescriptorHandler {
  /// The kind of stream that the descriptor carries.
  public enum Medium: Sendable {
    case socket
    /// A connected stream socket on a medium with frames, such as Bluetooth's RFCOMM; each `send` starts a frame of up
    /// to `longest` bytes.
    case frames(longest: Int)
    /// A terminal, whose channel ends with `hangUp` after a hang-up.
    case terminal(hangUp: ChannelEnd)

    /// Returns true if the kernel's error means only that the peer closed the connection.
    fileprivate func isClose(_ code: Int32) -> Bool {
      if case .frames = self { [ECONNRESET, ENOTCONN, EPIPE].contains(code) } else { false }
    }
  }

  private enum State {
    case made
    case started(any ChannelHandler, any DescriptorWatch)
    /// The channel could not be started; the failure is reported in a later turn.
    case failing
    case over
  }

  /// Whether the medium has frames. On a medium without frames, transfers may be joined or split.
  public var keepsTransfersApart: Bool { longestTransfer != nil }

  /// The maximum size of a frame, or nil if the medium has no frames.
  public var longestTransfer: Int? {
    if case .frames(let longest) = medium { longest } else { nil }
  }

  /// Called once, when the channel has ended, even if the owner called ``close()``.
  public var whenOver: (() -> Void)?

  private let loop: any PollingLoop
  private let medium: Medium
  /// How long a closed channel may wait for the peer to close or for its last bytes to be sent.
  private let closingTime: Duration
  // Overlapping access to the following properties is not checked, because a channel belongs to one loop and calls no
  // other code while they change.
  @exclusivity(unchecked) private var descriptor: Int32
  @exclusivity(unchecked) private var state = State.made
  @exclusivity(unchecked) private var isPaused = false
  @exclusivity(unchecked) private var senderWaits = false
  /// The error after which nothing more can be sent; the channel then ends once everything has been read.
  @exclusivity(unchecked) private var sendFailure: Int32?
  /// The error that the kernel reported while reading was paused, stored because the kernel reports it only once.
  @exclusivity(unchecked) private var reported: Int32 = 0
  /// Whether a `send` was refused because of ``sendFailure``, in which case the channel ends once everything has been
  /// read.
  @exclusivity(unchecked) private var isRefused = false
  /// Whether the kernel reported, while reading was paused, that the peer will not send any more bytes.
  @exclusivity(unchecked) private var isHalfClosed = false
  /// How often ``lookAgain()`` was called since the hang-up. The last of eight looks is half a second after it.
  private var looks = 0
  @exclusivity(unchecked) private var interest: Readiness = []

  /// Creates a channel over a nonblocking descriptor, which the channel closes when it ends.
  ///
  /// - Parameter closingTime: how long the descriptor may stay open after ``close()`` to end the connection in an
  ///   orderly way.
  public init(
    taking descriptor: Int32, as medium: Medium, on loop: any PollingLoop, closingTime: Duration = .seconds(2)
  ) {
    self.descriptor = descriptor
    self.medium = medium
    self.loop = loop
    self.closingTime = closingTime
  }

  deinit {
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  /// Takes the descriptor out of a channel that was never started, for a caller that transfers the bytes in another
  /// way. Returns nil if the channel was started.
  public func release() -> Int32? {
    guard case .made = state, descriptor >= 0 else { return nil }
    state = .over
    defer { descriptor = -1 }
    return descriptor
  }

  // MARK: - Channel

  /// Starts receiving.
  public func start(_ handler: any ChannelHandler) {
    loop.preconditionCurrent()
    switch state {
    case .made: break
    case .started, .failing: preconditionFailure("a channel can be started only once")
    case .over: return
    }
    interest = wantedInterest
    do {
      state = .started(handler, try loop.watch(descriptor, for: interest, self))
      if isRefused { concludeLater() }
    } catch {
      state = .failing
      let end = ChannelEnd.failed("\(error)")
      loop.schedule(after: .zero) {
        guard case .failing = self.state else { return }
        self.over()
        handler.channel(self, endedWith: end)
      }
    }
  }

  /// Writes as many bytes as the system accepts immediately.
  public func send(_ bytes: RawSpan) -> Int {
    give(bytes.byteCount) { bytes.withUnsafeBytes { write($0) } }
  }

  /// Writes as much of both buffers as the system accepts immediately, in one call.
  public func send(_ head: RawSpan, then body: RawSpan) -> Int {
    give(head.byteCount + body.byteCount) {
      head.withUnsafeBytes { head in body.withUnsafeBytes { write(head, then: $0) } }
    }
  }

  /// Calls `write`, and records how many of the `total` bytes it accepted.
  private func give(_ total: Int, _ write: () -> Int) -> Int {
    loop.preconditionCurrent()
    switch state {
    case .made, .started: break
    case .failing, .over: return 0
    }
    guard total > 0 else { return 0 }
    guard sendFailure == nil else { return refuse() }
    let count = write()
    if count == total { return count }
    if count >= 0 || errno == EAGAIN || errno == EINTR {
      senderWaits = true
      updateInterest()
      return max(0, count)
    }
    sendFailure = errno
    updateInterest()
    return refuse()
  }

  private func refuse() -> Int {
    if !isRefused {
      isRefused = true
      concludeLater()
    }
    return 0
  }

  /// Stops reading, so that the kernel's buffers fill up until the peer can no longer send.
  public func pauseReading() {
    loop.preconditionCurrent()
    isPaused = true
    updateInterest()
  }

  /// Continues to read.
  public func resumeReading() {
    loop.preconditionCurrent()
    // At the next pause there may be fewer unread bytes, so the kernel is polled for half-closes again.
    (isPaused, isHalfClosed) = (false, false)
    updateInterest()
  }

  /// Closes the channel in an orderly way.
  public func close() {
    loop.preconditionCurrent()
    if case .over = state { return }
    if case .started(_, let watch) = state { watch.cancel() }
    state = .over
    switch medium {
    case .socket, .frames: _ = ClosingSocket(descriptor, on: loop, atMost: closingTime)
    case .terminal: _ = ClosingTerminal(descriptor, on: loop, atMost: closingTime)
    }
    descriptor = -1
    reportOver()
  }

  /// Shuts down the socket in both directions; the handler is notified as if the peer had closed the connection.
  public func hangUp() {
    guard descriptor >= 0 else { return }
    shutdown(descriptor, Int32(SHUT_RDWR))
    // RFCOMM reports that a connection has ended only after the peer confirms it, which never happens if the peer is
    // out of range. Changing the watch makes the kernel report the end immediately.
    if case .started(_, let watch) = state { watch.change(to: interest) }
  }

  private func reportOver() {
    let notify = whenOver
    whenOver = nil
    notify?()
  }

  // MARK: - Readiness

  /// Called by the loop when the descriptor is ready.
  public func descriptorReady(_ readiness: Readiness) {
    switch state {
    case .made, .failing, .over: return
    case .started(let handler, _):
      if readiness.contains(.hangup), sendFailure == nil { sendFailure = EPIPE }
      if readiness.contains(.halfClosed) { isHalfClosed = true }
      if isPaused {
        if !readiness.isDisjoint(with: [.hangup, .halfClosed]) { endWhilePaused(handler) }
      } else if !readiness.isDisjoint(with: [.readable, .hangup]) {
        receive(handler)
        if isRefused { conclude() }
      }
      guard case .started = state else { return }
      if readiness.contains(.writable), senderWaits, sendFailure == nil {
        senderWaits = false
        handler.channelIsWritable(self)
      }
      updateInterest()
    }
  }

  /// Called when the peer closes or half-closes the connection while reading is paused.
  private func endWhilePaused(_ handler: any ChannelHandler) {
    let unread = unreadCount
    if unread == 0 { return receive(handler) }
    // A peer that has half-closed the connection can still receive.
    guard let sendFailure else { return }
    let pending = pendingError
    if pending != 0 { reported = pending }
    guard (reported != 0 && !medium.isClose(reported)) || senderWaits || isRefused else { return lookAgain() }
    let end = end(reported == 0 ? sendFailure : reported).dropping(unread: discard(atLeast: Int(unread)))
    over()
    handler.channel(self, endedWith: end)
  }

  /// Looks again soon whether a terminal that has hung up still has unread bytes. If the other end of a pseudo terminal
  /// closes, the kernel first reports the hang-up and then drops the bytes at the terminal's end, without another event.
  private func lookAgain() {
    guard case .terminal = medium, looks < 8 else { return }
    looks += 1
    loop.schedule(after: .milliseconds(1 << looks)) { [weak self] in
      guard let self, case .started(let handler, _) = state, isPaused else { return }
      endWhilePaused(handler)
    }
  }

  /// Counts the unread bytes, which are lost. On a medium with frames, the kernel counts only the first frame, so the
  /// unread bytes are read and counted here.
  private func discard(atLeast count: Int) -> Int {
    guard case .frames = medium else { return count }
    return loop.withReadBuffer { buffer in
      var all = 0
      while case let count = read(buffer), count > 0 { all += count }
      return max(all, count)
    }
  }

  private func concludeLater() {
    loop.schedule(after: .zero) { [weak self] in self?.conclude() }
  }

  private func conclude() {
    guard case .started(let handler, _) = state, let sendFailure else { return }
    if unreadCount > 0 {
      if isPaused { endWhilePaused(handler) }
      return
    }
    receive(handler)
    // The peer still exists, but it cannot receive anything.
    guard case .started = state, unreadCount == 0 else { return }
    over()
    handler.channel(self, endedWith: end(sendFailure))
  }

  private func receive(_ handler: any ChannelHandler) {
    let count = loop.withReadBuffer { buffer -> Int in
      let count = read(buffer)
      if count > 0 { handler.channel(self, received: UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes) }
      return count
    }
    if count > 0 { return }
    var code = count == 0 ? 0 : errno
    if code == EINTR { return }
    if code == EAGAIN {
      // RFCOMM has no half-close, and after the kernel has reported an error, reads behave as if nothing had arrived
      // yet.
      guard case .frames = medium, let sendFailure else { return }
      code = reported == 0 ? sendFailure : reported
    }
    over()
    handler.channel(self, endedWith: end(code))
  }

  /// Returns the ``ChannelEnd`` for the result of a read, which is 0 for EOF or an error number.
  private func end(_ code: Int32) -> ChannelEnd {
    if case .terminal(let hangUp) = medium, [0, EIO, EPIPE].contains(code) { return hangUp }
    if medium.isClose(code) { return .closedByPeer }
    // The kernel does not repeat an error that it has already reported to `send`.
    let code = code == 0 ? sendFailure.flatMap { $0 == EPIPE ? nil : $0 } ?? 0 : code
    switch code {
    case 0: return .closedByPeer
    case ECONNRESET, ECONNABORTED, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN, ENODEV, ENXIO:
      return .lost(SystemError.reason(code))
    default: return .failed(SystemError.reason(code))
    }
  }

  private var wantedInterest: Readiness {
    var wanted: Readiness = []
    if !isPaused { wanted.insert(.readable) } else if !isHalfClosed, sendFailure == nil { wanted.insert(.halfClosed) }
    if senderWaits, sendFailure == nil { wanted.insert(.writable) }
    return wanted
  }

  private func updateInterest() {
    guard case .started(_, let watch) = state, wantedInterest != interest else { return }
    interest = wantedInterest
    watch.change(to: interest)
  }

  private func over() {
    if case .started(_, let watch) = state { watch.cancel() }
    state = .over
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
    reportOver()
  }

  // MARK: - System calls

  private func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    switch medium {
    case .socket, .frames: recv(descriptor, buffer.baseAddress, buffer.count, 0)
    case .terminal: Glibc.read(descriptor, buffer.baseAddress, buffer.count)
    }
  }

  private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    switch medium {
    case .socket, .frames: Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    case .terminal: Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    }
  }

  private func write(_ head: UnsafeRawBufferPointer, then body: UnsafeRawBufferPointer) -> Int {
    withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
      parts.initializeElement(at: 0, to: Self.part(head))
      parts.initializeElement(at: 1, to: Self.part(body))
      switch medium {
      case .socket, .frames:
        var message = msghdr()
        (message.msg_iov, message.msg_iovlen) = (parts.baseAddress, parts.count)
        return sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
      case .terminal: return writev(descriptor, parts.baseAddress, Int32(parts.count))
      }
    }
  }

  private static func part(_ bytes: UnsafeRawBufferPointer) -> iovec {
    iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
  }

  /// The socket's pending error, which the kernel clears when it is read.
  private var pendingError: Int32 {
    switch medium {
    case .socket, .frames: SocketOptions.pendingError(of: descriptor)
    case .terminal: 0
    }
  }

  private var unreadCount: Int32 {
    var count: Int32 = 0
    return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? count : 0
  }
}
