import AccessoryCore
import AccessoryFormats
import IAP2

/// A few steps, generated from a seed, that no Apple device would take after a normal start.
struct Attack {
  enum Step {
    case bytes([UInt8])
    /// A packet with valid checksums.
    case packet(control: UInt8, sequence: Int, acknowledgement: Int, session: UInt8, payload: [UInt8])
    case message(id: UInt16, body: [UInt8])
    /// External Accessory session data, sent in a packet with the next sequence number.
    case data(session: UInt16, bytes: [UInt8])
    /// A file transfer packet with the next sequence number, for links with a file transfer session.
    case file([UInt8])
    case flood([UInt8], times: Int)
    /// Silence for this many milliseconds.
    case silence(Int)
  }

  var start: CheckStep
  var steps: [Step]

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
}

extension Checker {
  /// Attacks the accessory with invalid values, floods and garbage. All attacks are generated from a seed. After each
  /// attack, the device unplugs the cable, and the accessory must become ready on a new cable. If the accessory does
  /// not survive an attack, the attack is reduced to the steps that still cause the failure.
  ///
  /// - Parameters:
  ///   - seed: the seed of the first attack; the seed increases by one for each attack.
  ///   - most: the number of failures after which the run ends.
  ///   - onEvent: called after each attack with the number of attacks so far.
  package func attack(
    seed: UInt64, attacks: Int, most: Int, onEvent: (Int, Int) -> Void = { _, _ in }
  ) throws -> HostileReport {
    var report = HostileReport()
    // An accessory that does not become ready even without an attack cannot be tested.
    guard try survives(nil) == nil else { return report }
    do {
      for number in 0..<attacks where report.failures.count < most {
        let seed = seed &+ UInt64(number)
        let attack = Attack(seed: seed)
        report.attacks += 1
        if let reason = try survives(attack) {
          let shortest = try shrink(attack)
          report.failures.append(
            .init(
              seed: seed, text: reason, steps: ["begins \(shortest.start.text)"] + shortest.steps.map(\.text),
              bytes: lastAttackBytes))
          // If the accessory does not come back, the run ends, because only the user can restart the accessory.
          if try survives(nil) != nil { break }
        }
        onEvent(report.attacks, attacks)
      }
    } catch is CheckStopped {}
    run.unplugAll()
    return report
  }

  /// Returns the attack without the steps that are not needed for the failure. Repeats the attack in order to record its
  /// bytes.
  private func shrink(_ attack: Attack) throws -> Attack {
    var best = attack
    var index = 0
    while index < best.steps.count, best.steps.count > 1 {
      var fewer = best
      fewer.steps.remove(at: index)
      if try survives(nil) != nil { return best }
      if try survives(fewer) != nil { (best, index) = (fewer, 0) } else { index += 1 }
    }
    _ = try survives(best)
    return best
  }

  /// Makes an attack. Returns why the accessory does not become ready after the attack, or nil if it does.
  private func survives(_ attack: Attack?) throws -> String? {
    do {
      if let attack {
        do {
          let device = try run.device(at: attack.start)
          let mark = device.record.count
          for step in attack.steps where device.line.isOpen { try make(step, device) }
          _ = try device.wait(within: .milliseconds(50)) { !device.line.isOpen }
          lastAttackBytes = device.record[mark...].filter { !$0.isFromAccessory }.flatMap(\.bytes)
        } catch let skip as CheckSkip {
          return skip.reason
        }
        run.unplugAll()
      }
      _ = try run.reach(.ready)
      run.unplugAll()
      return nil
    } catch let short as Shortfall {
      return "afterwards it did not become ready: \(short.reason)"
    } catch let absent as AccessoryAbsent {
      return "afterwards it did not come back: \(absent)"
    }
  }

  private func make(_ step: Attack.Step, _ device: CheckDevice) throws {
    switch step {
    case .bytes(let bytes): device.line.send(bytes)
    case .packet(let control, let sequence, let acknowledgement, let session, let payload):
      let header = PacketHeader(
        control: ControlBits(rawValue: control), sequence: device.lastSent &+ UInt8(truncatingIfNeeded: sequence),
        acknowledgement: device.lastInOrder &+ UInt8(truncatingIfNeeded: acknowledgement), session: session,
        payloadCount: payload.count)
      device.line.send(header, payload: payload)
    case .message(let id, let body): try send(ControlMessage(MessageID(rawValue: id), body: body).encoded, nil, device)
    case .data(let session, let bytes):
      try send([UInt8(session >> 8), UInt8(session & 0xFF)] + bytes, device.dataSession, device)
    case .file(let bytes): if let session = device.fileSession { try send(bytes, session, device) }
    case .flood(let bytes, let times):
      device.line.send(Array(repeatElement(bytes, count: times).joined()))
    case .silence(let milliseconds): _ = try device.wait(within: .milliseconds(milliseconds)) { !device.line.isOpen }
    }
  }

  /// Sends a packet with the next sequence number, even if the accessory's window is full.
  private func send(_ payload: [UInt8], _ session: UInt8?, _ device: CheckDevice) throws {
    do { try device.send(payload, session: session ?? device.controlSession, patience: .seconds(1)) } catch is CheckSkip
    {
      let header = PacketHeader(
        control: .ack, sequence: device.lastSent, acknowledgement: device.lastInOrder,
        session: session ?? device.controlSession, payloadCount: payload.count)
      device.line.send(header, payload: payload)
    }
  }
}

package struct HostileReport: Sendable, Equatable {
  /// An attack that the accessory did not survive.
  package struct Failure: Sendable, Equatable {
    /// The attack's seed. `--seed` and `--hostile-cases 1` repeat the attack.
    package var seed: UInt64
    package var text: String
    /// The attack's steps, reduced to the fewest found that still cause the failure.
    package var steps: [String]
    /// The bytes that the device sent during the shortest attack, not including those of the normal start.
    package var bytes: [UInt8]
  }

  package var attacks = 0
  package var failures: [Failure] = []

  package var summary: String {
    "\(attacks) hostile attacks, \(failures.count) not survived"
  }
}
