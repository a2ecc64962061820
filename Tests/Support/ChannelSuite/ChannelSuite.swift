import AccessoryCore

/// The checks that every kind of channel must pass. The checks are the same for memory, sockets, ptys, USB/IP and
/// FunctionFS.
///
/// A check is a plain function that throws an error. The suite can therefore also run in a program without a test
/// library, such as one inside a virtual machine:
///
/// ```swift
/// for example in ChannelSuite.cases(for: [factory]) { try example.run() }
/// ```
public enum ChannelSuite {
  /// One check on one kind of channel.
  public struct Case: Sendable, CustomStringConvertible {
    /// What to check.
    public let check: ChannelCheck
    /// The kind of channel to check.
    public let factory: ChannelFactory

    /// The case as text, for example "unix socket: everyByteArrivesOnceAndInOrderBothWays".
    public var description: String { "\(factory.name): \(check.name)" }

    /// Creates a channel and checks it. Throws a ``CheckFailure`` if the channel does not behave as expected.
    public func run() throws {
      let rig = try factory.make()
      defer { rig.dispose() }
      let guardian = CallGuardian()
      let left = Probe("left", rig.left, guardian)
      let right = Probe("right", rig.right, guardian)
      defer {
        left.forget()
        right.forget()
      }
      try check.body(ConnectedPair(rig: rig, left: left, right: right, traits: factory.traits))
      for probe in [left, right] {
        if let violation = probe.violation { throw CheckFailure(violation) }
      }
    }
  }

  /// Returns, for each factory, every check whose requirements the factory's medium guarantees.
  public static func cases(for factories: [ChannelFactory]) -> [Case] {
    factories.flatMap { factory in
      checks.filter { factory.traits.contains($0.needs) }.map { Case(check: $0, factory: factory) }
    }
  }

  /// All checks.
  public static let checks: [ChannelCheck] = transferChecks + pressureChecks + endChecks
}

/// One named property that every channel must have.
public struct ChannelCheck: Sendable {
  /// The property as a sentence in camel case.
  public let name: String
  /// The guarantees that this check needs from the medium.
  public let needs: ChannelFactory.Traits
  let body: @Sendable (ConnectedPair) throws -> Void

  init(
    _ name: String, needs: ChannelFactory.Traits = [], _ body: @escaping @Sendable (ConnectedPair) throws -> Void
  ) {
    self.name = name
    self.needs = needs
    self.body = body
  }
}

struct ConnectedPair {
  let rig: ChannelRig
  let left: Probe
  let right: Probe
  let traits: ChannelFactory.Traits

  func start() {
    left.start()
    right.start()
  }

  func requireClose(heardBy probe: Probe) throws(CheckFailure) {
    if probe === left, !traits.contains(.rightClosesInOrder) {
      guard case .lost = probe.end else {
        throw CheckFailure("an unplug was heard as '\(String(describing: probe.end))'")
      }
      return
    }
    try require(probe.end == .closedByPeer, "a close was heard as '\(String(describing: probe.end))'")
  }
}
