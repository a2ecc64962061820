import AccessoryCore
import IAP2

/// The transcript of one channel of a cable. Each packet has one line with its time and sender.
///
/// ```
/// 0.000000 A DETECT
/// 0.000213 D DATA seq=1 ack=0 session=1 AA00 RequestAuthenticationCertificate
/// ```
///
/// A native channel carries no packets, so each transfer has a line instead:
/// `1.002000 D SIDE com.example.files 10240 bytes 00 01 …`.
///
/// Times are measured on the loop's clock. `A` stands for the accessory and `D` for the device. A packet's line is
/// written once its last byte has passed. On a cable without delay, the transcripts at both ends therefore contain the
/// same lines. Each attachment has its own transcript, because each link has its own sessions.
public final class Transcript: CableWitness {
  /// How many bytes of a payload are written by default.
  public static let usualBytes = 8

  private let protocolName: String?
  private let shownBytes: Int
  private let write: (String) -> Void
  private var fromAccessory = PacketScanner()
  private var fromDevice = PacketScanner()
  private var narrator: PacketNarrator

  /// Creates a transcript. `write` receives each line without its line break. `shownBytes` limits how many bytes of
  /// each payload are shown.
  ///
  /// - Parameter protocolName: the protocol of a native channel, or nil for the main channel.
  public init(
    of protocolName: String? = nil, shownBytes: Int = Transcript.usualBytes, write: @escaping (String) -> Void
  ) {
    (self.protocolName, self.shownBytes, self.write) = (protocolName, shownBytes, write)
    narrator = PacketNarrator(shownBytes: shownBytes)
  }

  /// Writes one line per packet or, on a native channel, one line per transfer.
  public func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant) {
    if let protocolName {
      let shown = bytes.withUnsafeBytes { Hex.spaced($0.prefix(shownBytes)) }
      let more = bytes.byteCount > shownBytes ? " …" : ""
      return line(end, time, "SIDE \(protocolName) \(bytes.byteCount) bytes \(shown)\(more)")
    }
    switch end {
    case .accessory: fromAccessory.forEach(in: bytes) { line(end, time, text($0, $1)) }
    case .device: fromDevice.forEach(in: bytes) { line(end, time, text($0, $1)) }
    }
  }

  /// Writes a line with the reason why the channel ended.
  public func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant) {
    write("\(time.secondsText) \(end.note(of: reason, protocolName))")
  }

  private func text(_ piece: PacketScanner.Piece, _ bytes: RawSpan) -> String {
    switch piece {
    case .packet(let header, _): narrator.line(for: header, packet: bytes)
    case .spoiled(let header, _): narrator.spoiledLine(for: header)
    case .detection: "DETECT"
    case .legacy: narrator.legacyLine(bytes)
    case .skipped(let skipped): "SKIPPED \(skipped)"
    }
  }

  private func line(_ end: Cable.End, _ time: Instant, _ text: String) {
    write("\(time.secondsText) \(end.rawValue) \(text)")
  }
}

extension Cable {
  /// Returns the cable with a transcript at this end. The transcript contains the packets on the main channel and the
  /// transfers on native channels. While `gate` is closed, the cable pauses. `shownBytes` limits how many bytes of each
  /// payload are shown.
  public func transcribed(
    at end: End, on loop: any EventLoop, gate: CableGate? = nil, shownBytes: Int = Transcript.usualBytes,
    write: @escaping (String) -> Void
  ) -> Cable {
    witnessed(at: end, on: loop, gate: gate) { Transcript(of: $0, shownBytes: shownBytes, write: write) }
  }
}
