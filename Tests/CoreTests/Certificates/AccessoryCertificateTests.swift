import Testing

@testable import Certificates

@Suite struct AccessoryCertificateTests {
  @Test(arguments: CoprocessorGeneration.allCases)
  func aBareCertificateIsRecognisedAndRefused(_ generation: CoprocessorGeneration) {
    let bare = Sample.bare(generation)
    #expect(throws: CertificateError.bareX509(byteCount: bare.count)) { try AccessoryCertificate(bare) }
  }

  @Test func bytesOfOtherKindsAreNamed() {
    #expect(throws: CertificateError.empty) { try AccessoryCertificate([]) }
    #expect(throws: CertificateError.stub) { try AccessoryCertificate(StubAuthenticator(seed: 1).certificate) }
    #expect(throws: CertificateError.pemText) {
      try AccessoryCertificate(Array("-----BEGIN CERTIFICATE-----\nMIIB".utf8))
    }
    let noise = (0..<200).map { UInt8($0) }
    #expect(throws: CertificateError.notDER(first: Array(noise.prefix(16)), byteCount: 200)) {
      try AccessoryCertificate(noise)
    }
  }

  @Test func soundDEROfAnotherKindIsNoEnvelope() {
    // SEQUENCE { INTEGER 1 }
    #expect(throws: CertificateError.self) { try AccessoryCertificate([0x30, 3, 2, 1, 1]) }
    // A ContentInfo of type `data` is valid PKCS#7, but it is not signed data.
    let data = bytes("300f06092a864886f70d010701a0020400")
    #expect(throws: CertificateError.notAnEnvelope(reason: "the content is pkcs7-data", first: Array(data.prefix(16))))
    {
      try AccessoryCertificate(data)
    }
  }

  @Test func anEnvelopeWithoutACertificateIsNamed() {
    // These bytes are SignedData, version 1, without algorithms, certificates or signers.
    let empty = bytes("302306092a864886f70d010702a0163014020101" + "3100300b06092a864886f70d010701" + "3100")
    #expect(throws: CertificateError.wrongNumber(of: 0, limit: 8)) { try AccessoryCertificate(empty) }
  }

  @Test func whatFollowsTheEnvelopeIsShown() {
    #expect(throws: CertificateError.trailingBytes(offset: 607, bytes: [0xDE, 0xAD])) {
      try AccessoryCertificate(Sample.current.certificate + [0xDE, 0xAD])
    }
  }

  @Test func everyTruncationSaysHowMuchIsMissing() {
    let whole = Sample.current.certificate
    for count in [5, 300, 606] {
      let cut = Array(whole.prefix(count))
      #expect(
        throws: CertificateError.damaged(
          offset: 0, what: "a value of 603 bytes, but only \(count - 4) are left", bytes: Array(cut.prefix(16)))
      ) { try AccessoryCertificate(cut) }
    }
    for count in 1...3 {
      #expect(
        throws: CertificateError.damaged(
          offset: 0, what: "an incomplete tag or length", bytes: Array(whole.prefix(count)))
      ) { try AccessoryCertificate(Array(whole.prefix(count))) }
    }
  }

  /// If the input ends after the four bytes that hold the tag and the length, libcrypto 3.0.19 reports an incomplete
  /// header, and libcrypto 3.0.22 reports a missing value. Either report is correct.
  @Test func aHeaderWithNothingBehindItIsDamaged() {
    let header = Array(Sample.current.certificate.prefix(4))
    let answers = ["an incomplete tag or length", "a value of 603 bytes, but only 0 are left"]
    let error = #expect(throws: CertificateError.self) { try AccessoryCertificate(header) }
    #expect(answers.map { .damaged(offset: 0, what: $0, bytes: header) }.contains(error))
  }

  @Test func aWrongLengthDeepInsideIsFoundWhereItStands() {
    var damaged = Sample.current.certificate
    // The test corrupts the length of the serial number, whose tag is at byte 58 and whose length is at byte 59.
    #expect(Array(damaged[58..<60]) == [0x02, 0x10])
    damaged[59] = 0xFF
    #expect(
      throws: CertificateError.damaged(
        offset: 58, what: "an incomplete tag or length", bytes: Array(damaged[58..<74]))
    ) { try AccessoryCertificate(damaged) }
  }

  @Test func keysThatNoCoprocessorHasAreNamed() throws {
    let authority = CertificateAuthority.key
    func refusal(_ key: OpaquePointer) -> CertificateError? {
      do throws(CertificateError) {
        _ = try AccessoryCertificate(Envelope.around(Draft.leaf(key).signed(by: authority)))
        return nil
      } catch {
        return error
      }
    }
    let ed25519 = try #require(ForeignKey.ed25519())
    #expect(refusal(ed25519.key) == .unusableKey("ED25519 of 256 bits"))
    let p384 = try #require(ForeignKey.named("EC", group: "secp384r1"))
    #expect(refusal(p384.key) == .unusableKey("on the curve secp384r1"))
    let rsa = try #require(ForeignKey.named("RSA", bits: 2048))
    #expect(refusal(rsa.key) == .unusableKey("RSA-2048"))
    #expect(refusal(authority.key) == nil)
  }
}
