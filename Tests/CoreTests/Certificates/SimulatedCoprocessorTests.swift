import Testing

@testable import Certificates

@Suite struct SimulatedCoprocessorTests {
  @Test(arguments: [(CoprocessorGeneration.current, 100, 607, 16), (.older, 10, 908, 15)])
  func everySeedMakesACertificateOfTheSameSize(
    _ generation: CoprocessorGeneration, _ seeds: UInt64, _ size: Int, _ serial: Int
  ) throws {
    for seed in Array(0..<seeds) + [.max] {
      let coprocessor = SimulatedCoprocessor(seed: seed, generation: generation)
      #expect(coprocessor.certificate.count == size, "seed \(seed)")
      let read = try AccessoryCertificate(coprocessor.certificate)
      #expect(read.serial.count == serial && read.serial == coprocessor.certificateSerial, "seed \(seed)")
    }
  }

  // These values were recorded in another process. The test makes sure that all processes, and all versions of easim,
  // derive the same values from a seed.
  @Test func aSeedIsTheSameCoprocessorInEveryProcess() throws {
    let digests = [CertificateAuthority.der, Sample.current.certificate, Sample.older.certificate].map {
      Digests.sha256($0)
    }
    #expect(
      digests == [
        bytes("060602b9d2ff0d183ff871256ea3e910611d20309f1e93f7314c1ea0ffd879f6"),
        bytes("2ff20ef7eece4b04797ace1d428ff17b0f9753d4e88575c8c9f293ac2f8f9f3e"),
        bytes("c6dea3f8271a38fa088588f3fc99e149b8278fd94775fa0610938f6dddc3c2f9"),
      ])
  }

  @Test func seedsAndGenerationsShareNeitherSerialNorKey() throws {
    let others = [
      SimulatedCoprocessor(seed: 8), SimulatedCoprocessor(seed: 7 << 32),
      SimulatedCoprocessor(seed: 7, generation: .older),
    ]
    for other in others {
      #expect(!other.certificateSerial.starts(with: Sample.current.certificateSerial.prefix(8)))
      #expect(other.certificate != Sample.current.certificate)
    }
    let challenge = [UInt8](repeating: 1, count: 32)
    #expect(try others[0].respond(to: challenge) != Sample.current.respond(to: challenge))
  }

  @Test func theCertificateSaysThatItIsNotApples() throws {
    let certificate = try AccessoryCertificate(Sample.current.certificate)
    #expect(
      certificate.issuer
        == "O=easim, CN=easim Simulation Accessories Certification Authority - NOT APPLE")
    #expect(certificate.generation == .current)
    #expect(try AccessoryCertificate(Sample.older.certificate).generation == .older)
    let text = String(decoding: Sample.current.certificate, as: UTF8.self)
    #expect(text.contains("Not Apple's, and no Apple device accepts it."))
  }

  @Test func aChallengeOfAnotherSizeIsRefusedByName() {
    for count in [0, 20, 31, 33, 64] {
      #expect(throws: AuthenticatorError.wrongChallengeSize(expected: 32, actual: count)) {
        try Sample.current.respond(to: [UInt8](repeating: 0, count: count))
      }
    }
    #expect(throws: AuthenticatorError.wrongChallengeSize(expected: 20, actual: 32)) {
      try Sample.older.respond(to: [UInt8](repeating: 0, count: 32))
    }
  }
}
