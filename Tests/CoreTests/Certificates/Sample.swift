@testable import Certificates

enum Draft {
  static func leaf(_ key: OpaquePointer) -> CertificateDraft {
    CertificateDraft(
      serial: [0x41, 2, 3], subject: .init(organisation: "tests", commonName: "leaf"),
      issuer: CertificateAuthority.name, publicKey: key, extensions: [])
  }
}

/// One coprocessor of each generation, created once.
enum Sample {
  static let current = SimulatedCoprocessor(seed: 7)
  static let older = SimulatedCoprocessor(seed: 7, generation: .older)

  static func of(_ generation: CoprocessorGeneration) -> SimulatedCoprocessor {
    switch generation {
    case .current: current
    case .older: older
    }
  }

  /// Returns the range of the X.509 certificate in an envelope made by easim. The certificate follows 45 bytes of
  /// headers and precedes an empty SET.
  static func bareRange(_ generation: CoprocessorGeneration) -> Range<Int> {
    45..<generation.certificateByteCount - 2
  }

  static func bare(_ generation: CoprocessorGeneration) -> [UInt8] {
    Array(of(generation).certificate[bareRange(generation)])
  }
}
