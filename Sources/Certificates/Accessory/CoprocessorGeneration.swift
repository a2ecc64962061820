/// The two generations of authentication coprocessor that accessories carry, by what they show on the wire.
public enum CoprocessorGeneration: CaseIterable, Equatable, Sendable {
  /// 3.0: a P-256 key and a certificate of about 600 bytes.
  case current
  /// 2.0B and 2.0C: an RSA-1024 key and a certificate of about 900 bytes.
  case older

  /// How many bytes of AA01 a simulated coprocessor presents: the size seen most. Real ones differ by a byte or two.
  public var certificateByteCount: Int {
    switch self {
    case .current: 607
    case .older: 908
    }
  }

  /// The size of the serial in the certificate, the `certSerial` that apps see.
  public var serialByteCount: Int {
    switch self {
    case .current: 16
    case .older: 15
    }
  }

  /// The size of the challenge in AA02: one digest, SHA-256 or SHA-1.
  public var challengeByteCount: Int {
    switch self {
    case .current: 32
    case .older: 20
    }
  }

  /// The size of the response in AA03: r and s side by side, or one RSA number.
  public var responseByteCount: Int {
    switch self {
    case .current: 64
    case .older: 128
    }
  }

  /// The kind of key, for messages: "P-256".
  public var keyName: String {
    switch self {
    case .current: "P-256"
    case .older: "RSA-1024"
    }
  }
}

/// What a coprocessor signs when it is given a challenge. The specification is not public and the sources disagree, so
/// this is a setting: of a simulated coprocessor, and of what a verifier accepts.
public enum ChallengeReading: Equatable, Sendable {
  /// The challenge is the digest that gets signed. Its sizes suggest this: 32 bytes is SHA-256, 20 is SHA-1.
  case digest
  /// The challenge is a message, which is hashed first.
  case hashed

  /// The digest that a coprocessor of `generation` signs.
  func digest(of challenge: [UInt8], for generation: CoprocessorGeneration) -> [UInt8] {
    switch (self, generation) {
    case (.digest, _): challenge
    case (.hashed, .current): Digests.sha256(challenge)
    case (.hashed, .older): Digests.sha1(challenge)
    }
  }
}
