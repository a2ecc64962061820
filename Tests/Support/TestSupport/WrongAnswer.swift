/// A wrong answer from an accessory that is supposed to echo, and the kind of mistake that a verifier must report for
/// it.
public struct WrongAnswer: Sendable, CustomStringConvertible {
  /// The mistake in the answer.
  public let description: String
  /// The kind of mistake that must be reported, such as `lost` or `stale`.
  public let kind: String
  /// Returns the answer to a request of at least 160 bytes. `before` is the previous request, which has the same
  /// length. `other` contains bytes from another session or run.
  public let answer: @Sendable (_ request: [UInt8], _ before: [UInt8], _ other: [UInt8]) -> [UInt8]

  private init(
    _ description: String, _ kind: String, _ answer: @escaping @Sendable ([UInt8], [UInt8], [UInt8]) -> [UInt8]
  ) {
    self.description = description
    self.kind = kind
    self.answer = answer
  }

  /// Mistakes that are possible in a single answer.
  public static let single: [WrongAnswer] = [
    WrongAnswer("EADemo's pattern, whatever was asked", "foreign") { request, _, _ in
      (0..<request.count).map { UInt8(truncatingIfNeeded: $0) }
    },
    WrongAnswer("nothing but zeros", "foreign") { request, _, _ in [UInt8](repeating: 0, count: request.count) },
    WrongAnswer("the right bytes, each inverted", "foreign") { request, _, _ in request.map { ~$0 } },
    WrongAnswer("two blocks in each other's place", "reordered") { request, _, _ in
      Array(request[..<32] + request[48..<64] + request[32..<48] + request[64...])
    },
    WrongAnswer("the second half before the first", "reordered") { request, _, _ in
      let half = request.count / 2
      return Array(request[half...] + request[..<half])
    },
    WrongAnswer("everything in reverse", "reordered") { request, _, _ in request.reversed() },
    WrongAnswer("a block that comes twice", "repeated") { request, _, _ in
      Array(request[..<64] + request[48..<64] + request[64...])
    },
    WrongAnswer("a block in the place of a later one", "repeated") { request, _, _ in
      Array(request[..<96] + request[16..<32] + request[112...])
    },
    WrongAnswer("the whole answer twice", "repeated") { request, _, _ in request + request },
    WrongAnswer("without its beginning", "lost") { request, _, _ in
      // This answer has the right length, but its bytes are shifted, like those in a ring buffer that has been
      // overwritten.
      Array(request[48...])
    },
    WrongAnswer("without 48 bytes of its middle", "lost") { request, _, _ in Array(request[..<32] + request[80...]) },
    WrongAnswer("without one byte", "lost") { request, _, _ in Array(request[..<37] + request[38...]) },
    WrongAnswer("with one bit flipped", "corrupted") { request, _, _ in
      var answer = request
      answer[70] ^= 4
      return answer
    },
    WrongAnswer("with the last bit flipped", "corrupted") { request, _, _ in
      var answer = request
      answer[answer.count - 1] ^= 1
      return answer
    },
    WrongAnswer("with a block of zeros", "corrupted") { request, _, _ in
      request[..<48] + [UInt8](repeating: 0, count: 16) + request[64...]
    },
    WrongAnswer("with five bytes in between", "inserted") { request, _, _ in
      request[..<53] + [0xFF, 0x5A, 0, 9, 0x40] + request[53...]
    },
    WrongAnswer("bytes of another session or another run", "foreign") { request, _, other in
      Array(other.prefix(request.count))
    },
  ]

  /// Mistakes that are possible in an answer that follows other answers.
  public static let later: [WrongAnswer] = [
    WrongAnswer("the answer to the request before", "stale") { _, before, _ in before },
    WrongAnswer("the answer to the request before, and then its own", "repeated") { request, before, _ in
      before + request
    },
    WrongAnswer("a block of the request before in the place of its own", "stale") { request, before, _ in
      Array(request[..<64] + before[64..<80] + request[80...])
    },
  ]
}
