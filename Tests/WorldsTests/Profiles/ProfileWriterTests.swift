import AccessoryFormats
import Testing

@testable import AccessoryProfiles

@Suite struct ProfileWriterTests {
  @Test func onlyWhatDiffersFromTheDefaultsIsWritten() throws {
    var profile = try ProfileLibrary().profile("lawk-view")
    profile.summary = ""
    #expect(
      profile.text(comment: "Imported from a dump.\n\nBy hand.") == """
        // Imported from a dump.
        //
        // By hand.
        {
          version: 1,
          accessory: {
            name: "李未可 View AI眼镜",
            manufacturer: "李未可",
            modelNumber: "LAWK View",
            serialNumber: "040025380108A000608",
            ppid: "cf9734dfae8b4078",
            regionCode: null,
            firmwareRevision: "1",
            firmwareRevisionPending: null,
            hardwareRevision: "1",
            dockType: "",
            currentLanguage: "zh",
            supportedLanguages: ["zh", "en"],
            protocols: ["com.lawaken.iap2"],
          },
          behavior: "echo",
        }

        """)
  }

  @Test(arguments: [JSON5Writer.Style.json5, .json])
  func everyShippedProfileIsReadBackAsItWasWritten(style: JSON5Writer.Style) throws {
    for (name, _) in ProfileLibrary().names {
      let profile = try ProfileLibrary().template(name).profile
      let text = profile.text(comment: "x", as: style)
      let again = try ProfileLibrary().template(text: Array(text.utf8), file: "f", name: name).profile
      #expect(again == profile, "\(name)")
    }
  }

  @Test func anyProfileIsReadBackAsItWasWritten() throws {
    var random = SeededRandom(seed: 17)
    for _ in 0..<300 {
      let profile = try randomProfile(&random)
      let text = profile.text(comment: "made by chance")
      let again = try ProfileLibrary().template(text: Array(text.utf8), file: "f", name: "p").profile
      #expect(again == profile, "\(text)")
    }
  }

  private func randomProfile(_ random: inout SeededRandom) throws -> Profile {
    func flip() -> Bool { .random(using: &random) }
    func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }
    let words = ["a", "李未可", "\"quoted\"", "two\nlines", "{index:03}", "", "\\", "x"]
    func word() -> String { words[number(0...words.count - 1)] }
    var identity = Profile.Identity(
      name: word(), manufacturer: word(), modelNumber: word(), serialNumber: word(), firmwareRevision: word(),
      hardwareRevision: word())
    if flip() { identity.productPlanUID = word() }
    if flip() { identity.regionCode = word() }
    if flip() { identity.firmwareRevisionPending = word() }
    if flip() { identity.supportedLanguages = ["en", word()] }
    var profile = Profile(name: "p", identity: identity)
    profile.summary = word()
    profile.behavior = randomBehavior(&random)
    if flip() {
      profile.transports = [
        .init(.usbDevice, id: 7, name: word()), .init(.bluetooth(.init(UInt64(number(0...99)))), id: 8, name: "b"),
        .init(.serial, id: 9, name: "s", supportsIAP2: false),
      ]
    }
    profile.protocols = (0..<number(0...4)).map { index in
      .init(
        "com.example.p\(index)", id: UInt8(flip() ? index : 100 + index),
        matchAction: .init(rawValue: UInt8(number(0...4))), behavior: flip() ? randomBehavior(&random) : nil,
        nativeTransportComponent: flip() ? profile.transports[0].id : nil)
    }
    if flip() {
      profile.link.maximumOutstandingPackets = UInt8(number(8...127))
      profile.link.retransmissionTimeout = .milliseconds(number(20...65_535))
      profile.link.cumulativeAcknowledgementTimeout = .microseconds(number(10_000...32_767_000))
      profile.link.maximumPacketLength = UInt16(number(24...65_535))
    }
    if flip() {
      profile.link.maximumRetransmissions = UInt8(number(1...30))
      profile.link.maximumCumulativeAcknowledgements = UInt8(number(0...8))
      profile.link.zeroAcknowledgement = flip()
      profile.link.fileTransferSession = 3
    }
    if flip() { profile.authentication = .init(flip() ? .older : .current, challenge: flip() ? .digest : .hashed) }
    if flip() { profile.authentication.certData = number(0...65_535) }
    if flip() { profile.power.maximumCurrent = UInt16(number(0...65_535)) }
    if flip() { profile.messages.sent = [.name("RequestAppLaunch"), .id(UInt16(number(0...65_535)))] }
    if flip() { (profile.usb.vendor, profile.usb.productString, profile.usb.speed) = (0xBEEF, word(), .full) }
    for quirk in Quirk.format.examples where flip() { profile.apply(quirk) }
    if flip() { profile.apply(try Quirk("flicker,device,jitter=12us")) }
    return profile
  }

  private func randomBehavior(_ random: inout SeededRandom) -> Behavior {
    func bytes() -> [UInt8] {
      (0..<Int.random(in: 1...5, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return .sink(check: .random(using: &random))
    case 1: return .source(.init(rate: 7, chunk: 3, pattern: .text("tick\r\n"), total: 9))
    case 2: return .source(.init(pattern: .random))
    case 3: return .exec(.init("sh", ["-c", "cat; exit 0"], environment: .random(using: &random) ? ["A=1"] : []))
    case 4:
      let framings: [Script.Framing] = [.any, .fixed(4), .delimiter(bytes())]
      return .script(
        Script(
          framing: framings[Int.random(in: 0..<3, using: &random)],
          rules: [
            .init(request: bytes(), response: bytes(), delay: .milliseconds(3)), .init(request: bytes(), response: []),
          ], otherwise: .random(using: &random) ? bytes() : nil))
    default: return .echo
    }
  }
}
