import AccessoryCore
import AccessorySessions
import AccessoryTransports

/// Keeps a device connected to the accessories on a bench that somebody wants: takes the cable of each as soon as it
/// is attached, and again at each attachment, so that a flicker is followed through.
///
/// A cable is claimed first. While another host has it, the claim is tried again until that host lets go.
///
/// ```swift
/// let dialer = BenchDialer(.standard(), for: device, on: loop, isWanted: { $0.serial == "LWK-0001" })
/// try dialer.start()
/// ```
public final class BenchDialer: Dialing {
  /// How long to wait before asking again for a cable that another host has.
  static let claimPeriod = Duration.milliseconds(50)
  /// The longest wait between two attempts at a cable that does not hold.
  static let longestPause = Duration.seconds(1)

  private let device: Device
  private let loop: any PollingLoop
  private let options: TransportOptions
  private let isWanted: (BenchCard) -> Bool
  private let wrap: (Cable) -> Cable
  private let hear: (BenchWatcher.Change) -> Void
  private var lines: [String: Line] = [:]
  private var isStopped = false
  private lazy var watcher = BenchWatcher(directory, on: loop) { [unowned self] change in happened(change) }

  /// The bench.
  public let directory: BenchDirectory
  /// Why the cable that was asked for last could not be had.
  public private(set) var trouble: String?

  /// One accessory on the bench, and how far the way to it has come.
  private final class Line {
    enum State {
      /// Nobody asked for it, or it is about to be asked for again.
      case idle
      case connecting(BenchClaim, any Connecting)
      case pluggedIn(BenchClaim)
    }

    var accessory: BenchAccessory
    var state = State.idle
    var timer: LoopTimer?
    var pause = Dialer.period
    var saidInUse: Int32?

    init(_ accessory: BenchAccessory) {
      self.accessory = accessory
    }
  }

  /// A dialer that has not begun.
  ///
  /// - Parameters:
  ///   - wrap: puts transcripts and faults around the channels of each cable.
  ///   - hear: told of every change on the bench, wanted or not.
  ///   - isWanted: whether the cable of an accessory with this card is to be taken.
  public init(
    _ directory: BenchDirectory, for device: Device, on loop: any PollingLoop,
    options: TransportOptions = TransportOptions(), wrap: @escaping (Cable) -> Cable = { $0 },
    hear: @escaping (BenchWatcher.Change) -> Void = { _ in }, isWanted: @escaping (BenchCard) -> Bool = { _ in true }
  ) {
    self.directory = directory
    self.device = device
    self.loop = loop
    self.options = options
    self.wrap = wrap
    self.hear = hear
    self.isWanted = isWanted
  }

  deinit { stop() }

  /// Watches the bench from now on, and dials what is wanted.
  public func start() throws {
    try watcher.start()
  }

  /// Stops dialling; cables that are plugged in stay, and stay claimed, until they end.
  public func stop() {
    isStopped = true
    watcher.stop()
    for line in lines.values {
      line.timer?.cancel()
      if case .connecting(_, let attempt) = line.state {
        attempt.cancel()
        line.state = .idle
      }
    }
  }

  // MARK: The bench

  private func happened(_ change: BenchWatcher.Change) {
    hear(change)
    switch change {
    case .arrived(let accessory):
      let line = Line(accessory)
      lines[accessory.entry.name] = line
      line.timer = loop.makeTimer { [unowned self, unowned line] in dial(line) }
      dial(line)
    case .changed(let accessory, _):
      guard let line = lines[accessory.entry.name] else { return }
      line.accessory = accessory
      dial(line)
    case .left(let accessory, _):
      guard let line = lines.removeValue(forKey: accessory.entry.name) else { return }
      line.timer?.cancel()
      // A cable that is plugged in ends by itself; its claim is kept by what waits for that.
      if case .connecting(_, let attempt) = line.state { attempt.cancel() }
    case .passed: break
    case .warning(let text): device.tell(.warning(text), nil)
    }
  }

  // MARK: One accessory

  private func dial(_ line: Line) {
    guard !isStopped, case .idle = line.state, isWanted(line.accessory.card) else { return }
    do {
      switch try BenchClaim.make(for: line.accessory.entry) {
      case .granted(let claim): connect(line, claim)
      case .inUse(let pid): waitForClaim(line, pid)
      case .gone: break
      }
    } catch {
      note(line, "\(error)")
      line.timer?.arm(at: loop.now + Self.claimPeriod)
    }
  }

  private func waitForClaim(_ line: Line, _ pid: Int32?) {
    trouble = "\(line.accessory.address) is in use by \(pid.map { "pid \($0)" } ?? "another process")"
    if line.saidInUse != pid ?? 0, let trouble {
      line.saidInUse = pid ?? 0
      note(line, trouble)
    }
    line.timer?.arm(at: loop.now + Self.claimPeriod)
  }

  private func connect(_ line: Line, _ claim: BenchClaim) {
    line.saidInUse = nil
    let address = Address.unix(path: line.accessory.entry.socketPath)
    let attempt = Transports.connect(to: address, on: loop, options: options, timeout: .seconds(5)) {
      [unowned self] result in
      switch result {
      case .success(let found): plugIn(found.cable, line, claim)
      case .failure(let error):
        // The accessory may just have left, which is told of by the watcher.
        trouble = "\(line.accessory.address): \(error)"
        claim.release()
        dialLater(line)
      }
    }
    line.state = .connecting(claim, attempt)
  }

  private func plugIn(_ cable: Cable, _ line: Line, _ claim: BenchClaim) {
    trouble = nil
    line.state = .pluggedIn(claim)
    let begun = loop.now
    let accessory = line.accessory
    device.plugIn(wrap(cable), at: accessory.address.description, announced: accessory.card) { [weak self] _ in
      claim.release()
      guard let self else { return }
      // An accessory that hangs up at once is not asked as often as one that held.
      if loop.now - begun > Self.longestPause { line.pause = Dialer.period }
      dialLater(line)
    }
  }

  private func dialLater(_ line: Line) {
    line.state = .idle
    guard !isStopped, lines[line.accessory.entry.name] === line else { return }
    line.timer?.arm(at: loop.now + line.pause)
    line.pause = min(line.pause * 2, Self.longestPause)
  }

  private func note(_ line: Line, _ text: String) {
    let card = line.accessory.card
    device.tell(.warning(text), .init(name: card.name, serial: card.serial, protocols: card.protocols))
  }
}
