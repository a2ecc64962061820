import AccessoryCore
import CLinux
import Glibc
import LinuxIO

/// Makes Bluetooth connections. Tests use a substitute for the kernel.
package protocol BluetoothSockets: Sendable {
  /// Starts to connect. Returns a descriptor that becomes writable when the attempt succeeds or fails.
  ///
  /// - Parameters:
  ///   - channel: an RFCOMM channel, which carries a stream of bytes, or nil for the device's SDP server, on PSM 1 of
  ///     L2CAP, which exchanges packets.
  ///   - local: the address of the local adapter.
  func connect(
    _ channel: UInt8?, from local: BluetoothDeviceAddress, to remote: BluetoothDeviceAddress
  ) throws(SystemError) -> Int32

  /// Returns true if this machine can listen on an RFCOMM channel.
  func isFree(channel: UInt8) -> Bool
}

/// Linux's Bluetooth sockets. Connecting needs no privileges.
package struct KernelSockets: BluetoothSockets {
  package init() {}

  /// Begins connecting. The connection must be encrypted, so the devices have to be paired.
  package func connect(
    _ channel: UInt8?, from local: BluetoothDeviceAddress, to remote: BluetoothDeviceAddress
  ) throws(SystemError) -> Int32 {
    let descriptor = clinux_bluetooth_connect(Int32(channel ?? 0), local.lowestFirst, remote.lowestFirst)
    if descriptor < 0 { throw SystemError("connect to \(remote)", code: errno) }
    return descriptor
  }

  /// Tries to listen on the channel.
  package func isFree(channel: UInt8) -> Bool { clinux_bluetooth_is_free(Int32(channel)) != 0 }
}

extension DescriptorChannel {
  /// The maximum length of an iAP2 packet, chosen so that a packet fits into one RFCOMM frame on most connections. The
  /// two sides agree on a frame length, which Linux does not report. Linux offers frames of 1,008 bytes, and Android
  /// offers 990. If the sides agree on a shorter length, a packet takes two frames.
  ///
  /// Packets of 667 bytes would fit into L2CAP's default size on every connection. With such small packets, 10,000
  /// bytes would need 16 frames rather than 11, and an echo would take 8 % longer (`docs/dev/performance.md`).
  package static let bluetoothFrame = 990

  /// Creates a channel over an RFCOMM connection. Returns nil if the descriptor has already been taken.
  convenience init?(_ descriptor: BusDescriptor, on loop: any PollingLoop) {
    let number = descriptor.take()
    guard number >= 0 else { return nil }
    let flags = fcntl(number, F_GETFL)
    if flags >= 0 { _ = fcntl(number, F_SETFL, flags | O_NONBLOCK) }
    self.init(taking: number, as: .frames(longest: Self.bluetoothFrame), on: loop)
  }
}
