/// The first bytes of an incomplete piece, until the rest arrives.
///
/// ```
///   │ decided │ undecided │ free │
/// ```
///
/// Its own memory instead of an array: a stream can arrive byte by byte, and an array checks at each append whether
/// it is shared, which costs more than the rest of the work. Only this type uses its pointer.
public struct ScannerCarry: ~Copyable {
  // Open to inlining, like what a single byte needs of the scanner and the peers: a call would cost more than the byte.

  @usableFromInline var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  /// Where the first byte lies that is not part of a piece yet.
  private var head = 0
  @usableFromInline var count = 0
  /// Up to here bytes decide nothing and are only kept: one less than the reserved count.
  @usableFromInline var quietEnd = 0

  init() {}

  deinit { memory.deallocate() }

  /// How many bytes are not part of a piece yet.
  var undecided: Int { count - head }

  /// Forgets everything and keeps the memory.
  mutating func clear() {
    head = 0
    count = 0
    quietEnd = 0
  }

  /// Makes room for `total` undecided bytes, and drops the decided ones.
  mutating func reserve(_ total: Int) {
    if total > memory.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(total, 2 * memory.count), alignment: 16)
      withUndecided { larger.copyMemory(from: $0) }
      memory.deallocate()
      memory = larger
    } else if head > 0 {
      withUndecided { memory.copyMemory(from: $0) }
    }
    count -= head
    head = 0
    quietEnd = total - 1
  }

  /// Appends a byte, unless it is one that decides something.
  @inlinable
  mutating func keepQuietly(_ byte: UInt8) -> Bool {
    guard count < quietEnd else { return false }
    memory[count] = byte
    count &+= 1
    return true
  }

  /// Appends bytes for which there is room.
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// The first `length` undecided bytes are a piece, or nothing: where they lie.
  @discardableResult
  mutating func decide(_ length: Int) -> Range<Int> {
    head += length
    quietEnd = 0
    return head - length..<head
  }

  /// The undecided bytes.
  func withUndecided<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(UnsafeRawBufferPointer(rebasing: memory[head..<count]))
  }

  /// The bytes of a piece, at the range that the scanner gave for it.
  public func with<Result>(_ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
    precondition(range.upperBound <= count, "a piece must lie within the scanner's kept bytes")
    return body(UnsafeRawBufferPointer(rebasing: memory[range]).bytes)
  }
}
