import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import ChannelSuite
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct ChannelTests {
  @Test(arguments: ChannelSuite.cases(for: ChannelFactories.all))
  func behavesAsEveryChannel(example: ChannelSuite.Case) throws {
    try example.run()
  }
}

enum ChannelFactories {
  static let all =
    [loopback, slowLoopback, loopbackOfTransfers, realTimeLoopback, unix, tcp, pty, severable] + faulty

  static let loopback = virtual("loopback") { LoopbackChannel.makePair(on: $0) }

  static let slowLoopback = virtual("slow loopback") {
    LoopbackChannel.makePair(on: $0, latency: .milliseconds(3), bytesPerSecond: 1_000_000, capacity: 20_000)
  }

  static let loopbackOfTransfers = virtual("loopback of transfers") {
    LoopbackChannel.makePair(on: $0, latency: .microseconds(125), keepsTransfersApart: true)
  }

  static let realTimeLoopback = ChannelFactory("loopback in real time", traits: .all) {
    let loop = try EpollLoop()
    let cable = LoopbackChannel.makePair(on: loop, capacity: 100_000)
    return ChannelRig(
      left: cable.left, right: cable.right, cut: { cable.cut() }, run: { loop.run(until: $0, limit: hangLimit) })
  }

  /// A socket has no cable that a test could cut.
  private static let sockets = ChannelFactory.Traits.all.subtracting(.canBeCut)

  static let unix = ChannelFactory("unix socket", traits: sockets) {
    let directory = TemporaryFolder()
    return try connected(at: .unix(path: directory.path + "/channel.sock"), keeping: directory)
  }

  static let tcp = ChannelFactory("TCP", traits: sockets) {
    try connected(at: .tcp(host: "127.0.0.1", port: 0))
  }

  /// The left end belongs to the host. When the simulator closes the right end, the terminal hangs up, and the kernel
  /// may then discard bytes that the simulator sent but the host has not read.
  static let pty = ChannelFactory("pty", traits: sockets.subtracting(.rightCloseDelivers)) {
    let directory = TemporaryFolder()
    return try connected(at: .pty(path: directory.path + "/line"), keeping: directory)
  }

  static let severable = virtual(
    "severable", { LoopbackChannel.makePair(on: $0, capacity: 50_000) }
  ) { channel, loop, _ in SeverableChannel(around: channel, on: loop) }

  /// Faults that keep all bytes in order must also preserve all of a channel's guarantees.
  static let faulty = [
    faulty("idle faults", "loss,chance=0%", "latency,delay=0ms", "half-dead,after=10h"),
    faulty("a long narrow way", "latency,delay=3ms,jitter=2ms", "rate,bytes=5000000", "split,size=900"),
    faulty("odd boundaries", "glue,size=3000,wait=1ms", "split,size=1000", "reorder,chance=1%", capacity: 9_000),
    faulty("a stall and a slow reader", "stall,after=1ms,for=20ms,capacity=9000", "slow-reader,bytes=4096,every=1ms"),
    faulty("writes that collapse", "collapse,above=2048,rate=3000000", "stale,bytes=1,after=10h"),
  ]

  private static func faulty(_ name: String, _ texts: String..., capacity: Int = 50_000) -> ChannelFactory {
    virtual(name, { LoopbackChannel.makePair(on: $0, capacity: capacity) }) { channel, loop, seed in
      FaultChannel(
        around: channel, try texts.map { try Fault($0) }, random: SeededRandom(seed: seed), on: loop)
    }
  }

  private typealias Wrap = @Sendable (LoopbackChannel, VirtualLoop, _ seed: UInt64) throws -> any Channel

  private static func virtual(
    _ name: String, _ make: @escaping @Sendable (VirtualLoop) -> LoopbackCable, wrap: Wrap? = nil
  ) -> ChannelFactory {
    ChannelFactory(name, traits: .all) {
      let loop = VirtualLoop()
      let cable = make(loop)
      return ChannelRig(
        left: try wrap?(cable.left, loop, 1) ?? cable.left, right: try wrap?(cable.right, loop, 2) ?? cable.right,
        cut: { cable.cut() },
        run: { (try? loop.run(until: $0, limit: .seconds(3600))) ?? false })
    }
  }

  /// Uses the public API to open two connected channels. The right channel listens, and the left channel connects.
  static func connected(at address: Address, keeping: AnyObject? = nil) throws -> ChannelRig {
    let loop = try EpollLoop()
    var accepted: (any Channel)?
    var made: Result<(cable: Cable, peer: PeerDescription), TransportError>?
    let listener = try Transports.listen(at: address, on: loop) {
      if case .accepted(let cable, _) = $0 { accepted = cable.main }
    }
    Transports.connect(to: listener.address, on: loop) { made = $0 }
    #expect(loop.run(until: { accepted != nil && made != nil }, limit: hangLimit))
    let left = try #require(try made?.get().cable.main)
    let right = try #require(accepted)
    return ChannelRig(
      left: left, right: right, run: { loop.run(until: $0, limit: hangLimit) },
      tearDown: {
        listener.close()
        withExtendedLifetime(keeping) {}
      })
  }
}
