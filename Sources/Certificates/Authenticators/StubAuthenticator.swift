import AccessoryCore
import AccessoryFormats
import Glibc
import Synchronization

/// Authentication without cryptography, for worlds that do not test authentication: the same messages with the same
/// sizes, computed with a few hundred additions.
///
/// The type implements both sides. An accessory's certificate and responses depend on its seed. A device accepts only
/// answers from stubs, with any seed, and detects a flipped bit anywhere in the certificate, the challenge or the
/// response. A device's seed affects only its challenges.
///
/// ```swift
/// let accessory = StubAuthenticator(seed: 1), device = StubAuthenticator(seed: 2)
/// let challenge = try device.challenge(for: accessory.certificate)
/// device.judge(response: try accessory.respond(to: challenge), to: challenge, certificate: accessory.certificate)
/// ```
public final class StubAuthenticator: AccessoryAuthenticator, DeviceAuthenticator {
  /// The coprocessor generation whose sizes the stub imitates as an accessory.
  public let generation: CoprocessorGeneration

  /// The certificate, which is as long as a real one and shows "easim stub certificate" in a hex dump.
  public let certificate: [UInt8]

  private let seed: UInt64
  private let challengesMade = Atomic<UInt64>(0)

  private static let mark = Array("easim stub certificate\0".utf8)

  /// Creates a stub from a seed.
  public init(seed: UInt64, generation: CoprocessorGeneration = .current) {
    self.seed = seed
    self.generation = generation
    certificate = Self.certificate(seed: seed, generation)
  }

  /// The serial in the certificate, as long as a real one.
  public var certificateSerial: [UInt8] { Self.serial(seed: seed, generation) }

  /// Answers a challenge of this generation's size.
  public func respond(to challenge: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    guard challenge.count == generation.challengeByteCount else {
      throw .wrongChallengeSize(expected: generation.challengeByteCount, actual: challenge.count)
    }
    return Self.response(seed: seed, generation, to: challenge)
  }

  /// Returns the next challenge derived from this stub's seed.
  public func challenge(for certificate: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    guard let (_, generation) = read(certificate) else { throw .foreignCertificate(Self.foreign(certificate)) }
    let number = challengesMade.add(1, ordering: .relaxed).oldValue
    // The number's bytes in the order in which `random(_:seed:mixing:)` reads an array of eight bytes.
    var random = SeededRandom(seed: seed).derived("challenge")
    random = SeededRandom(seed: random.next() ^ UInt64(bigEndian: number))
    return random.bytes(generation.challengeByteCount)
  }

  /// Accepts only the answer that the stub with this certificate gives to this challenge.
  public func judge(response: [UInt8], to challenge: [UInt8], certificate: [UInt8]) -> AuthenticationVerdict {
    guard let (seed, generation) = read(certificate) else { return .refused(reason: Self.foreign(certificate)) }
    guard Self.areSame(response, Self.response(seed: seed, generation, to: challenge)) else {
      return .refused(
        reason: "the response differs from the stub coprocessor's answer to this challenge (seed \(seed))")
    }
    return .accepted(warnings: [])
  }

  /// Returns the serial in a stub's certificate.
  public func certificateSerial(of certificate: [UInt8]) -> [UInt8]? {
    read(certificate).map { Self.serial(seed: $0.seed, $0.generation) }
  }

  static func isStub(_ certificate: [UInt8]) -> Bool { certificate.starts(with: mark) }

  private static func certificate(seed: UInt64, _ generation: CoprocessorGeneration) -> [UInt8] {
    let head = mark + withUnsafeBytes(of: seed.bigEndian) { Array($0) }
    var random = random("certificate", seed: seed, mixing: [])
    return head + random.bytes(generation.certificateByteCount - head.count)
  }

  /// Returns the seed and generation in a certificate, or nil if any byte differs from what a stub with that seed would
  /// write.
  private func read(_ certificate: [UInt8]) -> (seed: UInt64, generation: CoprocessorGeneration)? {
    // In a world, the stubs of both sides usually have the same seed.
    if Self.areSame(certificate, self.certificate) { return (seed, self.generation) }
    let generation = CoprocessorGeneration.allCases.first { $0.certificateByteCount == certificate.count }
    guard Self.isStub(certificate), let generation else { return nil }
    let seed = certificate.dropFirst(Self.mark.count).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return certificate == Self.certificate(seed: seed, generation) ? (seed, generation) : nil
  }

  /// Certificates are long and compared several times per accessory, and `==` would take most of the time.
  private static func areSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && memcmp(left, right, left.count) == 0
  }

  private static func response(seed: UInt64, _ generation: CoprocessorGeneration, to challenge: [UInt8]) -> [UInt8] {
    var random = random("response", seed: seed, mixing: challenge)
    return random.bytes(generation.responseByteCount)
  }

  private static func serial(seed: UInt64, _ generation: CoprocessorGeneration) -> [UInt8] {
    var random = random("serial", seed: seed, mixing: [])
    return random.bytes(generation.serialByteCount)
  }

  private static func foreign(_ certificate: [UInt8]) -> String {
    "a stub verifies only stub certificates, and this one (\(certificate.count) bytes) begins "
      + Hex.excerpt(certificate.prefix(16))
  }

  private static func random(_ purpose: StaticString, seed: UInt64, mixing input: [UInt8]) -> SeededRandom {
    var random = SeededRandom(seed: seed).derived(purpose)
    // Seeds a generator with each group of eight bytes combined with everything before it, so that each byte affects
    // all later output.
    var rest = input.span.bytes
    while rest.byteCount >= 8 {
      let word = UInt64(bigEndian: rest.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self))
      random = SeededRandom(seed: random.next() ^ word)
      rest = rest.extracting(droppingFirst: 8)
    }
    if rest.byteCount > 0 {
      let word = input.suffix(rest.byteCount).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      random = SeededRandom(seed: random.next() ^ word)
    }
    return random
  }
}

extension SeededRandom {
  /// Returns the next `count` bytes, eight from each number.
  fileprivate mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: (count + 7) / 8 * 8)
    var span = bytes.mutableSpan
    var places = span.mutableBytes
    for offset in stride(from: 0, to: count, by: 8) {
      places.storeBytes(of: next().littleEndian, toByteOffset: offset, as: UInt64.self)
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}
