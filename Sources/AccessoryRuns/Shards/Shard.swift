import AccessoryFormats

/// One part of a run that is divided into `count` parts. `index` is the number of the part, counted from 1. Each part
/// can be run by a different process or on a different machine.
///
/// ```swift
/// let shard = try Shard("3/8")
/// shard.share(of: 10_000)     // 2500..<3750
/// ```
///
/// Each item of a run belongs to exactly one shard.
public struct Shard: Hashable, Sendable, CustomStringConvertible {
  /// The maximum number of shards in a run.
  public static let most = 1_000_000
  /// The only shard of a run that is not divided.
  public static let whole = Shard(unchecked: 1, of: 1)

  /// The number of this part, counted from 1.
  public let index: Int
  /// The number of parts.
  public let count: Int

  /// Creates part `index` of `count`, or returns nil if the numbers are invalid.
  public init?(_ index: Int, of count: Int) {
    guard 1...Self.most ~= count, 1...count ~= index else { return nil }
    self.init(unchecked: index, of: count)
  }

  private init(unchecked index: Int, of count: Int) {
    (self.index, self.count) = (index, count)
  }

  /// Parses a shard such as `3/8`.
  public init(_ text: String) throws(OptionError) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Self.number($0) }
    guard parts.count == 2, let index = parts[0], let count = parts[1] else {
      throw OptionError("expected I/N, such as 3/8: the third of eight shards")
    }
    guard let shard = Shard(index, of: count) else {
      throw OptionError(
        count > Self.most
          ? "there may be at most \(Self.most) shards" : "shards are numbered from 1: 1/8 to 8/8")
    }
    self = shard
  }

  /// Parses a number that consists only of digits, or returns nil if there are other characters, such as a sign or
  /// spaces.
  static func number(_ text: some StringProtocol) -> Int? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(String(text)) : nil
  }

  /// Whether this is the only shard of the run.
  public var isWhole: Bool { count == 1 }

  /// Returns the range of `total` items that belongs to this shard. The sizes of any two shards differ by at most one
  /// item.
  public func share(of total: Int) -> Range<Int> {
    let total = max(0, total)
    func bound(_ shards: Int) -> Int { count.dividingFullWidth(total.multipliedFullWidth(by: shards)).quotient }
    return bound(index - 1)..<bound(index)
  }

  /// The shard as text, such as "3/8".
  public var description: String { "\(index)/\(count)" }
}
