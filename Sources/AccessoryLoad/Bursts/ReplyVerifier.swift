import Glibc
import IAP2

/// Checks a reply against the expected one while the reply arrives, for plans in which all bursts have the same reply.
public struct ReplyVerifier: Equatable, Sendable {
  /// The expected reply, or nil if only its length is checked.
  private let expected: [UInt8]?
  /// The length that the reply should have.
  public let count: Int

  /// Creates a verifier for the reply that `plan` expects.
  public init(_ plan: BurstPlan) {
    count = plan.verification.replyCount(payload: plan.payload.size)
    switch plan.verification {
    case .echo: expected = plan.payload.repeatedBytes
    case .reply(let bytes): expected = bytes
    case .replyLength, .nothing: expected = nil
    }
  }

  /// Returns the first wrong byte in `bytes`, or nil if all bytes are correct. `bytes` begins at `offset` in the reply
  /// and must not extend beyond the reply's end.
  public func difference(in bytes: RawSpan, at offset: Int) -> ReplyDifference? {
    guard let expected, !isSame(expected, bytes, offset) else { return nil }
    for index in 0..<bytes.byteCount {
      let got = bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      guard got != expected[offset + index] else { continue }
      let place = offset + index
      let end = min(bytes.byteCount, index + ReplyDifference.reach + 1)
      let came = (max(0, index - ReplyDifference.reach)..<end).map {
        bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self)
      }
      let window = max(0, place - ReplyDifference.reach)..<min(expected.count, place + ReplyDifference.reach + 1)
      return ReplyDifference(
        position: place, expected: expected[place], got: got, expectedWindow: Hex.spaced(expected[window]),
        gotWindow: Hex.spaced(came))
    }
    return nil
  }

  private func isSame(_ expected: [UInt8], _ bytes: RawSpan, _ offset: Int) -> Bool {
    if bytes.byteCount == 0 { return true }
    return expected.withUnsafeBytes { wanted in
      bytes.withUnsafeBytes { came in
        guard let left = wanted.baseAddress, let right = came.baseAddress else { return false }
        return memcmp(left + offset, right, came.count) == 0
      }
    }
  }
}

/// The first wrong byte of a reply.
public struct ReplyDifference: Equatable, Sendable, CustomStringConvertible {
  /// The number of bytes to show before and after the wrong byte.
  static let reach = 4

  /// The position of the wrong byte, starting at 0.
  public let position: Int
  /// The expected byte.
  public let expected: UInt8
  /// The received byte.
  public let got: UInt8
  /// The expected bytes around the wrong byte, in hex.
  public let expectedWindow: String
  /// The received bytes around the wrong byte, in hex. Only bytes that arrived in the same piece are included.
  public let gotWindow: String

  /// A description of the difference, without a period.
  public var description: String {
    "byte \(position) is \(Hex.plain([got])) instead of \(Hex.plain([expected])): "
      + "expected … \(expectedWindow) …, got … \(gotWindow) …"
  }
}
