import AccessoryCore
import AccessoryFormats
import IAP2

/// A few steps, generated from a seed, that no Apple device would take after a normal start.
struct Attack: Equatable {
  enum Step: Equatable {
    case bytes([UInt8])
    /// A packet with valid checksums.
    case packet(control: UInt8, sequence: Int, acknowledgement: Int, session: UInt8, payload: [UInt8])
    case message(id: UInt16, body: [UInt8])
    /// External Accessory session data, sent in a packet with the next sequence number.
    case data(session: UInt16, bytes: [UInt8])
    /// A file transfer packet with the next sequence number, for links with a file transfer session.
    case file([UInt8])
    /// The same bytes, sent `times` times.
    case flood([UInt8], times: Int)
    /// Silence for this many milliseconds.
    case silence(Int)
  }

  var start: CheckStep
  var steps: [Step]

  init(start: CheckStep, steps: [Step]) { (self.start, self.steps) = (start, steps) }

  init(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    start = CheckStep.allCases.randomElement(using: &random) ?? .attached
    steps = (0..<Int.random(in: 1...6, using: &random)).map { _ in Step(&random) }
  }
}

extension Attack.Step {
  fileprivate init(_ random: inout SeededRandom) {
    func bytes(_ most: Int) -> [UInt8] {
      (0..<Int.random(in: 0...most, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    func byte() -> UInt8 { UInt8.random(in: 0...255, using: &random) }
    func word() -> UInt16 { UInt16.random(in: 0...0xFFFF, using: &random) }
    let ids: [UInt16] = [
      0xAA00, 0xAA02, 0xAA04, 0xAA05, 0x1D00, 0x1D02, 0x1D03, 0xEA00, 0xEA01, 0xEA03, 0xAA01, 0x1D01, 0x4E09, 0xAE01,
      0xFFFA, 0x5702, 0xFFFC, 0xA100, 0x5001, 0x5701, 0x6801, 0x4E04, 0x00B0, 0x00B2, 0xDA01,
    ]
    switch Int.random(in: 0..<10, using: &random) {
    case 0: self = .bytes(bytes(300))
    case 1:
      // A header whose payload never arrives.
      var header: [UInt8] = [
        0xFF, 0x5A, byte(), byte(), [0x40, 0x80, 0xC0, byte()].randomElement(using: &random) ?? 0,
      ]
      header += [byte(), byte(), byte() % 4]
      header.append(0 &- header.reduce(0, &+))
      self = .bytes(header + bytes(40))
    case 2, 3:
      self = .packet(
        control: [0x40, 0x80, 0xC0, 0x60, 0x20, 0x10, 0x08, byte()].randomElement(using: &random) ?? 0x40,
        sequence: Int.random(in: -130...130, using: &random),
        acknowledgement: Int.random(in: -130...130, using: &random),
        session: byte() % 5, payload: bytes(60))
    case 4: self = .message(id: ids.randomElement(using: &random) ?? word(), body: bytes(40))
    case 5:
      // Parameters with wrong lengths.
      var body: [UInt8] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let value = bytes(12)
        let length = UInt16([value.count + 4, Int(word()), 0, 3].randomElement(using: &random) ?? 4)
        body += [UInt8(length >> 8), UInt8(length & 0xFF), 0, byte() % 20] + value
      }
      self = .message(id: ids.randomElement(using: &random) ?? word(), body: body)
    case 6: self = .data(session: [0, 1, 2, word()].randomElement(using: &random) ?? 1, bytes: bytes(200))
    case 7:
      let piece = [PacketWriter.detection, [0xFF], [0xFF, 0x5A], [0x00], [0xFF, 0x55, 0x02]].randomElement(
        using: &random)
      self = .flood(piece ?? [0xFF], times: Int.random(in: 2...400, using: &random))
    case 8:
      let operation = [0x04, 0x04, 0x80, 0x00, 0x40, 0xC0, 0x01, 0x02, 0x03, 0x05, byte()].randomElement(using: &random)
      // Because there are few numbers and sizes to choose from, several packets are likely to refer to the same file.
      let size: [UInt8] = operation == 0x04 ? [0, 0, 0, 0, 0, 0, byte() % 2, byte() % 32] : []
      self = .file([0x80 + byte() % 2, operation ?? 0x04] + size + bytes(40))
    default: self = .silence(Int.random(in: 1...1_500, using: &random))
    }
  }

  var text: String {
    switch self {
    case .bytes(let bytes): "\(bytes.count) bytes: \(Hex.excerpt(bytes, limit: 24))"
    case .packet(let control, let sequence, let acknowledgement, let session, let payload):
      "a packet with control byte \(Hex.number(control)), its sequence number \(sequence) and its acknowledgement "
        + "\(acknowledgement) off from the correct one, session \(session), \(payload.count) bytes"
    case .message(let id, let body): "message \(MessageID(rawValue: id)) with \(Hex.excerpt(body, limit: 24))"
    case .data(let session, let bytes): "\(bytes.count) bytes for session \(session)"
    case .file(let bytes): "a packet of a file transfer: \(Hex.excerpt(bytes, limit: 24))"
    case .flood(let bytes, let times): "\(times) times \(Hex.spaced(bytes))"
    case .silence(let milliseconds): "\(milliseconds) ms of silence"
    }
  }

  /// Simpler steps that may have the same effect.
  var simpler: [Attack.Step] {
    func halves(_ bytes: [UInt8]) -> [[UInt8]] {
      guard !bytes.isEmpty else { return [] }
      var out: [[UInt8]] = [[]]
      var size = bytes.count / 2
      while size > 0 {
        var start = 0
        while start < bytes.count {
          out.append(Array(bytes[..<start] + bytes[min(start + size, bytes.count)...]))
          start += size
        }
        size /= 2
        if out.count > 60 { break }
      }
      if bytes.contains(where: { $0 != 0 }) { out.append([UInt8](repeating: 0, count: bytes.count)) }
      return out
    }
    switch self {
    case .bytes(let bytes): return halves(bytes).filter { !$0.isEmpty }.map(Self.bytes)
    case .packet(let control, let sequence, let acknowledgement, let session, let payload):
      var out = halves(payload).map {
        Self.packet(
          control: control, sequence: sequence, acknowledgement: acknowledgement, session: session, payload: $0)
      }
      if acknowledgement != 0 {
        out.append(
          .packet(control: control, sequence: sequence, acknowledgement: 0, session: session, payload: payload))
      }
      if sequence != 1 {
        out.append(
          .packet(control: control, sequence: 1, acknowledgement: acknowledgement, session: session, payload: payload))
      }
      return out
    case .message(let id, let body): return halves(body).map { .message(id: id, body: $0) }
    case .data(let session, let bytes): return halves(bytes).map { .data(session: session, bytes: $0) }
    case .file(let bytes): return halves(bytes).map(Self.file)
    case .flood(let bytes, let times): return times > 1 ? [.flood(bytes, times: times / 2), .bytes(bytes)] : []
    case .silence(let time): return time > 1 ? [.silence(time / 2)] : []
    }
  }
}
