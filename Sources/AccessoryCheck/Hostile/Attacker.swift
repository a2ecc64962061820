import AccessoryCore
import AccessoryFormats
import IAP2

extension Checker {
  /// Attacks the accessory with invalid values, floods and garbage. All attacks are generated from a seed. After each
  /// attack, the device unplugs the cable, and the accessory must become ready on a new cable. If the accessory does
  /// not survive an attack, the attack is reduced to the fewest steps that still cause the failure.
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

  /// Returns the shortest variant that the accessory does not survive. Only a limited number of attempts are made to
  /// shorten the attack.
  private func shrink(_ attack: Attack) throws -> Attack {
    var best = attack
    var tries = 0
    var improved = true
    while improved, tries < 200 {
      improved = false
      var candidates: [Attack] = best.steps.indices.map { index in
        var fewer = best
        fewer.steps.remove(at: index)
        return fewer
      }
      for (index, step) in best.steps.enumerated() {
        candidates += step.simpler.map { simpler in
          var other = best
          other.steps[index] = simpler
          return other
        }
      }
      for candidate in candidates where !candidate.steps.isEmpty && tries < 200 {
        tries += 1
        if try survives(nil) != nil { return best }
        if try survives(candidate) != nil {
          best = candidate
          improved = true
          break
        }
      }
    }
    // Repeats the attack in order to record its bytes.
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

/// The results of a run with attacks.
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
  /// The attacks that the accessory did not survive.
  package var failures: [Failure] = []

  package var summary: String {
    "\(attacks) hostile attacks, \(failures.count) not survived"
  }
}
