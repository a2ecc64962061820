import TestSupport
import Testing

/// Tests `easim run --signer`, which gets its certificate and signatures from another program, here openssl.
@Suite(.waits) struct SignerTests {
  private static let example = "\(Repository.root)/Examples/Signer/openssl-signer"

  let place = TemporaryFolder()

  /// Returns a key and its certificate in the formats that the example signer reads.
  private func makeIdentity(
    _ name: String = "mine", comment: String = "test"
  ) throws -> (key: String, certificate: String) {
    let (key, pem, der) = ("\(place.path)/\(name).pem", "\(place.path)/\(name).crt", "\(place.path)/\(name).der")
    for line in [
      ["ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", key],
      [
        "req", "-x509", "-new", "-key", key, "-subj", "/CN=signer", "-days", "30", "-out", pem, "-addext",
        "nsComment=\(comment)",
      ],
      ["crl2pkcs7", "-nocrl", "-certfile", pem, "-outform", "DER", "-out", der],
    ] {
      let made = try Program(path: "/usr/bin/openssl", line).wait()
      try #require(made.ending == .exit(0), "\(made.err)")
    }
    return (key, der)
  }

  @Test func theExampleSignerAuthenticatesAnAccessory() throws {
    let (key, certificate) = try makeIdentity()
    let accessory = try Accessory(on: .unix, in: place, "--signer", "exec:\(Self.example) \(key) \(certificate)")
    let send = try Program.run("send", accessory.address, "--10k", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    #expect(send.out.contains("authentication: succeeded"), "\(send.out)")
    #expect(send.out.contains("the certificate's issuer is unknown"), "\(send.out)")
  }

  /// easim infers the coprocessor's generation from the type of key, although other emulators go by the size of the
  /// certificate.
  @Test func aCertificateOf900BytesWithAP256KeyIsSentALongChallenge() throws {
    let (key, certificate) = try makeIdentity(comment: String(repeating: "long ", count: 80))
    let accessory = try Accessory(on: .unix, in: place, "--signer", "exec:\(Self.example) \(key) \(certificate)")
    let send = try Program.run("send", accessory.address, "--10k", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
  }

  @Test func aSignatureOfAnotherKeyIsRefused() throws {
    let (_, certificate) = try makeIdentity("one")
    let (key, _) = try makeIdentity("other")
    let accessory = try Accessory(on: .unix, in: place, "--signer", "exec:\(Self.example) \(key) \(certificate)")
    let send = try Program.run("send", accessory.address, "--10k")
    #expect(send.ending == .exit(6), "\(send.out)\(send.err)")
    #expect(send.err.contains("authentication failed (AA04): the response signs neither"), "\(send.err)")
  }

  @Test(arguments: [
    ("exec:/nowhere/signer", "No such file or directory"), ("unix:/nowhere/signer.sock", "No such file or directory"),
    ("chip", "write exec:COMMAND or unix:PATH"), ("exec:", "write exec:COMMAND or unix:PATH"),
    ("exec:echo no", "answered 'certificate' with 'no', which is not hex"), ("exec:echo 308", "which is not hex"),
    ("exec:echo", "with an empty line"), ("exec:echo error the chip is asleep", "the chip is asleep"),
    ("exec:true", "did not answer 'certificate': the program ended"),
    ("exec:echo no bus >&2; exit 3", "the program ended with status 3; the last line of its stderr: no bus"),
  ])
  func aSignerThatCannotBeUsedIsAnErrorBeforeAnythingIsPluggedIn(_ signer: String, _ reason: String) throws {
    let run = try Program.run("run", "echo", "--on", "unix:\(place.path)/a.sock", "--signer", signer)
    #expect(run.ending == .exit(2), "\(run.out)\(run.err)")
    #expect(run.err.contains("--signer: the signer "), "\(run.err)")
    #expect(run.err.contains(reason), "\(run.err)")
  }

  @Test(arguments: [
    ("echo 00", "the response has 1 bytes instead of 64"), ("echo 0", "which is not hex"),
    ("exit 4", "did not answer 'sign': the program ended with status 4"), ("echo error busy", "with: error busy"),
  ])
  func aWrongAnswerToAChallengeIsLoggedAndNotSent(_ answer: String, _ reason: String) throws {
    let (key, certificate) = try makeIdentity()
    let signer = """
      read -r line; echo certificate | \(Self.example) \(key) \(certificate); read -r line; \(answer); cat >/dev/null
      """
    let accessory = try Accessory(on: .unix, in: place, "--signer", "exec:\(signer)")
    let send = try Program.run("send", accessory.address, "--10k", "--timeout", "3s")
    #expect(send.ending != .exit(0), "\(send.out)\(send.err)")
    let log = try accessory.interrupt().out
    #expect(log.contains("the challenge cannot be answered: ") && log.contains(reason), "\(log)")
  }

  @Test func aCertificateThatDevicesWouldRefuseIsAWarning() throws {
    let accessory = try Accessory(on: .unix, in: place, "--signer", "exec:echo 010203; cat >/dev/null")
    let log = try accessory.interrupt().err
    #expect(log.contains("an Apple device would refuse the signer's certificate: 3 bytes"), "\(log)")
  }
}
