import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import IAP2

/// The options that tolerate an accessory's mistakes: `--auth`, `--identification`, `--order` and
/// `--first-write-delay`.
struct AccessoryTolerance: Sendable {
  enum IdentificationRules: String, CaseIterable, Sendable {
    case strict
    case lenient
  }

  var authentication = AuthenticationMode.verify
  var identification = IdentificationRules.lenient
  /// Nil means that the device profile decides.
  var order: HostOrder?
  var firstWriteDelay = Duration.zero

  /// Applies these options to the settings of a device; `timeout` is the whole command's time limit.
  func apply(to settings: inout DeviceSettings, at address: Address, timeout: Duration?) {
    settings.authentication = authentication
    settings.peer.judge = identification == .lenient ? .lenient : .strict
    if let order { settings.order = order }
    settings.peer.firstWriteDelay = Milliseconds(firstWriteDelay.inWholeMilliseconds)
    settings.peer.link.interByteTimeout = address.interByteTimeout
    // The limit is shorter than the command's own time limit, so that the command can report the missing answer.
    if let timeout, timeout > .zero {
      let limit = max(1, timeout.inWholeMilliseconds * 3 / 4)
      settings.peer.answerTimeout = Milliseconds(min(settings.peer.answerTimeout.count, limit))
      let share = min(HandshakeTimeouts.usual, .milliseconds(limit))
      (settings.handshakeTimeouts.detection, settings.handshakeTimeouts.link) = (share, share)
      settings.handshakeTimeouts.coversDedicated = true
    }
  }
}

extension Address {
  /// The longest pause allowed between a packet's bytes; nil except on serial lines, because only they lose bytes. The
  /// kernel may delay bytes by 16 ms.
  var interByteTimeout: Milliseconds? {
    if case .serial = self { 500 } else { nil }
  }
}

extension Duration {
  fileprivate var inWholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}

/// Remembers and prints the first event that reports that the accessory was refused.
final class RefusalWatch {
  private(set) var refusal: Refusal?

  func see(_ event: TimelineEvent) {
    if case .refused(let refusal) = event.kind, self.refusal == nil { self.refusal = refusal }
  }

  /// Explains the refusal; returns false if there was none.
  func explain(_ console: Console) -> Bool {
    guard let refusal else { return false }
    console.err("easim: \(refusal.sentence)")
    console.err("easim: try: \(refusal.advice)")
    return true
  }
}
