import AccessoryCore
import IAP2

extension CheckCase {
  static let data: [CheckCase] = [
    CheckCase(
      801, "data-sizes", "Packets of awkward sizes (one byte, or close to a power of two) arrive complete.",
      [.inferred], fix: "Check buffers whose size is a power of two, and transfers that need a short packet."
    ) { run in
      let session = try run.echoSession()
      let limit = min(run.largestPiece(session.device), 4_100)
      var sizes = [1, 2, 3]
      for power in 3...12 { sizes += [1 << power - 1, 1 << power, 1 << power + 1] }
      // The packet header and the checksums add 12 bytes, so the USB transfers are exactly 64, 512 and 1,024 bytes
      // long.
      sizes += [64 - 12, 512 - 12, 1_024 - 12]
      for size in sizes where size <= limit {
        try run.exchange(CheckBytes.mixed(size, seed: UInt64(size)), on: session, size: size)
      }
    },
    CheckCase(
      802, "data-largest", "The largest packet that the accessory's SYN allows arrives complete.", [.agreed],
      fix: "Accept packets as long as the SYN allows, or allow less."
    ) { run in
      let session = try run.echoSession()
      let size = run.largestPiece(session.device)
      try run.exchange(CheckBytes.mixed(size), on: session, size: size)
    },
    CheckCase(
      803, "data-ten-thousand", "The 10,000 bytes that EADemo sends arrive complete.", [.seenOnce],
      fix: "Find the first byte that differs: the bytes sent count from 0 to 255."
    ) { run in
      let session = try run.echoSession()
      try run.exchange(CheckBytes.counting(10_000), on: session, size: min(run.largestPiece(session.device), 2_000))
    },
    CheckCase(
      804, "data-all-values", "Data that looks like packets, messages or text terminators arrives complete.", [.agreed],
      fix: "Rely only on the length in the header; do not search the payload."
    ) { run in
      let session = try run.echoSession()
      let bytes: [UInt8] =
        Array(0...255) + PacketWriter.detection + [0xFF, 0x5A, 0x00, 0x10, 0x40, 0x40, 0x40, 0x00, 0x06, 0x1D, 0x00]
        + [0, 0, 0, 0, 0x0D, 0x0A, 0x1A, 0x11, 0x13]
      try run.exchange(bytes, on: session, size: min(run.largestPiece(session.device), bytes.count))
    },
    CheckCase(
      805, "data-glued", "Several packets in one write arrive complete.", [.agreed],
      fix: "Read all packets in a transfer, not only the first."
    ) { run in
      let session = try run.echoSession()
      let device = session.device
      let count = min(8, Int(device.offer?.maximumOutstandingPackets ?? 1))
      let piece = min(40, run.largestPiece(device))
      let bytes = CheckBytes.mixed(piece * count)
      let mark = device.record.count
      for start in stride(from: 0, to: bytes.count, by: piece) {
        try session.send(Array(bytes[start..<start + piece]), .held)
      }
      device.releaseGlued()
      try run.expect(bytes, on: session, after: 0, mark: mark)
      try run.expectNoRepetition(device, after: mark, "In one write")
    },
    CheckCase(
      806, "data-split", "A packet split into many small writes arrives complete.", [.agreed],
      fix: "Treat the line as a byte stream: collect bytes until the packet is complete."
    ) { run in
      let session = try run.echoSession()
      let bytes = CheckBytes.mixed(min(200, run.largestPiece(session.device)))
      let mark = session.device.record.count
      try run.exchange(bytes, on: session, size: bytes.count) { _ in
        .cut(Array(stride(from: 3, to: bytes.count + 12, by: 7)))
      }
      try run.expectNoRepetition(session.device, after: mark, "In small writes")
    },
    CheckCase(
      807, "data-window", "The accessory accepts as many back-to-back packets as its SYN allows.", [.agreed],
      fix: "Buffer as many maximum-length packets as the SYN allows, or allow fewer."
    ) { run in
      let session = try run.echoSession()
      let device = session.device
      let count = Int(device.offer?.maximumOutstandingPackets ?? 1)
      let piece = min(100, run.largestPiece(device))
      try run.exchange(CheckBytes.mixed(count * piece), on: session, size: piece)
    },
    CheckCase(
      808, "data-wrap", "Sequence numbers wrap from FF to 00 in both directions.", [.agreed],
      fix: "Count and compare sequence numbers modulo 256."
    ) { run in
      let session = try run.echoSession()
      // The device sends one packet at a time, so that the accessory sends as many packets as the device does.
      for number in 0..<300 {
        try run.exchange([UInt8(truncatingIfNeeded: number), UInt8(number / 256)], on: session, size: 2)
      }
    },
    CheckCase(
      809, "data-loss", "Data arrives complete even if every fifth packet is lost once.", [.agreed],
      fix: "Deliver each packet once, in numerical order."
    ) { run in
      let session = try run.echoSession()
      let device = session.device
      if device.isZeroAcknowledgement { throw CheckSkip(CheckRun.zeroAcknowledgement) }
      var lost: Set<UInt8> = []
      device.configuration.loses = { packet in
        guard packet.isData, let number = packet.header?.sequence, number % 5 == 0 else { return false }
        return lost.insert(number).inserted
      }
      let bytes = CheckBytes.mixed(1_500)
      let window = max(1, Int(device.offer?.maximumOutstandingPackets ?? 1))
      let piece = max(bytes.count / min(15, window), 50)
      try run.exchange(bytes, on: session, size: min(piece, run.largestPiece(device))) { $0 % 5 == 3 ? .lost : .whole }
    },
  ]
}
