import AccessoryCore
import IAP2

/// A channel around a channel that tells a witness what passes. A transcript writes one line per packet:
///
/// ```
/// 0.000000 A DETECT
/// 0.000213 D DATA seq=1 ack=0 session=1 AA00 RequestAuthenticationCertificate
/// ```
///
/// A native channel carries no packets, so each transfer is a line: `1.002000 D SIDE com.example.files 10240 bytes 00 01 …`.
///
/// The time is the loop's, `A` and `D` are the accessory and the device. A packet is written when its last byte passes,
/// so both ends of a cable without delay write the same lines.
public final class TranscriptChannel: Channel, ChannelHandler {
  private let inner: any Channel
  private let loop: any EventLoop
  private let transcript: any CableWitness
  private let end: Transcript.End
  private let side: String?
  private let gate: TranscriptGate?
  private var handler: (any ChannelHandler)?
  /// Whether the handler paused reading.
  private var isPaused = false
  /// Whether `send` refused something because the gate was closed.
  private var senderWaits = false

  /// Tells `transcript` what passes at this end of a cable; `side` is the protocol of a native channel.
  public init(
    around inner: any Channel, at end: Transcript.End, _ transcript: any CableWitness, side: String? = nil,
    gate: TranscriptGate? = nil, on loop: any EventLoop
  ) {
    self.gate = gate
    self.side = side
    self.inner = inner
    self.end = end
    self.transcript = transcript
    self.loop = loop
  }

  /// As the channel inside.
  public var keepsTransfersApart: Bool { inner.keepsTransfersApart }

  /// As the channel inside.
  public var longestTransfer: Int? { inner.longestTransfer }
  /// As the channel inside.
  public var undelivered: Int { inner.undelivered }

  /// Begins to receive.
  public func start(_ handler: any ChannelHandler) {
    self.handler = handler
    inner.start(self)
    gate?.add(self)
    if isHeld { inner.pauseReading() }
  }

  private var isHeld: Bool { gate?.isOpen == false }

  /// Pauses reading; `send` checks the gate itself.
  func gateClosed() {
    if handler != nil, !isPaused { inner.pauseReading() }
  }

  /// Resumes reading, unless the handler paused it, and notifies a sender that was refused.
  func gateOpened() {
    guard handler != nil else { return }
    if !isPaused { inner.resumeReading() }
    guard senderWaits else { return }
    senderWaits = false
    handler?.channelIsWritable(self)
  }

  /// Sends, and records what was accepted.
  public func send(_ bytes: RawSpan) -> Int {
    if isHeld {
      senderWaits = true
      return 0
    }
    let taken = inner.send(bytes)
    if taken > 0 { record(bytes.extracting(0..<taken), from: end) }
    return taken
  }

  /// As the channel inside.
  public func pauseReading() {
    isPaused = true
    inner.pauseReading()
  }

  /// As the channel inside; while the gate is closed, takes effect when it opens.
  public func resumeReading() {
    isPaused = false
    if !isHeld { inner.resumeReading() }
  }

  /// Closes, and writes that down.
  public func close() {
    if handler != nil { transcript.note("\(end.rawValue) closed\(of)", at: loop.now) }
    handler = nil
    inner.close()
  }

  /// Bytes came from the other end.
  public func channel(_ channel: any Channel, received bytes: RawSpan) {
    record(bytes, from: end.other)
    handler?.channel(self, received: bytes)
  }

  /// There is room again.
  public func channelIsWritable(_ channel: any Channel) {
    handler?.channelIsWritable(self)
  }

  /// The channel inside is over.
  public func channel(_ channel: any Channel, endedWith ending: ChannelEnd) {
    transcript.note("\(end.rawValue) sees\(of) that \(ending)", at: loop.now)
    let told = handler
    handler = nil
    told?.channel(self, endedWith: ending)
  }

  private var of: String { side.map { " SIDE \($0)" } ?? "" }

  private func record(_ bytes: RawSpan, from sender: Transcript.End) {
    if let side {
      transcript.recordTransfer(bytes, of: side, from: sender, at: loop.now)
    } else {
      transcript.record(bytes, from: sender, at: loop.now)
    }
  }
}
