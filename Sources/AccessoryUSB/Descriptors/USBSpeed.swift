/// How fast a USB device is, as far as an accessory is concerned.
public enum USBSpeed: Equatable, Sendable {
  /// 12 Mbit/s, bulk packets of 64 bytes.
  case full
  /// 480 Mbit/s, bulk packets of 512 bytes.
  case high

  /// The largest bulk packet, which is also the size that every bulk endpoint of this speed declares here.
  public var bulkPacketSize: UInt16 { self == .full ? 64 : 512 }
}
