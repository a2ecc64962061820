import AccessoryFormats
import CLinux
import Testing

@testable import Certificates

/// Certificates come from an untrusted peer, so no input may cause a crash, a hang or a leak.
@Suite struct CertificateFuzzTests {
  static func mutated(_ original: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    var bytes = original
    for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      let end = min(bytes.count, place + Int.random(in: 1...40, using: &random))
      switch Int.random(in: 0..<7, using: &random) {
      case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[place] = [0x00, 0x01, 0x7F, 0x80, 0x81, 0x84, 0xFF, 0x30].randomElement(using: &random) ?? 0
      case 2: bytes.removeSubrange(place..<end)
      case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
      case 4: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
      case 5: for index in place..<end { bytes[index] = UInt8.random(in: 0...255, using: &random) }
      default: bytes.removeSubrange(place...)
      }
    }
    return bytes
  }

  static func presented(
    _ bytes: [UInt8], _ generation: CoprocessorGeneration, to verifier: AccessoryVerifier
  )
    throws(CertificateError) -> AccessoryCertificate?
  {
    let certificate = try AccessoryCertificate(bytes)
    let challenge = (try? verifier.challenge(for: bytes)) ?? []
    let response = (try? Sample.of(generation).respond(to: challenge)) ?? []
    let verdict = verifier.judge(response: response, to: challenge, certificate: bytes)
    return verdict == .accepted(warnings: []) ? certificate : nil
  }

  @Test(arguments: CoprocessorGeneration.allCases)
  func mutatedCertificatesAreRefusedOrStillSayWhatWasSigned(_ generation: CoprocessorGeneration) {
    let verifier = AccessoryVerifier()
    var random = SeededRandom(seed: 2024)
    var refused = 0
    var read = 0
    for round in 0..<1_000 {
      let bytes = Self.mutated(Sample.of(generation).certificate, &random)
      do throws(CertificateError) {
        let accepted = try Self.presented(bytes, generation, to: verifier)
        read += 1
        // The envelope is not signed, so it may differ, but the certificate inside must be the original one.
        if let accepted { #expect(accepted.serial == Sample.of(generation).certificateSerial, "round \(round)") }
      } catch {
        refused += 1
        let text = error.description
        #expect(!text.isEmpty && text.utf8.count < 300, "round \(round): \(text)")
      }
    }
    // Some mutations must be refused and others accepted; otherwise, this test would prove nothing.
    #expect(refused > 250 && read > 25, "\(refused) refused, \(read) read")
  }

  @Test(arguments: CoprocessorGeneration.allCases)
  func aChangedByteAnywhereInTheSignedCertificateIsNoticed(_ generation: CoprocessorGeneration) {
    let verifier = AccessoryVerifier()
    for place in Sample.bareRange(generation) where place % 5 == 0 {
      let bytes = Sample.of(generation).certificate.flipped(bit: place * 8 + place % 8)
      let accepted = (try? Self.presented(bytes, generation, to: verifier)) ?? nil
      #expect(accepted == nil, "byte \(place)")
    }
  }

  @Test(arguments: CoprocessorGeneration.allCases)
  func everyTruncationIsRefused(_ generation: CoprocessorGeneration) {
    let whole = Sample.of(generation).certificate
    for count in 0..<whole.count {
      #expect(throws: CertificateError.self) {
        try AccessoryCertificate(Array(whole.prefix(count)))
      }
    }
  }

  @Test func deepAndEndlessNestingIsRefused() {
    let deep = [UInt8](repeating: 0x30, count: 60_000).enumerated().map { $0.offset % 2 == 0 ? 0x30 : 0x80 as UInt8 }
    #expect(throws: CertificateError.self) { try AccessoryCertificate(deep) }
    // Each value contains all the values after it, and its length is correct.
    var honest: [UInt8] = []
    for _ in 0..<60 { honest = [0x30, 0x82, UInt8(honest.count >> 8), UInt8(honest.count & 0xFF)] + honest }
    #expect(DERFault.first(in: honest) == DERFault(offset: 96, what: "values are nested deeper than 24"))
    #expect(throws: CertificateError.self) { try AccessoryCertificate(honest) }
  }

  // Runs in a separate process, because parallel tests also allocate. The work is repeated many times, because leaks
  // add up, whereas random effects and the allocator's caches average out.
  @Test func nothingThatIsReadSignedOrRefusedLeavesMemoryBehind() async {
    await #expect(processExitsWith: .success) {
      var used = [Int(mallinfo2().uordblks)]
      let (window, rounds) = (5, 25)
      var growth = Int.max
      // The smallest allocation is 32 bytes, so a leak costs at least 32 bytes per round. The limit is 16 bytes per
      // round.
      while growth >= window * rounds * 16 {
        precondition(used.count < 60, "bytes in use after each time: \(used)")
        CertificateFuzzTests.useEverything(rounds: UInt64(rounds))
        used.append(Int(mallinfo2().uordblks))
        if used.count > window { growth = used[used.count - 1] - used[used.count - 1 - window] }
      }
    }
  }

  /// Runs every code path that obtains an object from libcrypto, `rounds` times in exactly the same way.
  static func useEverything(rounds: UInt64) {
    var random = SeededRandom(seed: 1)
    for seed in 0..<rounds {
      let verifier = AccessoryVerifier()
      for generation in CoprocessorGeneration.allCases {
        let whole = Sample.of(generation).certificate
        _ = try? presented(whole, generation, to: verifier)
        _ = try? AccessoryCertificate(Sample.bare(generation))
        for _ in 0..<4 {
          let bytes = mutated(whole, &random)
          _ = try? presented(bytes, generation, to: verifier)
        }
      }
      _ = SimulatedCoprocessor(seed: seed).certificate
      _ = Envelope.around(Draft.leaf(CertificateAuthority.key.key).signed(by: CertificateAuthority.key))
      if seed % 50 == 0 { _ = SimulatedCoprocessor(seed: seed, generation: .older).certificate }
    }
  }
}
