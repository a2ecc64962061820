import IAP2

/// The exchange that ``RedactionTests`` uses, as other programs would record it on USB and Bluetooth.
extension RedactionTests {
  /// Returns a capture of a USB bus. The capture contains the accessory's transfers, a keyboard, and the descriptors
  /// that identify the accessory.
  static func usbFrames(_ exchange: Exchange) -> [[UInt8]] {
    var frames = [
      Fixture.usb("C", endpoint: 0x81, device: 9, secret(9)),
      Fixture.usb("C", endpoint: 0x80, device: 5, secret(0).flatMap { [$0, 0] } + secret(0)),
    ]
    for packet in exchange.packets {
      let isReceived = packet.end == .accessory
      for start in stride(from: 0, to: packet.bytes.count, by: 37) {
        let part = Array(packet.bytes[start..<min(start + 37, packet.bytes.count)])
        frames.append(
          Fixture.usb(isReceived ? "C" : "S", endpoint: isReceived ? 0x81 : 0x02, device: 5, part))
        frames.append(Fixture.usb("C", endpoint: 0x81, device: 9, [0, 0, 4]))
      }
    }
    return frames
  }

  enum HCI {
    case command
    case receivedEvent
    case sent
    case received
  }

  struct HCIFrame {
    let kind: HCI
    let bytes: [UInt8]

    var h4: [UInt8] { [kind == .command ? 1 : kind == .receivedEvent ? 4 : 2] + bytes }
  }

  /// Returns the frames of a Bluetooth controller. The frames contain names, addresses, keys, data from another
  /// service, and fragmented iAP2 packets, one of which is truncated.
  static func bluetoothFrames(_ exchange: Exchange) -> [HCIFrame] {
    func event(_ code: UInt8, _ parameters: [UInt8]) -> HCIFrame {
      HCIFrame(kind: .receivedEvent, bytes: [code, UInt8(parameters.count)] + parameters)
    }
    func data(_ isReceived: Bool, _ channel: Int, _ payload: [UInt8]) -> [HCIFrame] {
      Fixture.acl(0x2A, isReceived: isReceived, size: 27, Fixture.l2cap(channel, payload)).map {
        HCIFrame(kind: isReceived ? .received : .sent, bytes: $0)
      }
    }
    let address = Array(secret(4).reversed())
    let name = secret(3) + [UInt8](repeating: 0, count: 240 - secret(3).count)
    var frames = [
      HCIFrame(kind: .command, bytes: [0x05, 0x04, 13] + address + [0x18, 0xCC, 1, 0, 0, 0, 1]),
      event(0x03, [0, 0x2A, 0] + address + [1, 0]), event(0x07, [0] + address + name),
      event(0x18, address + Array("link key of Anna".utf8) + [4]), event(0x2F, [1] + address + secret(2)),
    ]
    frames += data(true, 0x50, secret(9)) + data(false, 0x40, Fixture.rfcomm(link: 20, secret(10)))
    for packet in exchange.packets {
      let isReceived = packet.end == .accessory
      frames += data(isReceived, isReceived ? 0x40 : 0x41, Fixture.rfcomm(link: 6, credits: 3, packet.bytes))
    }
    return frames + data(true, 0x40, Fixture.rfcomm(link: 6, secret(6))).prefix(2)
  }
}
