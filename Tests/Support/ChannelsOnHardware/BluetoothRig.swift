import AccessoryBluetooth
import AccessoryCore
import ChannelSuite
import LinuxIO

/// RFCOMM between two paired adapters on this machine. The left end is the host on hci0, and the right end is the
/// accessory on hci1.
final class BluetoothRig {
  /// The time limit is generous, because an emulated processor that is shared with other guests is slow.
  static let hangLimit = Duration.seconds(60)

  private let loop: EpollLoop
  private let host: BluetoothHost
  private let accessory: BluetoothAccessory
  private var attempt: (any Connecting)?
  private var right: DescriptorChannel?

  /// The factory for the channel suite. RFCOMM has no cable that could be cut.
  static let channels = ChannelFactory("RFCOMM", traits: ChannelFactory.Traits.all.subtracting(.canBeCut)) {
    try BluetoothRig().connect()
  }

  static let deaths = DeathFactory("RFCOMM", deaths: [.close]) {
    let bluetooth = try BluetoothRig()
    let loop = bluetooth.loop
    let rig = try bluetooth.connect()
    return DeathRig(
      channel: rig.left, other: ChannelledEnd(rig.right, cut: nil), run: rig.run,
      turns: {
        let before = loop.turns
        _ = loop.run(until: { false }, limit: .milliseconds(50))
        return loop.turns - before
      }, tearDown: rig.dispose)
  }

  private init() throws {
    loop = try EpollLoop()
    // In practice, the two roles are separate processes, so here each has its own connection to the bus.
    host = BluetoothHost(BlueZ(on: loop))
    accessory = BluetoothAccessory(.init(adapter: "hci1"), name: "the channel suite", by: BlueZ(on: loop))
  }

  private func connect() throws -> ChannelRig {
    host.start()
    var trouble: BluetoothError?
    accessory.plugIn { [unowned self] event in
      switch event {
      case .connected(let channel, _): right = channel
      case .ended(let error): trouble = error
      case .warning: break
      }
    }
    var left: DescriptorChannel?
    var isTrying = false
    let came = loop.run(
      until: {
        if left == nil, !isTrying, let device = host.blueZ.devices.first(where: { $0.adapter == "hci0" && $0.isPaired })
        {
          isTrying = true
          // The accessory's service cannot be found before it has been registered.
          attempt = host.connect(to: device) { result in
            isTrying = false
            switch result {
            case .success(let channel): left = channel
            case .failure(let error): trouble = error
            }
          }
        }
        return left != nil && right != nil
      }, limit: Self.hangLimit)
    guard came, let left, let right else {
      throw RigError("no connection: \(trouble.map { "\($0)" } ?? "no reason"); devices \(host.blueZ.devices)")
    }
    return ChannelRig(
      left: left, right: right, run: { [loop] in loop.run(until: $0, limit: Self.hangLimit) },
      tearDown: { [self] in accessory.stop() })
  }
}
