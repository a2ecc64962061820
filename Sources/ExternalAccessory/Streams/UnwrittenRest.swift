/// The bytes of a write that the stream did not accept, and that the app must write again.
///
/// Apps that ignore the result of `write` lose these bytes, which is the most common bug in clients. The bug is
/// detected when the app's next write begins with different bytes, or when there is no next write. Only the first of
/// the missing bytes are kept for comparison, so the loss goes unnoticed if the next message begins with the same
/// bytes.
struct UnwrittenRest {
  private static let most = 64

  private var write: LostRest?
  private var missing = 0
  private var beginning: [UInt8] = []

  var lost: LostRest? { missing > 0 ? write : nil }

  /// Removes and returns the last short write, or returns nil if the app has written the rest of it.
  mutating func take() -> LostRest? {
    defer { missing = 0 }
    return lost
  }

  /// Records a write from which the stream accepted `taken` bytes. Returns the earlier short write if the new write
  /// does not continue it.
  mutating func wrote(_ bytes: UnsafeRawBufferPointer, taken: Int, at place: CallPlace?) -> LostRest? {
    let expected = beginning.prefix(bytes.count)
    let isRest = bytes.prefix(expected.count).elementsEqual(expected)
    let lost = missing > 0 && !bytes.isEmpty && !isRest ? take() : nil
    if taken == 0 { return lost }
    if taken < bytes.count {
      write = LostRest(asked: bytes.count, taken: taken, place: place, trace: place == nil ? CallTrace() : nil)
      missing = max(missing - taken, bytes.count - taken)
      beginning = Array(bytes.dropFirst(taken).prefix(Self.most))
    } else {
      missing = max(0, missing - taken)
      beginning = missing > 0 ? Array(beginning.dropFirst(taken)) : []
    }
    return lost
  }
}

package struct LostRest: Sendable, CustomStringConvertible {
  let asked: Int
  let taken: Int
  /// The location of the app's call to `write`, if the call passed an array, so that the compiler supplied the location.
  let place: CallPlace?
  /// Finds the location on the stack, if the call passed a pointer.
  let trace: CallTrace?

  /// The write as text, for example "write accepted 997 of 3000 bytes at App.swift:12 in send()".
  package var description: String {
    let place = place?.description ?? trace?.place
    return "write accepted \(taken) of \(asked) bytes" + (place.map { " \($0)" } ?? "")
  }
}
