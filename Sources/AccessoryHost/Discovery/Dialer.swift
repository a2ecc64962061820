import AccessoryCore
import AccessoryTransports

/// What keeps a device connected to whatever an address means.
public protocol Dialing: AnyObject {
  /// Begins.
  ///
  /// - Throws: when it can never succeed, such as a bench that cannot be trusted.
  func start() throws
  /// Stops dialling; a cable that is plugged in stays.
  func stop()
  /// Why there is no cable, as far as that is known: for a message when time runs out.
  var trouble: String? { get }
}

/// Keeps a device connected to one fixed address: connects as soon as somebody listens there, and again whenever the
/// accessory comes back. Between appearances it asks again and again, because most media do not tell of arrivals.
///
/// An accessory that closes the cable before its link is up has another device. It is asked less and less often, because
/// each time is an attachment that people see on both sides.
public final class Dialer: Dialing {
  private let address: Address
  private let device: Device
  private let loop: any PollingLoop
  private let options: TransportOptions
  private let wrap: (Cable) -> Cable
  private var attempt: (any Connecting)?
  private var timer: LoopTimer?
  private var isStopped = false
  /// Why the last attempt failed: for a message when time runs out.
  public private(set) var lastError: TransportError?

  /// What the last attempt said.
  public var trouble: String? { lastError?.description ?? refusal }
  /// Why the last cable came to nothing.
  private var refusal: String?
  private var pause = Dialer.period

  /// How long to wait between two attempts.
  public static let period = Duration.milliseconds(20)
  /// How long to wait at most after a cable that came to nothing.
  public static let longestPause = Duration.milliseconds(500)

  /// A dialer that has not begun. `wrap` puts transcripts and faults around the channels of each cable.
  public init(
    _ address: Address, for device: Device, on loop: any PollingLoop, options: TransportOptions = TransportOptions(),
    wrap: @escaping (Cable) -> Cable = { $0 }
  ) {
    self.address = address
    self.device = device
    self.loop = loop
    self.options = options
    self.wrap = wrap
    timer = loop.makeTimer { [unowned self] in dial() }
  }

  /// Begins.
  ///
  /// - Throws: ``TransportError``, when connecting to the address can never succeed.
  public func start() throws {
    try Transports.check(address, options: options)
    dial()
  }

  /// Stops dialling; a cable that is plugged in stays.
  public func stop() {
    isStopped = true
    attempt?.cancel()
    attempt = nil
    timer?.cancel()
  }

  private func dial() {
    guard !isStopped else { return }
    attempt = Transports.connect(to: address, on: loop, options: options, timeout: .seconds(5)) {
      [unowned self] result in
      attempt = nil
      switch result {
      case .success(let found):
        lastError = nil
        device.plugIn(wrap(found.cable), at: address.description) { [weak self] end in self?.cableEnded(end) }
      case .failure(let error):
        lastError = error
        pause = Self.period
        dialLater()
      }
    }
  }

  private func cableEnded(_ end: CableEnd) {
    refusal = end.linkWasUp ? nil : "it is in use by another device, or is no accessory: \(end.reason) at once"
    pause = end.linkWasUp ? Self.period : min(pause * 2, Self.longestPause)
    dialLater()
  }

  private func dialLater() {
    guard !isStopped else { return }
    timer?.arm(at: loop.now + pause)
  }
}
