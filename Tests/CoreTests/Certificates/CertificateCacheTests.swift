import Testing

@testable import Certificates

@Suite struct CertificateCacheTests {
  func entry(_ seed: UInt64) throws -> CertificateCache.Entry {
    let certificate = try AccessoryCertificate(SimulatedCoprocessor(seed: seed).certificate)
    return .init(certificate: certificate, chainProblem: "\(seed)")
  }

  @Test func theOldestMakesRoom() throws {
    var cache = CertificateCache(capacity: 3)
    let entries = try (0..<8).map { try entry($0) }
    for (index, entry) in entries.enumerated() {
      cache.keep(entry)
      #expect(cache.count == min(3, index + 1))
      let kept = entries.indices.filter { cache[entries[$0].certificate.bytes] != nil }
      #expect(kept == Array(max(0, index - 2)...index))
    }
    #expect(cache[entries[7].certificate.bytes]?.chainProblem == "7")
  }

  @Test func aCertificateKeptTwiceTakesOnePlace() throws {
    var cache = CertificateCache(capacity: 2)
    let (first, second) = (try entry(1), try entry(2))
    for _ in 0..<5 { cache.keep(first) }
    cache.keep(second)
    #expect(cache.count == 2)
    #expect(cache[first.certificate.bytes] != nil)
  }

  @Test func whatIsTooLargeIsNotKept() throws {
    var cache = CertificateCache(capacity: 2, largest: 606)
    cache.keep(try entry(1))
    #expect(cache.count == 0)
  }

  // All calls return the same parsed object, so nothing was parsed or verified again.
  @Test func verifiersReadTheSameBytesOnce() throws {
    let verifier = AccessoryVerifier()
    let first = try verifier.known(Sample.current.certificate)
    let again = try verifier.known(Array(Sample.current.certificate))
    #expect(first.certificate.parsed === again.certificate.parsed)
    let elsewhere = try AccessoryVerifier().known(Sample.current.certificate)
    #expect(first.certificate.parsed === elsewhere.certificate.parsed)
  }
}
