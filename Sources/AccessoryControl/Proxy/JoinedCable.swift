import AccessoryCore
import IAP2

/// Passes bytes unchanged between the channels of an accessory and a device.
///
/// ```
///              received                       joined with a device              one end ends
///   waiting ──────────────▶ (bytes are held) ─────────────────────▶ joined ────────────────────▶ draining ──▶ over
/// ```
///
/// Until a device connects, the cable reads the accessory's bytes and holds them. By reading, the cable notices when
/// the accessory disconnects. Because the bytes are held, a device that connects later misses none of them. If several
/// detection sequences arrive, the cable holds only one, because the device would answer every one of them. If one side
/// closes normally, the other side receives the remaining bytes before it is closed. If one side is lost, the other
/// side is closed immediately.
///
/// Invariant: memory use is limited. At most one chunk waits in each direction, and no more than about ``mostHeld``
/// bytes wait for a device.
final class JoinedCable {
  /// When this many bytes are held, the cable stops reading from the accessory until a device connects.
  static let mostHeld = 65_536
  /// How long to keep waiting if the remaining bytes cannot be sent after one side has closed.
  static let closingTime = Duration.seconds(2)

  private let loop: any EventLoop
  private let accessory: Way
  private var device: Way?
  private var isOver = false
  private var closer: LoopTimer?
  private let ended: (Cable.End, ChannelEnd) -> Void

  /// A channel and the bytes to send on it.
  private final class Way: ChannelHandler {
    let channel: any Channel
    let end: Cable.End
    weak var cable: JoinedCable?
    var unsent = ByteQueue()
    var received = 0
    private var isPaused = false

    init(_ channel: any Channel, _ end: Cable.End) { (self.channel, self.end) = (channel, end) }

    func pause(_ pauses: Bool) {
      guard pauses != isPaused else { return }
      isPaused = pauses
      if pauses { channel.pauseReading() } else { channel.resumeReading() }
    }

    func channel(_ channel: any Channel, received bytes: RawSpan) { cable?.received(bytes, self) }
    func channelIsWritable(_ channel: any Channel) { cable?.flush(self) }
    func channel(_ channel: any Channel, endedWith reason: ChannelEnd) { cable?.ended(self, reason) }
  }

  /// Starts receiving from the accessory. After both channels are closed, `ended` is called once with the side that
  /// closed first and the reason.
  init(_ accessory: any Channel, on loop: any EventLoop, ended: @escaping (Cable.End, ChannelEnd) -> Void) {
    (self.loop, self.ended) = (loop, ended)
    self.accessory = Way(accessory, .accessory)
    self.accessory.cable = self
    accessory.start(self.accessory)
  }

  var hasDevice: Bool { device != nil }
  var counts: (accessory: Int, device: Int) { (accessory.received, device?.received ?? 0) }

  /// Connects the device's channel. The device receives the held bytes, and then everything else that the accessory
  /// sends.
  func join(_ channel: any Channel) {
    let way = Way(channel, .device)
    (way.cable, device) = (self, way)
    way.unsent = held
    held = ByteQueue()
    channel.start(way)
    flush(way)
  }

  /// Closes both channels without calling `ended`.
  func close() {
    guard !isOver else { return }
    isOver = true
    closer?.cancel()
    accessory.channel.close()
    device?.channel.close()
  }

  // MARK: Bytes

  /// The bytes that the accessory sent before a device connected.
  private var held = ByteQueue()

  private func received(_ bytes: RawSpan, _ from: Way) {
    // After one side has closed, further bytes are dropped.
    guard !isOver, closer == nil else { return }
    from.received += bytes.byteCount
    guard let device else { return hold(bytes) }
    let to = from === device ? accessory : device
    let taken = to.unsent.isEmpty ? to.channel.send(bytes) : 0
    guard taken < bytes.byteCount else { return }
    to.unsent.append(bytes.extracting(taken..<bytes.byteCount))
    from.pause(true)
  }

  private func hold(_ bytes: RawSpan) {
    held.append(bytes)
    let one = PacketWriter.detection
    while held.count >= 2 * one.count, held.copy(held.count - 2 * one.count..<held.count) == one + one {
      let rest = held.copy(0..<held.count - one.count)
      held.removeAll()
      held.append(contentsOf: rest)
    }
    if held.count >= Self.mostHeld { accessory.pause(true) }
  }

  private func flush(_ to: Way) {
    guard !isOver else { return }
    while !to.unsent.isEmpty {
      let taken = to.unsent.consume { to.channel.send($0) }
      if taken == 0 { return }
      if closer != nil { limitClosing(to) }
    }
    if closer != nil { return finish(to) }
    guard let device else { return }
    (to === device ? accessory : device).pause(false)
  }

  // MARK: The end

  private var firstEnd: (Cable.End, ChannelEnd)?

  private func ended(_ way: Way, _ reason: ChannelEnd) {
    guard !isOver else { return }
    if firstEnd == nil { firstEnd = (way.end, reason) }
    guard let device else { return over() }
    let other = way === device ? accessory : device
    if closer != nil || reason != .closedByPeer || other.unsent.isEmpty { return finish(other) }
    limitClosing(other)
    flush(other)
  }

  private func limitClosing(_ to: Way) {
    closer?.cancel()
    closer = loop.schedule(after: Self.closingTime) { [weak self] in self?.finish(to) }
  }

  private func finish(_ last: Way) {
    last.channel.close()
    over()
  }

  private func over() {
    guard !isOver, let firstEnd else { return }
    isOver = true
    closer?.cancel()
    ended(firstEnd.0, firstEnd.1)
  }
}
