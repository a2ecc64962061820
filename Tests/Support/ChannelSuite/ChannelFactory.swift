import AccessoryCore

/// One kind of channel for the suite to check. The factory knows how to create two connected ends and how to let time
/// pass for them.
public struct ChannelFactory: Sendable, CustomStringConvertible {
  /// The medium's guarantees. If a check needs a trait, it is skipped for media that lack the trait.
  public struct Traits: OptionSet, Sendable {
    /// The raw value.
    public let rawValue: Int

    /// Creates a set from its raw value.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Bytes that the left end sent before closing arrive at the right end.
    public static let leftCloseDelivers = Traits(rawValue: 1)
    /// Bytes that the right end sent before closing arrive at the left end.
    public static let rightCloseDelivers = Traits(rawValue: 2)
    /// The rig has a cable that ``ChannelRig/cut`` can unplug.
    public static let canBeCut = Traits(rawValue: 4)
    /// Even if one side closes before it has read all bytes, the other side sees an orderly close.
    public static let closesInOrderUnread = Traits(rawValue: 8)

    /// The left end can distinguish between a closed right end and a cut cable. On USB, the left end cannot distinguish
    /// them, because an accessory that closes is unplugged.
    public static let rightClosesInOrder = Traits(rawValue: 16)

    /// All traits, which in-memory channels and sockets guarantee.
    public static let all: Traits = [
      .leftCloseDelivers, .rightCloseDelivers, .canBeCut, .closesInOrderUnread, .rightClosesInOrder,
    ]
  }

  /// The medium's name and, if it matters which loop is used, the loop's name.
  public let name: String
  /// The medium's guarantees, in addition to the order of bytes.
  public let traits: Traits
  /// Creates two connected ends.
  public let make: @Sendable () throws -> ChannelRig

  /// Creates a description of one kind of channel.
  public init(_ name: String, traits: Traits, make: @escaping @Sendable () throws -> ChannelRig) {
    self.name = name
    self.traits = traits
    self.make = make
  }

  /// The factory's name.
  public var description: String { name }
}

/// Two connected channels on one loop that have not been started yet.
public final class ChannelRig {
  /// The left end.
  public let left: any Channel
  /// The right end.
  public let right: any Channel
  /// Unplugs the cable, so that both channels report ``ChannelEnd/lost(_:)``.
  public let cut: (() -> Void)?
  /// Runs the loop until the condition holds. Returns false if the condition can never hold or does not hold within a
  /// generous time limit.
  public let run: (_ condition: () -> Bool) -> Bool
  private let tearDown: () -> Void

  /// Creates a rig.
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

  /// Closes both channels and the objects that created them.
  public func dispose() {
    left.close()
    right.close()
    tearDown()
  }

  func run(_ what: String, until condition: () -> Bool) throws(CheckFailure) {
    guard run(condition) else { throw CheckFailure("it never came about that \(what)") }
  }
}

/// A rule that a channel broke.
public struct CheckFailure: Error, CustomStringConvertible {
  /// The broken rule as a sentence.
  public let description: String

  init(_ description: String) { self.description = description }
}

func require(_ condition: Bool, _ sentence: @autoclosure () -> String) throws(CheckFailure) {
  if !condition { throw CheckFailure(sentence()) }
}
