import AccessoryCore

/// One kind of channel, as the suite sees it: how to create two connected ends and let time pass for them.
public struct ChannelFactory: Sendable, CustomStringConvertible {
  /// What the medium cannot promise is omitted here, and so are the checks that need it.
  public struct Traits: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// What the left end sent before it closed arrives at the right end.
    public static let leftCloseDelivers = Traits(rawValue: 1)
    /// What the right end sent before it closed arrives at the left end.
    public static let rightCloseDelivers = Traits(rawValue: 2)
    /// The rig has a ``ChannelRig/cut``.
    public static let canBeCut = Traits(rawValue: 4)
    /// Both ends may be closed with unread bytes, and the other end still sees an orderly close.
    public static let closesInOrderUnread = Traits(rawValue: 8)

    /// The left end can distinguish a close of the right end from a cut. On USB it cannot: an accessory that closes is
    /// unplugged.
    public static let rightClosesInOrder = Traits(rawValue: 16)

    /// Everything: what memory and sockets promise.
    public static let all: Traits = [
      .leftCloseDelivers, .rightCloseDelivers, .canBeCut, .closesInOrderUnread, .rightClosesInOrder,
    ]
  }

  /// The name of the medium, and of the loop if that is informative.
  public let name: String
  /// What the medium promises beyond order.
  public let traits: Traits
  /// Makes two connected ends.
  public let make: @Sendable () throws -> ChannelRig

  /// Describes one kind of channel.
  public init(_ name: String, traits: Traits, make: @escaping @Sendable () throws -> ChannelRig) {
    self.name = name
    self.traits = traits
    self.make = make
  }

  /// The name.
  public var description: String { name }
}

/// Two connected ends, not started, on one loop.
public final class ChannelRig {
  /// One end.
  public let left: any Channel
  /// The other end.
  public let right: any Channel
  /// Pulls the cable, so that both ends receive ``ChannelEnd/lost(_:)``.
  public let cut: (() -> Void)?
  /// Runs the loop until the condition holds; false if it did not hold within the limit against hanging, or never can.
  public let run: (_ condition: () -> Bool) -> Bool
  private let tearDown: () -> Void

  /// Makes a rig.
  public init(
    left: any Channel, right: any Channel, cut: (() -> Void)? = nil, run: @escaping (() -> Bool) -> Bool,
    tearDown: @escaping () -> Void = {}
  ) {
    self.left = left
    self.right = right
    self.cut = cut
    self.run = run
    self.tearDown = tearDown
  }

  /// Closes both ends and whatever created them.
  public func dispose() {
    left.close()
    right.close()
    tearDown()
  }

  /// Runs the loop until the condition holds.
  func run(_ what: String, until condition: () -> Bool) throws(CheckFailure) {
    guard run(condition) else { throw CheckFailure("it never came about that \(what)") }
  }
}

/// What a channel did wrong.
public struct CheckFailure: Error, CustomStringConvertible {
  /// One sentence.
  public let description: String

  init(_ description: String) { self.description = description }
}

/// Throws a failure with `sentence` unless `condition` holds.
func require(_ condition: Bool, _ sentence: @autoclosure () -> String) throws(CheckFailure) {
  if !condition { throw CheckFailure(sentence()) }
}
