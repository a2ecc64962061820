import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import ChannelSuite
import Glibc
import LinuxIO
import TestSupport
import Testing

/// Checks that a channel detects its peer's death, however the peer dies and whatever state the channel is in. Covers
/// channels on real descriptors, in memory, and wrapped in faults.
@Suite(.waits) struct DeathTests {
  @Test(arguments: DeathSuite.cases(for: DeathFactories.all))
  func everyDeathIsNoticed(example: DeathSuite.Case) throws {
    try example.run()
  }
}

enum DeathFactories {
  static let all = sockets + [pty, serial] + aroundSockets + inMemory

  static let sockets = [
    socket("unix socket", .unix), socket("TCP", .tcp),
  ]

  /// Socket channels wrapped in faults that do nothing or that hold bytes back.
  static let aroundSockets = [
    socket("faults on a unix socket", .unix) {
      try faults("latency,delay=1ms", "glue,size=600,wait=1ms", around: $0, on: $1)
    },
    socket("faults on TCP", .tcp) {
      try faults("split,size=90", "slow-reader,bytes=2048,every=1ms", around: $0, on: $1)
    },
    socket("severable TCP", .tcp) { SeverableChannel(around: $0, on: $1) },
    DeathFactory("faults on a pty", deaths: [.close, .kill]) {
      try accepted { try faults("latency,delay=1ms", around: $0, on: $1) }
    },
  ]

  static let pty = DeathFactory("pty", deaths: [.close, .kill]) { try accepted { channel, _ in channel } }

  static let serial = DeathFactory(
    "serial line", deaths: [.close, .kill], forgetsUnread: true, closing: .lost("the serial line hung up")
  ) {
    let loop = try EpollLoop()
    let (maker, path) = try openTerminal()
    var made: Result<(cable: Cable, peer: PeerDescription), TransportError>?
    Transports.connect(to: .serial(path: path, baud: nil), on: loop) { made = $0 }
    #expect(loop.run(until: { made != nil }, limit: hangLimit))
    return rig(try #require(try made?.get().cable.main), DescriptorEnd(maker), on: loop)
  }

  static let inMemory =
    ([
      ChannelFactories.loopback, ChannelFactories.slowLoopback, ChannelFactories.loopbackOfTransfers,
      ChannelFactories.severable,
    ] + ChannelFactories.faulty).map { factory in
      DeathFactory(factory.name, deaths: [.close, .cut]) {
        let rig = try factory.make()
        return DeathRig(
          channel: rig.left, other: ChannelledEnd(rig.right, cut: rig.cut), run: rig.run,
          turns: {
            _ = rig.run { false }
            return nil
          }, tearDown: rig.dispose)
      }
    }

  // MARK: Making them

  typealias Wrap = @Sendable (DescriptorChannel, EpollLoop) throws -> any Channel

  private static func socket(
    _ name: String, _ family: DescriptorEnd.Family, wrap: @escaping Wrap = { channel, _ in channel }
  ) -> DeathFactory {
    var deaths: [Death] = [.close, .kill, .halfClose]
    if family != .unix { deaths.append(.reset) }
    return DeathFactory(name, deaths: deaths) {
      let loop = try EpollLoop()
      let pair = try DescriptorEnd.pair(family)
      return rig(
        try wrap(DescriptorChannel(taking: pair.nonBlocking, as: .socket, on: loop), loop), pair.other, on: loop)
    }
  }

  private static func faults(_ texts: String..., around channel: any Channel, on loop: EpollLoop) throws -> any Channel
  {
    FaultChannel(around: channel, try texts.map { try Fault($0) }, random: SeededRandom(seed: 1), on: loop)
  }

  private static func accepted(_ wrap: Wrap) throws -> DeathRig {
    let loop = try EpollLoop()
    let folder = TemporaryFolder()
    var accepted: (any Channel)?
    let listener = try Transports.listen(at: .pty(path: folder.file("line")), on: loop) {
      if case .accepted(let cable, _) = $0 { accepted = cable.main }
    }
    let host = open(folder.file("line"), O_RDWR | O_NOCTTY | O_CLOEXEC)
    #expect(host >= 0)
    #expect(loop.run(until: { accepted != nil }, limit: hangLimit))
    let channel = try #require(accepted as? DescriptorChannel)
    return rig(try wrap(channel, loop), DescriptorEnd(host), on: loop) {
      listener.close()
      withExtendedLifetime(folder) {}
    }
  }

  private static func rig(
    _ channel: any Channel, _ other: any RemoteEnd, on loop: EpollLoop, tearDown: @escaping () -> Void = {}
  ) -> DeathRig {
    DeathRig(
      channel: channel, other: other, run: { loop.run(until: $0, limit: hangLimit) },
      turns: {
        let before = loop.turns
        _ = loop.run(until: { false }, limit: .milliseconds(2))
        return loop.turns - before
      }, tearDown: tearDown)
  }
}
