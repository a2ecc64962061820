import AccessoryCore
import AccessoryFormats
import IAP2

struct OpenedSession {
  let device: CheckDevice
  let declared: ExternalAccessoryProtocol
  let id: UInt16

  var received: [UInt8] { device.data[id] ?? [] }

  func send(_ bytes: [UInt8], _ delivery: CheckDevice.Delivery = .whole) throws {
    try device.send(bytes, on: id, delivery)
  }

  var wasClosed: Bool { device.messages.contains { $0.status(of: id) == [1] } }

  var packets: [Int] { device.dataPackets[id] ?? [] }
}

struct EchoTrial {
  let isEcho: Bool
  let sent: [UInt8]
  let received: [UInt8]
  let proof: [CheckProof]
}

extension CheckRun {
  /// Returns the protocol named `name`. If `name` is nil, returns the protocol that was chosen for sessions.
  func linkProtocol(_ name: String? = nil) throws -> ExternalAccessoryProtocol {
    let survey = try survey()
    _ = try identification()
    let name = name ?? settings.protocolName
    guard let one = survey.linkProtocol(name) else {
      throw CheckSkip(
        name.map { "the accessory declares no protocol \($0) over the link" }
          ?? "the accessory declares no External Accessory protocol over the link", isUndeclared: true)
    }
    return one
  }

  func declaresStatus() throws -> Bool {
    try identification().messagesSent.contains(.externalAccessorySessionStatus)
  }

  func session(
    on device: CheckDevice, _ id: UInt16 = 1, _ other: ExternalAccessoryProtocol? = nil
  ) throws -> OpenedSession {
    let declared = try other ?? linkProtocol()
    let status = try device.openSession(declared, id, waitingForStatus: settings.quiet)
    if case .closed = status { throw CheckSkip("the accessory refused the session (case 701)") }
    return OpenedSession(device: device, declared: declared, id: id)
  }

  func session(_ configure: CheckDevice.Configuring = { _ in }) throws -> OpenedSession {
    try session(on: device(at: .ready, configure))
  }

  func echoSession(_ configure: CheckDevice.Configuring = { _ in }) throws -> OpenedSession {
    try needEcho()
    return try session(configure)
  }

  func needEcho() throws {
    if settings.echo == .no { throw CheckSkip("needs an echo, but --echo no was given") }
    guard try echoTrial().isEcho else {
      throw CheckSkip(
        "needs an accessory that echoes what it receives; this accessory does not"
          + (settings.echo == .yes ? " (case 711)" : ""))
    }
  }

  /// Sends a few bytes and checks whether they are returned. If the accessory refuses the session, tries once more.
  func echoTrial() throws -> EchoTrial {
    if let knownEcho { return knownEcho }
    let sent = Array("easim: does it echo?".utf8)
    var trial = EchoTrial(isEcho: false, sent: sent, received: [], proof: [])
    for id in UInt16(1)...2 where !trial.isEcho {
      let device = try device(at: .ready)
      let declared = try linkProtocol()
      let mark = device.record.count
      let status = try device.openSession(declared, id, waitingForStatus: settings.quiet)
      trial = EchoTrial(isEcho: false, sent: sent, received: [], proof: device.proof(from: mark))
      if case .closed = status { continue }
      try device.send(sent, on: id)
      _ = try device.wait(within: max(settings.quiet, .seconds(2))) { (device.data[id] ?? []).count >= sent.count }
      let received = device.data[id] ?? []
      trial = EchoTrial(
        isEcho: received.suffix(sent.count) == sent[...], sent: sent, received: received,
        proof: device.proof(from: mark))
    }
    knownEcho = trial
    return trial
  }

  /// Sends bytes in packets of up to `size` bytes. Waits until the accessory has sent all the bytes back.
  func exchange(
    _ bytes: [UInt8], on session: OpenedSession, size: Int, deliver: (Int) -> CheckDevice.Delivery = { _ in .whole }
  ) throws {
    let before = session.received.count
    let mark = session.device.record.count
    for (number, start) in stride(from: 0, to: bytes.count, by: size).enumerated() {
      try session.send(Array(bytes[start..<min(start + size, bytes.count)]), deliver(number))
    }
    try expect(bytes, on: session, after: before, mark: mark)
  }

  func expect(_ bytes: [UInt8], on session: OpenedSession, after before: Int, mark: Int) throws {
    let device = session.device
    _ = try device.wait(within: stepLimit) { session.received.count >= before + bytes.count }
    let received = Array(session.received.dropFirst(before))
    guard received != bytes else { return }
    if session.wasClosed { throw CheckSkip("the accessory closed the session on its own (case 714)") }
    let at = zip(received, bytes).enumerated().first { $1.0 != $1.1 }?.offset ?? min(received.count, bytes.count)
    let what =
      received.count < bytes.count && at == received.count
      ? "\(received.count) of \(bytes.count) bytes came back within \(DurationText.format(stepLimit))"
      : received.count > bytes.count && at == bytes.count
        ? "\(received.count) bytes came back, but only \(bytes.count) were sent"
        : "byte \(at) was sent as \(Hex.number(bytes[at])) but came back as \(Hex.number(received[at]))"
    let end = device.line.isOpen ? "" : "; \(device.endText)"
    throw CheckFailure(what + end, device.proof(from: mark))
  }

  /// Returns how many session bytes fit in one packet to the accessory.
  func largestPiece(_ device: CheckDevice) -> Int {
    max(1, Int(device.offer?.maximumPacketLength ?? 24) - PacketHeader.overhead - 2)
  }
}

extension CheckDevice {
  /// Returns these packets as proof. If there are many packets, returns only the first and last of them.
  func proof(_ range: Range<Int>, most: Int = 12) -> [CheckProof] {
    let range = range.clamped(to: record.indices)
    guard range.count > most else { return range.map { record[$0].proof(since: line.start) } }
    return (range.prefix(most / 2) + range.suffix(most / 2)).map { record[$0].proof(since: line.start) }
  }

  func proof(from mark: Int) -> [CheckProof] { proof(mark..<record.count) }

  func proof(_ index: Int?, _ marks: [Range<Int>] = [], _ remark: String = "") -> [CheckProof] {
    guard let index, record.indices.contains(index) else { return [] }
    return [record[index].proof(since: line.start, marking: marks, remark)]
  }

  func lastProof(_ count: Int = 6) -> [CheckProof] { proof(from: max(0, record.count - count)) }
}
