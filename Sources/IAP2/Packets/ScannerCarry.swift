/// The bytes of a piece that came in parts, until the rest comes.
///
/// ```
///   │ decided │ undecided │ free │
/// ```
///
/// Memory of its own and not an array: a stream may come byte by byte, and an array asks whether it is shared each
/// time one is appended, which costs more than all the rest. Nothing but this type knows where it lies.
public struct ScannerCarry: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  /// Where the first byte lies that is not part of a piece yet.
  private var head = 0
  private var count = 0

  init() {}

  deinit { memory.deallocate() }

  /// How many bytes are not part of a piece yet.
  var undecided: Int { count - head }

  /// Forgets everything and keeps the memory.
  mutating func clear() {
    head = 0
    count = 0
  }

  /// Gets room for `total` undecided bytes, and lets go of those that are decided.
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
  }

  /// Appends a byte for which there is room.
  mutating func append(_ byte: UInt8) {
    memory[count] = byte
    count += 1
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
    return head - length..<head
  }

  /// The undecided bytes.
  func withUndecided<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(UnsafeRawBufferPointer(rebasing: memory[head..<count]))
  }

  /// The bytes of a piece, at the range that the scanner gave for it.
  public func with<Result>(_ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
    precondition(range.upperBound <= count, "a piece lies within what the scanner has kept")
    return body(UnsafeRawBufferPointer(rebasing: memory[range]).bytes)
  }
}
