import AccessoryCore

/// Checks that a channel notices its peer's death, for every kind of channel, every state and every kind of death.
///
/// ```swift
/// for example in DeathSuite.cases(for: [factory]) { try example.run() }
/// ```
public enum DeathSuite {
  /// One kind of channel, one state of the channel, and one kind of death.
  public struct Case: Sendable, CustomStringConvertible {
    let factory: DeathFactory
    let situation: Situation
    let death: Death

    /// The case as text, for example "TCP: reset while paused, unread".
    public var description: String { "\(factory): \(death.rawValue) while \(situation)" }
  }

  /// Returns all combinations that are possible on these media.
  public static func cases(for factories: [DeathFactory]) -> [Case] {
    factories.flatMap { factory in
      Situation.all.flatMap { situation in
        factory.deaths.compactMap { death in
          if situation.isHalfClosed, death == .halfClose || !factory.deaths.contains(.halfClose) { return nil }
          return Case(factory: factory, situation: situation, death: death)
        }
      }
    }
  }
}

extension DeathSuite.Case {
  private enum Outcome {
    case ends
    /// The channel ends cleanly, but only after the reader has read everything.
    case waits
    /// Nothing happens, because the owner has already closed the channel.
    case silence
  }

  private var outcome: Outcome {
    if situation.use == .closed { return .silence }
    guard situation.use == .paused, situation.isUnread else { return .ends }
    switch death {
    case .reset, .cut: return .ends
    // After a half-close, the peer may still receive bytes.
    case .halfClose: return .waits
    case .close, .kill:
      return factory.forgetsUnread || situation.isFull || situation.sendsAfterwards ? .ends : .waits
    }
  }

  /// The number of unread bytes, and the number of sends in which they arrive. On USB, this many sends use up all the
  /// transfers that can be in flight.
  private static let unreadCount = 700
  private static let unreadSends = 4
  /// More bytes than any channel can buffer.
  private static let flood = 64 << 20

  /// Creates a channel and causes its peer to die. Throws a ``CheckFailure`` if the channel does not react correctly.
  public func run() throws {
    let rig = try factory.make()
    let probe = Probe("surviving", rig.channel, CallGuardian())
    defer {
      probe.forget()
      rig.channel.close()
      rig.other.dispose()
      rig.tearDown()
    }
    try prepare(rig, probe)
    rig.other.die(death)
    if situation.use == .notStarted { probe.start() }
    if situation.sendsAfterwards {
      // By the second send, the kernel has responded to the first one, for example with a reset.
      probe.send(100)
      try requireIdle(rig)
      probe.send(100)
    }
    switch outcome {
    case .silence: break
    case .ends:
      // A process that another test is starting has copies of all descriptors for a moment, so the peer may die later.
      for _ in 0..<1_000 where situation.sendsAfterwards && probe.end == nil {
        probe.send(100)
        try requireIdle(rig)
      }
      guard rig.run({ probe.end != nil }) else { throw CheckFailure("the death was not noticed") }
      try judge(probe)
    case .waits:
      try requireIdle(rig)
      try require(probe.end == nil, "the end did not wait for the reader: \(String(describing: probe.end))")
      try require(probe.received == 0, "a paused end received \(probe.received) bytes")
      // The probe pauses again as soon as it has read everything. The end of the connection must still be reported.
      probe.onReceived = { _ in if probe.received == Self.unreadCount { probe.pause() } }
      probe.resume()
      guard rig.run({ probe.end != nil }) else { throw CheckFailure("the death was not noticed after all was read") }
      try require(
        probe.received == Self.unreadCount, "only \(probe.received) of \(Self.unreadCount) bytes came before the end")
      try require(probe.end == factory.closing, "a close was heard as '\(String(describing: probe.end))'")
    }
    try requireIdle(rig)
    if let violation = probe.violation { throw CheckFailure(violation) }
  }

  private func prepare(_ rig: DeathRig, _ probe: Probe) throws {
    switch situation.use {
    case .reading: probe.start()
    case .paused, .closed:
      probe.pause()
      probe.start()
    case .notStarted: break
    }
    if situation.isFull {
      probe.stream(Self.flood, chunk: 65_536)
      try requireIdle(rig)
      try require(!probe.hasStreamed, "a channel whose other end takes nothing took \(Self.flood) bytes")
    }
    if situation.isUnread {
      let size = Self.unreadCount / Self.unreadSends
      for place in stride(from: 0, to: Self.unreadCount, by: size) {
        rig.other.send(Array(Probe.pattern[place..<place + size]))
        try requireIdle(rig)
      }
    }
    if situation.isHalfClosed {
      rig.other.die(.halfClose)
      try requireIdle(rig)
    }
    if situation.use == .closed { probe.close() }
    try require(probe.end == nil, "it ended before the death: \(String(describing: probe.end))")
  }

  private func judge(_ probe: Probe) throws(CheckFailure) {
    let dropsBytes = situation.use == .paused && situation.isUnread
    if dropsBytes || death == .reset || death == .cut {
      guard case .lost = probe.end else { throw CheckFailure("a loss was heard as '\(String(describing: probe.end))'") }
      return
    }
    // The peer had not read everything, so closing it may look like a reset.
    if situation.isFull { return }
    try require(probe.end == factory.closing, "a close was heard as '\(String(describing: probe.end))'")
    if situation.isUnread, !factory.forgetsUnread {
      try require(
        probe.received == Self.unreadCount, "only \(probe.received) of \(Self.unreadCount) bytes came before the end")
    }
  }

  private func requireIdle(_ rig: DeathRig) throws(CheckFailure) {
    for _ in 0..<1_000 {
      // An idle loop makes only one turn: the turn that ends the wait.
      guard let turns = rig.turns(), turns > 1 else { return }
    }
    throw CheckFailure("the loop does not sleep")
  }
}
