import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessorySessions
import IAP2

/// Sends one burst, waits until nothing more arrives, and determines which verification suits the accessory.
///
/// ```swift
/// let probe = BurstProbe(plan, on: loop)
/// let app = device.makeApp(probe)
/// loop.run(until: { probe.finding != nil })
/// ```
package final class BurstProbe: AppHandler, SessionHandler {
  package enum Finding: Equatable, Sendable {
    case echo
    /// The accessory sent something other than an echo: the values are the number of bytes, and the first few bytes.
    case reply(count: Int, first: [UInt8])
    case nothing
    /// The session ended or could not be opened, for the given reason.
    case failed(String)
  }

  /// How long the accessory must be silent before the probe ends.
  package static let quiet = Duration.seconds(1)
  private static let limit = 1 << 20
  private static let shown = 64

  package private(set) var finding: Finding?
  package private(set) var sawAccessory = false
  private let plan: BurstPlan
  private let payload: [UInt8]
  private let loop: any EventLoop
  private var sent = 0
  private var received: [UInt8] = []
  private var receivedCount = 0
  private var session: Session?
  private var timer: LoopTimer?

  package init(_ plan: BurstPlan, on loop: any EventLoop) {
    self.plan = plan
    var random = loop.random.derived("bursts")
    payload = plan.payload.repeatedBytes ?? UniqueStream(seed: random.next(), session: 0).bytes(0..<plan.payload.size)
    self.loop = loop
    timer = loop.makeTimer { [unowned self] in conclude() }
  }

  deinit { timer?.cancel() }

  package func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    sawAccessory = true
    guard session == nil, !accessory.protocols.isEmpty else { return }
    do {
      let name = try ProtocolChoice.choose(plan.protocolName, among: accessory.protocols)
      let session = try app.openSession(with: accessory, protocolName: name)
      self.session = session
      session.handler = self
      send(session)
    } catch {
      finding = .failed("\(error)")
    }
  }

  /// Ignores a disconnect, because the session's end is also reported.
  package func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  private func send(_ session: Session) {
    let payload = payload
    while sent < payload.count {
      let taken = session.write(payload.span.bytes.extracting(sent..<payload.count))
      if taken == 0 { return }
      sent += taken
    }
    timer?.arm(at: loop.now + Self.quiet)
  }

  package func sessionIsReadable(_ session: Session) {
    session.read { bytes in
      receivedCount += bytes.byteCount
      let kept = min(bytes.byteCount, max(0, Self.limit - received.count))
      bytes.extracting(0..<kept).withUnsafeBytes { received += $0 }
      return bytes.byteCount
    }
    // An endless stream is not a reply, so the probe reports the bytes received so far.
    if receivedCount > Self.limit { conclude() } else { timer?.arm(at: loop.now + Self.quiet) }
  }

  package func sessionIsWritable(_ session: Session) { send(session) }

  package func session(_ session: Session, endedWith end: SessionEnd) {
    if finding == nil { finding = .failed("the session ended: \(end)") }
  }

  private func conclude() {
    guard finding == nil, let session else { return }
    if received == payload {
      finding = .echo
    } else if receivedCount > 0 {
      finding = .reply(count: receivedCount, first: Array(received.prefix(Self.shown)))
    } else if sent == payload.count, session.unacknowledged == 0 {
      finding = .nothing
    } else {
      return timer?.arm(at: loop.now + Self.quiet) ?? ()
    }
    session.close("the probe is done")
  }
}

extension BurstProbe.Finding: CustomStringConvertible {
  /// The options of `easim burst` that suit the accessory, or nil if none do.
  package var options: String? {
    switch self {
    case .echo: "--verify echo"
    case .reply(let count, let first) where count == first.count && count <= 16:
      "--verify reply --expect-reply 0x\(Hex.plain(first))"
    case .reply(let count, _): "--verify reply --expect-reply \(count)"
    case .nothing: "--verify none"
    case .failed: nil
    }
  }

  package var description: String {
    switch self {
    case .echo: "the burst came back byte for byte"
    case .reply(let count, let first):
      "\(count) different bytes came back: \(Hex.spaced(first))\(count > first.count ? " …" : "")"
    case .nothing:
      "the whole burst was acknowledged, but nothing came back within \(DurationText.format(BurstProbe.quiet))"
    case .failed(let text): text
    }
  }
}
