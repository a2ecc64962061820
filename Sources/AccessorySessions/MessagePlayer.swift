import AccessoryCore
import IAP2

/// Runs one side's message rules on a cable, by combining the state machine ``MessageRules`` with a timer.
public final class MessagePlayer {
  private var machine: MessageRules
  private let loop: any EventLoop
  private let send: (ControlMessage) -> Void
  private var timer: LoopTimer?
  private var isSending = false

  /// Creates a player whose rules have not started. `send` is called with each message to send.
  public init(
    _ rules: [MessageRule], epoch: UInt64, on loop: any EventLoop, send: @escaping (ControlMessage) -> Void
  ) {
    machine = MessageRules(rules, epoch: epoch)
    self.loop = loop
    self.send = send
    timer = loop.makeTimer { [unowned self] in sendWhatIsDue() }
  }

  deinit {
    timer?.cancel()
  }

  /// Allows the rules to send from now on. If `declared` is not nil, the other side can receive only these messages.
  public func begin(declared: [MessageID]?) {
    machine.begin(declared: declared)
  }

  /// Starts the rules that the connection triggers.
  public func connected() {
    machine.connected(now: loop.now)
    sendWhatIsDue()
  }

  /// Handles a message from the other side.
  public func heard(_ message: ControlMessage) {
    machine.heard(message, now: loop.now)
    sendWhatIsDue()
  }

  /// Changes the parameters of a message that rules send; see ``MessageRules/change(_:_:now:)``.
  public func change(_ id: MessageID, _ parameters: [MessageRule.Element]) -> MessageRules.Change {
    defer { sendWhatIsDue() }
    return machine.change(id, parameters, now: loop.now)
  }

  /// Stops the rules, because the link is down or the cable has ended.
  public func stop() {
    machine.stop()
    timer?.cancel()
  }

  /// How many answers were dropped because too many were waiting.
  public var dropped: Int { machine.dropped }

  private func sendWhatIsDue() {
    // The other side may answer a message before the call that sends it has returned.
    guard !isSending else { return }
    isSending = true
    while let message = machine.next(now: loop.now) { send(message) }
    isSending = false
    if let deadline = machine.deadline { timer?.arm(at: deadline) } else { timer?.cancel() }
  }
}
