import AccessoryCore
import Glibc
import LinuxIO

/// The roles of the processes in the idle figures. The accessories are in one process and the devices in another. Unix
/// sockets connect the accessories with the devices, and all of them are ready and idle.
enum IdlePart: String {
  /// Listens at a path and gives each cable to an accessory. Ends when the parent closes its socket.
  case accessories = "idle-accessories"
  /// Connects, measures both processes, and reports the results to the parent.
  case devices = "idle-devices"

  /// The number of connections that are made before memory is first measured, so that code, the loop and initial growth
  /// do not count.
  private static let warmUp = 64
  /// How many accessories connect at a time, because a listener's backlog is limited.
  private static let batch = 32

  func play(_ words: [String]) throws {
    switch self {
    case .accessories: try Self.playAccessories(words)
    case .devices: try Self.playDevices(words)
    }
  }

  private static func playAccessories(_ words: [String]) throws {
    guard let path = words.first else { throw MeasuringError.failed("the accessories need a path to listen at") }
    let loop = try EpollLoop(seed: 1)
    var accessories: [EchoAccessory] = []
    let listener = try Transports.listen(at: .unix(path: path), on: loop) { event in
      guard case .accepted(let cable, _) = event else { return }
      let accessory = EchoAccessory(maximumPacket: 65_535, cable: cable, on: loop)
      accessories.append(accessory)
      accessory.start()
    }
    defer { listener.close() }
    // The other process waits for this message and not for the socket's file, because the file exists before the socket
    // listens.
    try OtherProcess.tell("ready")
    let parent = ParentWatch(on: loop)
    try parent.begin(OtherProcess.socket)
    loop.run(until: { parent.isGone })
  }

  private static func playDevices(_ words: [String]) throws {
    guard words.count == 2, let count = Int(words[0]), let seconds = Int(words[1]) else {
      throw MeasuringError.failed("the devices need a number of connections and of seconds")
    }
    let path = "/tmp/easim-bench-\(getpid()).sock"
    let accessories = try OtherProcess([IdlePart.accessories.rawValue, path])
    let loop = try EpollLoop(seed: 2)
    var devices: [EchoDevice] = []
    func connect(_ wanted: Int) throws {
      while devices.count < wanted {
        let goal = min(devices.count + batch, wanted)
        var refused: TransportError?
        for _ in devices.count..<goal {
          Transports.connect(to: .unix(path: path), on: loop) { answer in
            switch answer {
            case .success((let cable, _)):
              let device = EchoDevice(maximumPacket: 65_535, burst: 1, opensSession: false, cable: cable, on: loop)
              devices.append(device)
              device.start()
            case .failure(let error): refused = error
            }
          }
        }
        let reached = loop.run(
          until: { refused != nil || (devices.count == goal && devices.allSatisfy(\.isReady)) }, limit: .seconds(60))
        if let refused { throw MeasuringError.failed("\(refused)") }
        if let failure = devices.lazy.compactMap(\.failure).first { throw MeasuringError.failed(failure) }
        guard reached else { throw MeasuringError.failed("the accessories did not get ready within a minute") }
      }
      // Waits for the last acknowledgements, and for the last messages that make the accessories ready.
      loop.run(limit: .milliseconds(300))
    }
    guard try accessories.onEvent() == "ready" else { throw MeasuringError.failed("the accessories do not listen") }
    try connect(warmUp)
    let before = (try ProcessFacts(), try ProcessFacts(of: accessories.process))
    try connect(warmUp + count)
    let after = (try ProcessFacts(), try ProcessFacts(of: accessories.process))
    let turns = loop.turns
    if seconds > 0 { loop.run(limit: .seconds(seconds)) }
    // One turn is subtracted, because the measurement itself causes it when the run ends at its limit.
    let ownTurns = seconds > 0 ? loop.turns - turns - 1 : 0
    let others = try ProcessFacts(of: accessories.process).wakeUps - after.1.wakeUps
    let bytes = after.0.residentBytes - before.0.residentBytes + after.1.residentBytes - before.1.residentBytes
    try IdleResult(bytesPerConnection: Double(bytes) / Double(count), wakeUps: ownTurns + others).tell()
    devices.forEach { $0.close() }
    close(accessories.socket)
    try accessories.wait()
  }
}

/// Notices when the parent closes its end.
private final class ParentWatch: DescriptorHandler {
  private let loop: EpollLoop
  private var watch: (any DescriptorWatch)?
  private(set) var isGone = false

  init(on loop: EpollLoop) {
    self.loop = loop
  }

  func begin(_ socket: Int32) throws {
    watch = try loop.watch(socket, for: .readable, self)
  }

  func descriptorReady(_ readiness: Readiness) {
    watch?.cancel()
    isGone = true
  }
}

/// The results of the process with the devices.
struct IdleResult {
  var bytesPerConnection: Double
  var wakeUps: Int

  init(bytesPerConnection: Double, wakeUps: Int) {
    self.bytesPerConnection = bytesPerConnection
    self.wakeUps = wakeUps
  }

  /// Reports the result to the process that started this one.
  func tell() throws(MeasuringError) {
    try OtherProcess.tell("\(bytesPerConnection) \(wakeUps)")
  }

  /// Waits for another process's result.
  init(from other: OtherProcess) throws(MeasuringError) {
    let words = try other.onEvent().split(separator: " ")
    guard words.count == 2, let bytes = Double(words[0]), let wakeUps = Int(words[1]) else {
      throw .failed("the process with the devices ended without a result")
    }
    (bytesPerConnection, self.wakeUps) = (bytes, wakeUps)
  }
}
