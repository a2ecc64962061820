import AccessoryCore
import IAP2

extension CheckCase {
  static let sessions: [CheckCase] = [
    CheckCase(
      701, "session-opens", "A session on a declared protocol is not refused.", [.agreed],
      fix: "Accept each session that the device opens on a declared protocol."
    ) { run in
      _ = try run.linkProtocol()
      let survey = try run.survey()
      guard case .closed(let packet) = survey.status else { return }
      throw CheckFailure(
        "The answer to EA00 was EA03 with a status that closes the session.", survey.device.proof(packet))
    },
    CheckCase(
      702, "session-status", "An accessory that lists EA03 reports the status of each session.", [.agreed], .warning,
      fix: "Answer EA00 with EA03, status 0, or remove EA03 from parameter 6 of the identification."
    ) { run in
      _ = try run.linkProtocol()
      guard try run.declaresStatus() else { throw CheckSkip("the accessory does not list EA03", isUndeclared: true) }
      let device = try run.device(at: .ready)
      let mark = device.record.count
      let status = try device.openSession(run.linkProtocol(), 1, waitingForStatus: .seconds(2))
      if status == .none {
        throw CheckFailure("No EA03 arrived within 2 s of EA00.", device.proof(from: mark))
      }
    },
    CheckCase(
      703, "session-status-form", "EA03 contains the id of an open session, and status 0 or 1.", [.agreed],
      fix: "Put the session's id from EA00 into parameter 0 of EA03, and 0 or 1 into parameter 1."
    ) { run in
      let device = try run.survey().device
      let all = device.messages.filter { $0.message.id == .externalAccessorySessionStatus }
      if all.isEmpty { throw CheckSkip("the accessory sent no EA03") }
      for one in all {
        let parameters = (try? ParameterReader.read(one.message.body)) ?? []
        if parameters.first(0)?.value != [0, 1] {
          throw CheckFailure("EA03 does not name session 1, which was opened.", device.proof(one.packet, [15..<21]))
        }
        guard let status = parameters.first(1)?.value, status == [0] || status == [1] else {
          throw CheckFailure("The status in EA03 is neither 0 nor 1.", device.proof(one.packet, [21..<26]))
        }
      }
    },
    CheckCase(
      704, "session-closes", "The accessory sends no more data on a session after EA01.", [.agreed],
      fix: "On EA01, stop sending on the session and drop unsent data."
    ) { run in
      let session = try run.session()
      let device = session.device
      try session.send(Array("easim check".utf8))
      _ = try device.wait(within: run.settings.quiet) { false }
      try device.send(.closeSession(session.id))
      // Bytes that are in transit may still arrive.
      _ = try device.wait(within: run.settings.quiet) { false }
      let mark = device.record.count
      let before = session.packets.count
      let messages = device.messages.count
      _ = try device.wait(within: .seconds(1)) { session.packets.count > before }
      if session.packets.count > before {
        throw CheckFailure("Data arrived for the closed session.", device.proof(from: mark))
      }
      if device.messages[messages...].contains(where: { $0.message.id == .externalAccessorySessionStatus }) {
        throw CheckFailure("EA03 arrived for the closed session.", device.proof(from: mark))
      }
    },
    CheckCase(
      705, "session-reopens", "A session can be opened after another is closed.", [.agreed],
      fix: "On EA01, free the session's slot for the next session."
    ) { run in try run.reopen(second: 2) },
    CheckCase(
      706, "session-large-id", "The device chooses the session's id, which may exceed 255.", [.agreed],
      fix: "Read the session's id as two bytes, and use it unchanged."
    ) { run in
      let declared = try run.linkProtocol()
      // The echo test comes first, because it needs its own attachment.
      let echoes = try run.isEcho()
      let device = try run.device(at: .ready)
      let id: UInt16 = 0x0102
      let mark = device.record.count
      let status = try device.openSession(declared, id, waitingForStatus: run.settings.quiet)
      if case .closed(let packet) = status {
        try run.needSession()
        throw CheckFailure("EA03 closed it.", device.proof(packet))
      }
      if try run.declaresStatus(), status == .none {
        let others = device.messages.contains {
          $0.message.id == .externalAccessorySessionStatus && $0.packet >= mark
        }
        if others { throw CheckFailure("EA03 names another session.", device.proof(from: mark)) }
      }
      try device.send(Array("easim check".utf8), on: id)
      if echoes {
        let session = OpenedSession(device: device, declared: declared, id: id)
        try run.expect(Array("easim check".utf8), on: session, after: 0, mark: mark)
      } else {
        try run.expectAcknowledged(device, "data on session 258")
      }
    },
    CheckCase(
      707, "session-same-id", "A closed session's id can be used again.", [.inferred], .warning,
      fix: "On EA01, discard the session's id."
    ) { run in try run.reopen(second: 1) },
    CheckCase(
      708, "session-several", "Sessions on different protocols can be open at the same time.", [.agreed], .warning,
      fix: "Keep one session for each protocol, and tell sessions apart by the id before the data."
    ) { run in
      let all = try run.severalProtocols()
      let device = try run.device(at: .ready)
      for (index, one) in all.prefix(8).enumerated() {
        let status = try device.openSession(one, UInt16(index + 1), waitingForStatus: run.settings.quiet)
        if case .closed(let packet) = status {
          try run.needSession()
          throw CheckFailure("The session on \(one.name) was closed.", device.proof(packet))
        }
      }
      for index in all.prefix(8).indices { try device.send([1, 2, 3], on: UInt16(index + 1)) }
      try run.expectAcknowledged(device, "data on \(min(8, all.count)) sessions")
    },
    CheckCase(
      709, "session-apart", "Data sent on one session does not come back on another.", [.agreed],
      fix: "Answer data with the id of the session that it arrived on."
    ) { run in
      let all = try run.severalProtocols()
      let device = try run.device(at: .ready)
      let ids = all.prefix(8).indices.map { UInt16($0 + 1) }
      for (id, one) in zip(ids, all) {
        if case .closed = try device.openSession(one, id, waitingForStatus: run.settings.quiet) {
          throw CheckSkip("the accessory refused a session (case 708)")
        }
      }
      let mark = device.record.count
      // The bytes look random, so the accessory is unlikely to send the same bytes by chance.
      let texts = ids.map { CheckBytes.mixed(16, seed: UInt64($0)) }
      for _ in 0..<4 { for (id, text) in zip(ids, texts) { try device.send(text, on: id) } }
      _ = try device.wait(within: run.settings.quiet) { false }
      for (id, own) in zip(ids, texts) {
        let received = device.data[id] ?? []
        for (other, text) in zip(ids, texts) where text != own && received.contains(text) {
          throw CheckFailure("Data sent on session \(other) came back on session \(id).", device.proof(from: mark))
        }
      }
    },
    CheckCase(
      710, "session-data-at-once", "Data that arrives in the same write as EA00 is not lost.", [.seenOnce], .note,
      fix: "Prepare the session before you read the next packet."
    ) { run in
      try run.needEcho()
      let device = try run.device(at: .ready)
      let declared = try run.linkProtocol()
      try run.needWindow(device)
      let mark = device.record.count
      try device.send(.openSession(declared.id, 1), .held)
      try device.send(Array("at once".utf8), on: 1, .held)
      device.releaseGlued()
      let session = OpenedSession(device: device, declared: declared, id: 1)
      try run.expect(Array("at once".utf8), on: session, after: 0, mark: mark)
      try run.expectNoRepetition(device, after: mark, "In one write")
    },
    CheckCase(
      711, "session-echoes", "The accessory echoes the data it receives, as `--echo yes` claims.", [.inferred],
      fix: "Echo data on the session that it arrived on."
    ) { run in
      guard run.settings.echo == .yes else { throw CheckSkip("--echo yes was not given") }
      let trial = try run.echoTrial()
      if !trial.isEcho {
        throw CheckFailure(
          "\(trial.sent.count) bytes were sent, but \(trial.received.count) came back within 2 s.", trial.proof)
      }
    },
    CheckCase(
      712, "session-known", "Each data packet carries the id of an open session.", [.agreed],
      fix: "Begin each data packet's payload with the id from EA00, and send no data before EA00."
    ) { run in
      _ = try run.linkProtocol()
      let device = try run.survey().device
      if let stray = device.data.keys.sorted().first(where: { $0 != 1 }) {
        throw CheckFailure(
          "Data arrived for session \(stray), which was never opened.",
          device.proof(device.dataPackets[stray]?.first, [9..<11]))
      }
    },
    CheckCase(
      713, "session-begins-empty", "A session begins without bytes from the previous one.", [.seenOnce],
      fix: "Empty a session's buffers when it is closed and when it is opened."
    ) { run in
      try run.needEcho()
      let first = try run.session()
      let device = first.device
      try run.exchange(CheckBytes.mixed(120), on: first, size: 60)
      try device.send(.closeSession(1))
      _ = try device.wait(within: run.settings.quiet) { false }
      let mark = device.record.count
      let second = try run.session(on: device, 2)
      _ = try device.wait(within: run.settings.quiet) { !second.received.isEmpty }
      if !second.received.isEmpty {
        throw CheckFailure(
          "The session began with \(second.received.count) bytes before the device sent any.",
          device.proof(second.packets.first, [11..<11 + second.received.count]) + device.proof(mark))
      }
    },
    CheckCase(
      714, "session-stays", "An idle session stays open.", [.agreed], .warning,
      fix: "Leave it to the device to close sessions."
    ) { run in
      let survey = try run.survey()
      if survey.hadSession, !survey.device.line.isOpen, let end = survey.device.line.end {
        throw CheckFailure("The accessory left: \(end).", survey.device.lastProof())
      }
      let session = try run.session()
      let device = session.device
      let before = device.messages.count
      func closing() -> CheckDevice.Received? {
        device.messages[before...].first { $0.status(of: session.id) == [1] }
      }
      _ = try device.wait(within: .seconds(3)) { closing() != nil || !device.line.isOpen }
      if let closing = closing() {
        throw CheckFailure("The accessory closed the session with EA03.", device.proof(closing.packet, [21..<26]))
      }
      if !device.line.isOpen { throw CheckFailure("The accessory left: \(device.endText).", device.lastProof()) }
    },
    CheckCase(
      715, "session-unknown-protocol", "An attempt to open a session on an undeclared protocol does no harm.",
      [.inferred],
      .warning, isHostile: true, fix: "Answer EA00 for an unknown protocol with EA03, status 1, or ignore it."
    ) { run in
      let used = Set(try run.identification().protocols.map(\.id))
      guard let free = (UInt8(1)...255).first(where: { !used.contains($0) }) else { return }
      let device = try run.device(at: .ready)
      let mark = device.messages.count
      try device.send(.openSession(free, 9))
      try run.expectAcknowledged(device, "EA00 for an unknown protocol")
      if case .open(let packet) = try device.status(of: 9, after: mark, within: .milliseconds(10)) {
        throw CheckFailure("The session was accepted with EA03, status 0.", device.proof(packet))
      }
    },
    CheckCase(
      716, "session-unknown-data", "Data for a session that is not open is acknowledged and dropped.", [.seenOnce],
      .warning, isHostile: true, fix: "Acknowledge each intact packet, and drop data for unknown sessions."
    ) { run in
      _ = try run.linkProtocol()
      let device = try run.device(at: .ready)
      try device.send([1, 2, 3], on: 77)
      try run.expectAcknowledged(device, "data for a session that is not open")
      if let packet = device.dataPackets[77]?.first { throw CheckFailure("It was answered.", device.proof(packet)) }
    },
    CheckCase(
      717, "session-unknown-close", "EA01 for a session that is not open is ignored.", [.inferred], .warning,
      isHostile: true, fix: "Ignore EA01 for an unknown session."
    ) { run in
      _ = try run.linkProtocol()
      let device = try run.device(at: .ready)
      try device.send(.closeSession(77))
      try run.expectAcknowledged(device, "EA01 for a session that is not open")
    },
    CheckCase(
      718, "session-data-after-close", "Data that arrives after EA01 is dropped.", [.seenOnce], .warning,
      isHostile: true, fix: "Acknowledge and drop a session's data after EA01."
    ) { run in
      let session = try run.session()
      let device = session.device
      try device.send(.closeSession(session.id))
      _ = try device.wait(within: run.settings.quiet) { false }
      let before = session.packets.count
      try session.send([1, 2, 3])
      try run.expectAcknowledged(device, "data after EA01")
      if session.packets.count > before {
        throw CheckFailure("It was answered.", device.proof(session.packets.last))
      }
    },
    CheckCase(
      719, "session-opened-twice", "A second EA00 with the id of an open session does no harm.", [.inferred], .warning,
      isHostile: true, fix: "Ignore EA00 for a session that is open."
    ) { run in
      let session = try run.session()
      try session.device.send(.openSession(session.declared.id, session.id))
      try run.expectAcknowledged(session.device, "a second EA00 with the same id")
    },
  ]
}

