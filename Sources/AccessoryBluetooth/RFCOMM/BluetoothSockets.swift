import AccessoryCore
import CLinux
import Glibc
import LinuxIO

/// Where Bluetooth connections come from: the kernel, or a test.
public protocol BluetoothSockets: Sendable {
  /// Begins to connect, and returns a descriptor that becomes writable when it has succeeded or failed.
  ///
  /// - Parameter local: the address of the adapter to use.
  func connect(
    _ service: BluetoothSocketKind, from local: BluetoothDeviceAddress, to remote: BluetoothDeviceAddress
  ) throws(SystemError) -> Int32

  /// Whether an RFCOMM channel of this machine is free to listen on.
  func isFree(channel: UInt8) -> Bool
}

/// What a Bluetooth socket is connected to.
public enum BluetoothSocketKind: Equatable, Sendable {
  /// The device's SDP server: L2CAP, PSM 1, packets.
  case serviceDiscovery
  /// A channel of RFCOMM: a stream.
  case rfcomm(channel: UInt8)
}

/// The Bluetooth sockets of Linux. Connecting needs no privilege.
public struct KernelSockets: BluetoothSockets {
  /// The kernel's sockets.
  public init() {}

  /// Begins to connect. The connection is encrypted, so the devices must be paired.
  public func connect(
    _ service: BluetoothSocketKind, from local: BluetoothDeviceAddress, to remote: BluetoothDeviceAddress
  ) throws(SystemError) -> Int32 {
    let channel: Int32 =
      switch service {
      case .serviceDiscovery: 0
      case .rfcomm(let channel): Int32(channel)
      }
    let descriptor = clinux_bluetooth_connect(channel, local.lowestFirst, remote.lowestFirst)
    if descriptor < 0 { throw SystemError("connect to \(remote)", code: errno) }
    return descriptor
  }

  /// Tries to listen there.
  public func isFree(channel: UInt8) -> Bool { clinux_bluetooth_is_free(Int32(channel)) != 0 }
}
