/// Pauses cables while the file of a transcript or capture is written more slowly than bytes pass.
///
/// Such a file must be complete. Its writer closes the gate when too much is waiting, and opens it again when
/// it is written. While the gate is closed, nothing is read from the cables and `send` takes nothing. The other end
/// of a cable sees a line that carries nothing, and may give up when its own timeouts expire.
///
/// Belongs to the loop of the cables.
public final class CableGate {
  private struct WeakChannel {
    weak var channel: WitnessedChannel?
  }

  /// Whether cables may send and receive.
  public private(set) var isOpen = true
  private var channels: [WeakChannel] = []

  /// An open gate. Pass it to ``Cable/witnessed(at:on:gate:by:)``.
  public init() {}

  func add(_ channel: WitnessedChannel) {
    channels.removeAll { $0.channel == nil }
    channels.append(WeakChannel(channel: channel))
  }

  /// Pauses all cables. May be called from within `send` and from within `received`.
  public func close() {
    guard isOpen else { return }
    isOpen = false
    for entry in channels { entry.channel?.gateClosed() }
  }

  /// Resumes all cables. Call it in a turn of its own, because waiting senders send at once.
  public func open() {
    guard !isOpen else { return }
    isOpen = true
    // The first cable to resume may fill the queue and close the gate again.
    for entry in channels where isOpen { entry.channel?.gateOpened() }
  }
}