extension CheckRun {
  /// Returns the protocols that use the link. Skips the case if there are fewer than two protocols.
  fileprivate func severalProtocols() throws -> [ExternalAccessoryProtocol] {
    let all = try identification().protocols.filter { $0.nativeTransportComponent == nil && !$0.isCarPlay }
    guard all.count > 1 else {
      throw CheckSkip("the accessory declares fewer than two protocols over the link", isUndeclared: true)
    }
    return all
  }

  func needSession() throws {
    if case .closed = try survey().status { throw CheckSkip("the accessory refused an earlier session (case 701)") }
  }

  func isEcho() throws -> Bool { settings.echo == .no ? false : try echoTrial().isEcho }

  func reopen(second id: UInt16) throws {
    let first = try session()
    let device = first.device
    try device.send(.closeSession(1))
    _ = try device.wait(within: settings.quiet) { false }
    let mark = device.record.count
    let status = try device.openSession(first.declared, id, waitingForStatus: settings.quiet)
    if case .closed = status { throw CheckFailure("EA03 closed it.", device.proof(from: mark)) }
    if try declaresStatus(), status == .none,
      device.messages.contains(where: { $0.message.id == .externalAccessorySessionStatus })
    {
      throw CheckFailure("The first session was confirmed with EA03, but the second was not.", device.proof(from: mark))
    }
    let session = OpenedSession(device: device, declared: first.declared, id: id)
    let before = session.received.count
    let text = Array("once more".utf8)
    try session.send(text)
    if knownEcho?.isEcho ?? false {
      // Case 713 covers bytes left over from the previous session.
      _ = try device.wait(within: stepLimit) { session.received.suffix(text.count) == text[...] }
      if session.received.suffix(text.count) != text[...] {
        try expect(text, on: session, after: before, mark: mark)
      }
    } else {
      try expectAcknowledged(device, "data on the second session")
    }
  }
}
