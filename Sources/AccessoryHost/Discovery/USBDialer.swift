import AccessoryCore
import AccessorySessions
import AccessoryUSB

/// Keeps a device connected to the accessories on USB that an address means: opens each when it is plugged in.
///
/// What cannot be opened now is tried again: an accessory that another program has claimed may be released, and a
/// permission may be given, without anything being told.
public final class USBDialer: Dialing {
  /// How long to wait before what could not be opened is tried again.
  static let period = Duration.milliseconds(500)

  private let selector: Address.USBSelector
  private let device: Device
  private let loop: any PollingLoop
  private let takesOne: Bool
  private let wrap: (Cable) -> Cable
  private let hear: (USBDevices.Change) -> Void
  private var lines: [String: Line] = [:]
  private var isStopped = false
  private lazy var devices = USBDevices(on: loop) { [unowned self] change in happened(change) }
  /// The port of the one that was taken first, where only one is to be taken.
  private var pinned: String?

  /// Why the accessory that was tried last could not be opened.
  public private(set) var trouble: String?

  /// One accessory on USB, and how far the way to it has come.
  private final class Line {
    enum State {
      case idle
      case opening(USBOpening)
      case pluggedIn
    }

    var accessory: USBAccessory
    var state = State.idle
    var timer: LoopTimer?
    var said: USBHostError?

    init(_ accessory: USBAccessory) {
      self.accessory = accessory
    }
  }

  /// A dialer that has not begun.
  ///
  /// - Parameters:
  ///   - takesOne: whether the first accessory that fits is the only one that is taken, at each of its appearances.
  ///   - wrap: puts transcripts and faults around the channels of each cable.
  ///   - hear: told of every change on USB, meant or not.
  public init(
    _ selector: Address.USBSelector, for device: Device, on loop: any PollingLoop, takesOne: Bool = false,
    wrap: @escaping (Cable) -> Cable = { $0 }, hear: @escaping (USBDevices.Change) -> Void = { _ in }
  ) {
    self.selector = selector
    self.device = device
    self.loop = loop
    self.takesOne = takesOne
    self.wrap = wrap
    self.hear = hear
  }

  deinit { stop() }

  /// Watches USB from now on, and opens what is meant.
  public func start() throws {
    try devices.start()
  }

  /// Opens nothing more; cables that are plugged in stay.
  public func stop() {
    isStopped = true
    devices.stop()
    for line in lines.values { forget(line) }
  }

  // MARK: What happens on USB

  private func happened(_ change: USBDevices.Change) {
    hear(change)
    switch change {
    case .arrived(let accessory):
      guard accessory.isMeant(by: selector) else { return }
      let line = Line(accessory)
      lines[accessory.path] = line
      line.timer = loop.makeTimer { [unowned self, unowned line] in dial(line) }
      dial(line)
    case .changed(let accessory, _):
      guard let line = lines[accessory.path] else { return }
      line.accessory = accessory
      dial(line)
    case .left(let accessory):
      // A cable that is plugged in ends by itself.
      if let line = lines.removeValue(forKey: accessory.path) { forget(line) }
      if accessory.isMeant(by: selector) { trouble = nil }
    }
  }

  private func forget(_ line: Line) {
    line.timer?.cancel()
    if case .opening(let opening) = line.state {
      opening.cancel()
      line.state = .idle
    }
  }

  // MARK: One accessory

  private func dial(_ line: Line) {
    guard !isStopped, case .idle = line.state else { return }
    if takesOne, let pinned, pinned != line.accessory.port { return }
    if case .failure(let reason) = line.accessory.interface { return note(line, reason) }
    line.state = .opening(
      USBOpening(line.accessory, on: loop) { [unowned self, unowned line] result in
        line.state = .idle
        switch result {
        case .success(let cable): plugIn(cable, line)
        case .failure(let error):
          note(line, error)
          if error.mayPass { dialLater(line) }
        }
      })
  }

  private func plugIn(_ cable: USBCable, _ line: Line) {
    trouble = nil
    line.said = nil
    line.state = .pluggedIn
    pinned = line.accessory.port
    let place = "\(line.accessory.address)"
    if cable.staleCount > 0 {
      device.tell(.note("\(cable.staleCount) bytes of an earlier session were thrown away at \(place)"), nil)
    }
    device.plugIn(wrap(cable.cable), at: place) { [weak self, weak line] end in
      guard let self, let line else { return }
      line.state = .idle
      if !end.linkWasUp { trouble = "\(place) is no accessory that speaks iAP2: \(end.reason)" }
      dialLater(line)
    }
  }

  private func dialLater(_ line: Line) {
    guard !isStopped, lines[line.accessory.path] === line else { return }
    line.timer?.arm(at: loop.now + Self.period)
  }

  /// Says a reason once.
  private func note(_ line: Line, _ error: USBHostError) {
    trouble = "\(line.accessory.address): \(error)"
    guard line.said != error, error != .gone, let trouble else { return }
    line.said = error
    let subject = TimelineEvent.Subject(
      name: line.accessory.title, serial: line.accessory.serial ?? "", protocols: [])
    device.tell(.warning(trouble), subject)
  }
}
