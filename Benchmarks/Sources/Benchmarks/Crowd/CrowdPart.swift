import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySimulator
import BenchmarkFloors
import Certificates
import Glibc
import LinuxIO

/// The roles of the processes in the figures about many accessories.
enum CrowdPart: String {
  case ours = "crowd"
  case floor = "crowd-floor"

  /// The number of round trips on each of the baseline's pairs of sockets. It equals the number of round trips for
  /// detection, synchronization, authentication and identification.
  static let rounds = 7
  /// How many accessories connect at a time, because a listener's backlog is limited.
  static let batch = 32
  /// The number of descriptors for everything except cables.
  static let spareDescriptors = 64

  func play(_ words: [String]) throws {
    guard let wanted = words.first.flatMap({ Int($0) }) else {
      throw MeasuringError.failed("a crowd's part needs a number of accessories")
    }
    // The number of accessories, reduced if the system does not allow two descriptors for each.
    let count = min(wanted, (DescriptorLimit.current - Self.spareDescriptors) / 2)
    switch self {
    case .ours:
      let crowd = try Crowd(at: "/tmp/easim-bench-\(getpid()).sock")
      try crowd.play(count, idleSeconds: words.dropFirst().first.flatMap { Int($0) } ?? 0).tell()
    case .floor:
      var nanoseconds: Int64 = 0
      let code = floor_crowd("/tmp/easim-bench-\(getpid()).sock", count, Self.batch, Self.rounds, &nanoseconds)
      if code != 0 { throw MeasuringError.system("play the floor's crowd", code: code) }
      try OtherProcess.tell("\(Double(nanoseconds) / 1_000)")
    }
  }
}

/// Simulated accessories and a device on one loop.
///
/// All accessories listen at one path. Separate listening sockets would need half as many descriptors again.
private final class Crowd: AppHandler {
  private let path: String
  private let loop: EpollLoop
  private let device: Device
  private let profile: Profile
  private let authenticator = StubAuthenticator(seed: 1)
  private var app: AppView?
  private var ports: [SharedPort] = []
  private var accessories: [SimulatedAccessory] = []
  private var published = 0
  private var failure: String?

  init(at path: String) throws {
    self.path = path
    loop = try EpollLoop(seed: 1)
    device = Device(settings: DeviceSettings(authenticator: StubAuthenticator(seed: 1)), on: loop) { _ in }
    profile = try ProfileLibrary().profile("lawk-view")
  }

  func play(_ count: Int, idleSeconds: Int) throws -> CrowdResult {
    var settings = AppSettings()
    settings.rules.visibility = .all
    app = device.makeApp(self, settings: settings)
    let listener = try Transports.listen(at: .unix(path: path), on: loop) { [unowned self] event in
      guard case .accepted(let cable, let peer) = event else { return }
      ports.removeFirst().take(cable, from: peer)
    }
    defer { listener.close() }
    var result = CrowdResult()
    result.count = count
    let before = try ProcessFacts().residentBytes
    result.attaching = try Stopwatch.busyTime { try attach(count) } * 1e6
    // Waits for the last acknowledgements.
    loop.run(limit: .milliseconds(300))
    let after = try ProcessFacts()
    result.megabytes = Double(after.residentBytes) / 1e6
    result.kilobytesEach = Double(after.residentBytes - before) / Double(count) / 1e3
    if idleSeconds > 0 {
      let turns = loop.turns
      loop.run(limit: .seconds(idleSeconds))
      // One turn and one sleep are subtracted, because the measurement itself causes them when the run ends at its
      // limit.
      result.wakeUps = max(loop.turns - turns - 1, try ProcessFacts().wakeUps - after.wakeUps - 1)
    }
    device.unplugAll()
    return result
  }

  private func attach(_ count: Int) throws {
    while published < count {
      let goal = min(published + CrowdPart.batch, count)
      for _ in published..<goal {
        let port = SharedPort(path)
        let accessory = SimulatedAccessory(profile, at: port, authenticator: authenticator, on: loop) { _ in }
        try accessory.plugIn()
        ports.append(port)
        accessories.append(accessory)
        Transports.connect(to: .unix(path: path), on: loop) { [unowned self] answer in
          switch answer {
          case .success((let cable, _)): device.plugIn(cable, at: path)
          case .failure(let error): failure = error.description
          }
        }
      }
      let reached = loop.run(until: { published == goal || failure != nil }, limit: .seconds(60))
      if let failure { throw MeasuringError.failed(failure) }
      guard reached else { throw MeasuringError.failed("the accessories were not published within a minute") }
    }
  }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) { published += 1 }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if failure == nil { failure = "an accessory went away" }
  }
}

/// An accessory's port at a path where several accessories listen.
private final class SharedPort: Port {
  let place: String
  private var onEvent: ((PortEvent) -> Void)?

  init(_ path: String) {
    place = "unix:\(path)"
  }

  func open(_ onEvent: @escaping (PortEvent) -> Void) { self.onEvent = onEvent }
  func close() { onEvent = nil }
  func take(_ cable: Cable, from peer: PeerDescription) { onEvent?(.cable(cable, from: peer.description)) }
}

/// The results of a process with many accessories.
struct CrowdResult {
  /// The number of attached accessories.
  var count = 0
  /// The total processor time until all accessories were published, in microseconds.
  var attaching = 0.0
  /// The process's total memory in megabytes.
  var megabytes = 0.0
  /// The memory that each accessory added, in kilobytes.
  var kilobytesEach = 0.0
  var wakeUps = 0

  init() {}

  /// Reports the result to the process that started this one.
  func tell() throws(MeasuringError) {
    try OtherProcess.tell("\(count) \(attaching) \(megabytes) \(kilobytesEach) \(wakeUps)")
  }

  /// Waits for another process's result.
  init(from other: OtherProcess) throws(MeasuringError) {
    let words = try other.onEvent().split(separator: " ").compactMap { Double($0) }
    guard words.count == 5 else { throw .failed("the process with the accessories ended without a result") }
    (count, attaching, megabytes, kilobytesEach, wakeUps) = (Int(words[0]), words[1], words[2], words[3], Int(words[4]))
  }
}
