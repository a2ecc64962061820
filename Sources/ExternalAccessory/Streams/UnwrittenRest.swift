/// The bytes of a write that its stream did not take, and that the app must write again.
///
/// Apps that ignore the result of `write` lose them, which is the commonest bug of clients. Their next write begins with
/// other bytes, or there is none. Only the first bytes of the rest are kept to compare, so a rest that happens to begin as
/// the next message does is not recognized.
struct UnwrittenRest {
  /// How many bytes are compared.
  private static let most = 64

  private var write: LostRest?
  private var missing = 0
  private var beginning: [UInt8] = []

  /// The write whose rest is still missing.
  var lost: LostRest? { missing > 0 ? write : nil }

  /// The same; it is not missing any more afterwards.
  mutating func take() -> LostRest? {
    defer { missing = 0 }
    return lost
  }

  /// The app wrote, and the stream took this many of the bytes. Returns the write before whose rest does not come, if this
  /// write is not that rest.
  mutating func wrote(_ bytes: UnsafeRawBufferPointer, taken: Int, at place: CallPlace?) -> LostRest? {
    let expected = beginning.prefix(bytes.count)
    let isRest = bytes.prefix(expected.count).elementsEqual(expected)
    let lost = missing > 0 && !bytes.isEmpty && !isRest ? take() : nil
    if taken == 0 { return lost }
    if taken < bytes.count {
      write = LostRest(asked: bytes.count, taken: taken, caller: .init(place))
      missing = max(missing - taken, bytes.count - taken)
      beginning = Array(bytes.dropFirst(taken).prefix(Self.most))
    } else {
      missing = max(0, missing - taken)
      beginning = missing > 0 ? Array(beginning.dropFirst(taken)) : []
    }
    return lost
  }
}

/// A write whose rest was lost.
package struct LostRest: Equatable, Sendable, CustomStringConvertible {
  let asked: Int
  let taken: Int
  let caller: Caller

  /// "write took 997 of 3000 bytes at App.swift:12 in send()".
  package var description: String { "write took \(taken) of \(asked) bytes\(caller)" }

  /// Who wrote: the compiler knows the place of a call with an array; that of a call with a pointer is on the stack.
  enum Caller: Equatable, Sendable, CustomStringConvertible {
    case known(CallPlace)
    case traced(CallTrace)

    init(_ place: CallPlace?) { self = place.map { .known($0) } ?? .traced(CallTrace()) }

    var description: String {
      switch self {
      case .known(let place): " \(place)"
      case .traced(let trace): trace.place.map { " at \($0)" } ?? ""
      }
    }
  }
}
