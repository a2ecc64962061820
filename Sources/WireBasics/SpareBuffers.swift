/// A store of memory for bytes in transit, shared by everything on one event loop.
///
/// A connection borrows memory when it must store bytes, and returns the memory when the bytes are gone. The store lends
/// the most recently returned memory first, because that memory is still in the processor's caches. If each connection
/// had buffers of its own, a hundred connections would fill the caches. Idle connections keep only small pieces of
/// memory, which are not worth returning.
///
/// Not thread-safe: use it only on the loop that it belongs to.
public final class SpareBuffers {
  /// Memory of up to this many bytes, enough for a packet with an authentication certificate, stays with its owner.
  public static let smallest = 1024
  /// How many bytes of each kind of memory are kept; more are freed.
  private static let limit = 1 << 20

  // Overlapping access is not checked, because this runs for every packet and calls no other code.
  @exclusivity(unchecked) private var arrays: [[UInt8]] = []
  @exclusivity(unchecked) private var arrayBytes = 0
  @exclusivity(unchecked) private var tapes: [[UInt8]] = []
  @exclusivity(unchecked) private var tapeBytes = 0
  @exclusivity(unchecked) private var blocks: [UnsafeMutableBufferPointer<UInt8>] = []
  @exclusivity(unchecked) private var blockBytes = 0

  /// Creates a store without memory.
  public init() {}

  deinit {
    for block in blocks { block.deallocate() }
  }

  /// The number of bytes in the store that are not lent.
  package var heldBytes: Int { arrayBytes + tapeBytes + blockBytes }

  /// Gives memory to an empty array that has no room for `count` bytes. The array stays empty.
  public func lend(to array: inout [UInt8], room count: Int) {
    guard array.capacity < count, array.isEmpty, let spare = arrays.popLast() else { return }
    array = spare
    arrayBytes -= array.capacity
  }

  /// Takes the memory of an empty array, unless it is small.
  public func collect(_ array: inout [UInt8]) {
    precondition(array.isEmpty, "bytes that are still needed are in this memory")
    let size = array.capacity
    guard size > Self.smallest else { return }
    if arrayBytes + size <= Self.limit {
      arrayBytes += size
      arrays.append(array)
    }
    array = []
  }

  /// Replaces an array whose elements are not needed with a spare one, if there is one; its elements mean nothing.
  public func lendFilled(to array: inout [UInt8]) {
    guard let spare = tapes.popLast() else { return }
    array = spare
    tapeBytes -= array.count
  }

  /// Takes an array whose elements are no longer needed, unless it is small.
  public func collectFilled(_ array: inout [UInt8]) {
    guard array.count > Self.smallest else { return }
    if tapeBytes + array.count <= Self.limit {
      tapeBytes += array.count
      tapes.append(array)
    }
    array = []
  }

  /// Lends memory for at least `count` bytes; if there is none, allocates `preferred` bytes or more. The borrower returns
  /// the memory or frees it.
  public func borrowBlock(atLeast count: Int, preferred: Int) -> UnsafeMutableBufferPointer<UInt8> {
    if let spare = blocks.popLast() {
      blockBytes -= spare.count
      if spare.count >= count { return spare }
      spare.deallocate()
    }
    return .allocate(capacity: max(count, preferred))
  }

  /// Takes back memory from ``borrowBlock(atLeast:preferred:)``.
  public func returnBlock(_ block: UnsafeMutableBufferPointer<UInt8>) {
    guard blockBytes + block.count <= Self.limit else { return block.deallocate() }
    blockBytes += block.count
    blocks.append(block)
  }
}
