import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import IAP2

/// The options that make a device tolerate an accessory's mistakes: `--auth`, `--identification`, `--order` and
/// `--first-write-delay`.
struct AccessoryTolerance: Sendable {
  enum IdentificationRules: String, CaseIterable, Sendable {
    case strict
    case lenient
  }

  var authentication = AuthenticationMode.verify
  var identification = IdentificationRules.lenient
  /// The order given by the option, or nil to use the order from the device profile.
  var order: HostOrder?
  var firstWriteDelay = Duration.zero

  /// Applies these options to a device's settings. `limit` is the time limit of the whole command.
  func apply(to settings: inout DeviceSettings, at address: Address, timeout: Duration?) {
    settings.authentication = authentication
    settings.peer.judge = identification == .lenient ? .lenient : .strict
    if let order { settings.order = order }
    settings.peer.firstWriteDelay = Milliseconds(firstWriteDelay.inWholeMilliseconds)
    settings.peer.link.interByteTimeout = address.interByteTimeout
    // The limit is shorter than that of the whole command, so that the command can report the missing answer.
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
  /// The longest pause allowed between the bytes of a packet on a serial line, where the kernel may delay bytes by 16
  /// ms. On other media, the value is nil, because only serial lines lose bytes.
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

/// Remembers the first event that reports a refused accessory, and prints an explanation.
final class RefusalWatch {
  private(set) var refusal: Refusal?

  func see(_ event: TimelineEvent) {
    if case .refused(let refusal) = event.kind, self.refusal == nil { self.refusal = refusal }
  }

  /// Prints an explanation of the refusal, or returns false if there was none.
  func explain(_ console: Console) -> Bool {
    guard let refusal else { return false }
    console.err("easim: \(refusal.sentence)")
    console.err("easim: try: \(refusal.advice)")
    return true
  }
}
