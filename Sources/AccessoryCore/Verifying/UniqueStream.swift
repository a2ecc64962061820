import AccessoryFormats

/// One session's bytes. A stream in which every block of 16 bytes encodes its own position: the seed, the session, and
/// the offset in the session.
///
/// A stream is endless and never repeats. Programs send segments of the stream; a segment from another position,
/// session or run differs in every block. A block of 16 bytes consists of two little-endian 64-bit numbers:
///
/// ```
/// tag  = session << 44 | block number
/// low  = key(seed, session) + lowStep × tag        high = highOrigin + highStep × tag        (modulo 2^64)
/// ```
///
/// Each block therefore equals the previous block plus a constant, so generating a block takes two additions. Because
/// `highStep` is odd, `high` yields the tag, the tag and `low` yield the key, and the key yields the seed. Sixteen
/// bytes that are not a block yield a random seed.
///
/// ```swift
/// let stream = UniqueStream(seed: 7, session: 0)
/// let bytes = stream.bytes(0..<10_000)
/// UniqueStream.place(of: bytes.span.bytes, at: 32)   // seed 7, session 0, offset 32
/// ```
public struct UniqueStream: Hashable, Sendable {
  /// The size of a block in bytes; each block encodes its own position.
  public static let blockSize = 16
  /// The number of bits in a block number, enough for 281 terabytes in a session.
  static let blockBits = 44
  /// The number of sessions with distinct data; after that, session numbers start over.
  public static let sessionLimit = 1 << (UInt64.bitWidth - blockBits)

  private static let lowStep: UInt64 = 0x9E37_79B9_7F4A_7C15
  private static let highStep: UInt64 = 0xD1B5_4A32_D192_ED03
  private static let highOrigin: UInt64 = 0x8CB9_2BA7_2F3D_8DD7
  private static let highStepInverse = inverse(of: highStep)

  /// The run's seed.
  public let seed: UInt64
  /// The session's number in the run.
  public let session: Int
  private let key: UInt64

  /// Creates the stream for session number `session` in the run with this seed.
  public init(seed: UInt64, session: Int) {
    self.seed = seed
    self.session = session & (Self.sessionLimit - 1)
    key = Self.mix(seed) ^ Self.mix(~UInt64(self.session))
  }

  // MARK: Making

  /// Fills `blocks`, starting with block number `first`. In optimized builds, filling takes little more than an
  /// addition and a store per block.
  func fill(_ blocks: UnsafeMutableBufferPointer<SIMD2<UInt64>>, from first: Int) {
    guard var target = blocks.baseAddress else { return }
    let tag = tag(ofBlock: first)
    let step = SIMD2<UInt64>(Self.lowStep, Self.highStep)
    let stride = step &+ step &+ step &+ step
    var next = SIMD2<UInt64>(key &+ Self.lowStep &* tag, Self.highOrigin &+ Self.highStep &* tag)
    var second = next &+ step
    var third = second &+ step
    var fourth = third &+ step
    for _ in 0..<blocks.count / 4 {
      target[0] = next
      target[1] = second
      target[2] = third
      target[3] = fourth
      next &+= stride
      second &+= stride
      third &+= stride
      fourth &+= stride
      target += 4
    }
    for _ in 0..<blocks.count % 4 {
      target[0] = next
      next &+= step
      target += 1
    }
  }

  /// Returns a copy of a stream segment.
  public func bytes(_ range: Range<Int>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    var buffer = UniqueBuffer()
    while bytes.count < range.count {
      buffer.show(self, range.dropFirst(bytes.count)) { piece in piece.withUnsafeBytes { bytes += $0 } }
    }
    return bytes
  }

  private func tag(ofBlock block: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: session) << Self.blockBits | UInt64(truncatingIfNeeded: block)
      & (1 << Self.blockBits - 1)
  }

  // MARK: Reading

  /// The run, session and offset that a block belongs to.
  public struct Place: Equatable, Sendable {
    /// The seed of the run in which the block was generated.
    public let seed: UInt64
    /// The session for which the block was generated.
    public let session: Int
    /// The offset at which the block starts in the session's stream.
    public let offset: Int
  }

  /// Returns the position encoded by the 16 bytes at `index`. Bytes that are not a block yield a random seed.
  public static func place(of bytes: RawSpan, at index: Int) -> Place {
    let low = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
    let high = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index + 8, as: UInt64.self))
    let tag = (high &- highOrigin) &* highStepInverse
    let session = tag >> blockBits
    return Place(
      seed: unmix(low &- lowStep &* tag ^ mix(~session)), session: Int(session),
      offset: Int(tag & (1 << blockBits - 1)) * blockSize)
  }

  // MARK: The key

  /// Reversibly mixes each bit of a seed into all the others, using the last step of splitmix64.
  private static func mix(_ seed: UInt64) -> UInt64 {
    var mixed = seed &+ lowStep
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  private static func unmix(_ key: UInt64) -> UInt64 {
    var mixed = key
    mixed = (mixed ^ (mixed >> 31) ^ (mixed >> 62)) &* inverse(of: 0x94D0_49BB_1331_11EB)
    mixed = (mixed ^ (mixed >> 27) ^ (mixed >> 54)) &* inverse(of: 0xBF58_476D_1CE4_E5B9)
    return (mixed ^ (mixed >> 30) ^ (mixed >> 60)) &- lowStep
  }

  /// Returns the inverse of an odd number modulo 2^64, computed with Newton's method. Each round doubles the number of
  /// correct bits.
  private static func inverse(of odd: UInt64) -> UInt64 {
    var inverse = odd
    for _ in 0..<5 { inverse &*= 2 &- odd &* inverse }
    return inverse
  }
}
