import AccessoryCables
import AccessoryCore
import AccessoryFaults
import Certificates
import IAP2
import TestSupport
import Testing

@testable import AccessoryCaptures

@Suite struct RedactionTests {
  private static let secrets: [(kind: SecretKind, bytes: [UInt8])] = [
    (.serial, Array("C02XK1AAJG5J".utf8)), (.serial, Array("0F2C41B6-8A1D-4F7E-9C11-2D6E5A7B8C90".utf8)),
    (.name, Array("Glasses of 李 \"Anna\"".utf8)), (.name, Array("Anna's phone".utf8)),
    (.address, [0x3C, 0x06, 0x30, 0x1B, 0x2A, 0x9E]), (.address, Array("3C:06:30:1B:2A:77".utf8)),
    (.certificate, (0..<607).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 3 | 1) }),
    (.certificate, (0..<64).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }),
    (.wifi, Array("HomeOfAnna".utf8)), (.wifi, Array("correct horse battery".utf8)),
    (.wifi, Array("OtherNet42".utf8)), (.location, Array("$GPGGA,123519,4807.038,N,01131.000,E,1".utf8)),
    (.other, Array("+4915123456789".utf8)),
  ]

  static func secret(_ index: Int) -> [UInt8] { secrets[index].bytes }
  private static let appSecret = Array("what the app said to the glasses".utf8)

  // MARK: The exchange

  /// The packets that both sides sent. The packets include messages that are split, repeated, out of order or damaged.
  struct Exchange {
    var packets: [(end: Cable.End, bytes: [UInt8])] = []
    private var numbers: [Cable.End: UInt8] = [.accessory: 10, .device: 200]

    private mutating func add(
      _ end: Cable.End, _ control: ControlBits, _ sequence: UInt8, _ session: UInt8, _ payload: [UInt8]
    ) {
      let header = PacketHeader(
        control: control, sequence: sequence, acknowledgement: 0, session: session, payloadCount: payload.count)
      packets.append((end, PacketWriter.packet(header, payload: payload)))
    }

    mutating func send(_ end: Cable.End, _ payload: [UInt8], session: UInt8 = 1, limit: Int = 4_000) {
      for start in stride(from: 0, to: payload.count, by: limit) {
        numbers[end, default: 0] &+= 1
        add(end, .ack, numbers[end] ?? 0, session, Array(payload[start..<min(start + limit, payload.count)]))
      }
    }

    init() {
      let detection = PacketWriter.detection
      packets = [(.accessory, detection), (.device, detection)]
      let table: [UInt8] = [1, 5, 0x10, 0, 4, 0, 0, 50, 30, 3, 1, 0, 1, 2, 2, 1]
      for (end, control, number) in [(Cable.End.accessory, ControlBits.syn, UInt8(10)), (.device, [.syn, .ack], 200)] {
        add(end, control, number, 0, table)
      }
      func message(_ id: UInt16, _ write: (inout ParameterWriter) -> Void) -> [UInt8] {
        ControlMessage(MessageID(rawValue: id), write).encoded
      }
      func text(_ index: Int) -> String { String(decoding: RedactionTests.secret(index), as: UTF8.self) }
      // The certificate is sent in pieces. The second piece arrives last, and one copy of that piece is damaged.
      send(.accessory, message(0xAA01) { $0.blob(0, RedactionTests.secret(6)) }, limit: 150)
      var damaged = packets[6].bytes
      damaged[40] ^= 0x20
      let second = packets.remove(at: 6)
      packets.append((.accessory, damaged))
      packets += [second, second]
      send(.accessory, message(0xAA03) { $0.blob(0, RedactionTests.secret(7)) })
      send(
        .accessory,
        message(0x1D01) {
          $0.text(0, text(2))
          $0.text(1, "Model of Example")
          $0.text(3, text(0))
          $0.group(10) {
            $0.u8(0, 1)
            $0.text(1, "com.example.glasses")
          }
          $0.group(17) {
            $0.u16(0, 3)
            $0.blob(3, RedactionTests.secret(4))
          }
        }, limit: 61)
      send(.device, message(0x4E09) { $0.text(0, text(3)) })
      send(.device, message(0x4E0C) { $0.text(0, text(1)) })
      send(.device, message(0x4E0E) { $0.text(0, text(5)) })
      send(.device, message(0x4155) { $0.text(0, text(12)) })
      send(
        .device,
        message(0x5701) {
          $0.u8(0, 0)
          $0.text(1, text(10))
        })
      send(
        .accessory,
        message(0x5703) {
          $0.text(1, text(8))
          $0.text(2, text(9))
          $0.u8(3, 2)
        })
      send(.accessory, message(0xFFFB) { $0.text(0, text(11)) })
      send(
        .device,
        message(0xEA00) {
          $0.u8(0, 1)
          $0.u16(1, 7)
        })
      // The app sends the serial number, which is split between two packets, and then other data.
      send(.device, [0, 7] + Array("id=C02XK1".utf8), session: 2)
      send(.device, [0, 7] + Array("AAJG5J;".utf8) + RedactionTests.appSecret, session: 2)
      send(.accessory, [0, 7] + RedactionTests.appSecret, session: 2)
    }
  }

  // MARK: Its forms

  enum Form: String, CaseIterable {
    case pcapng
    case raw
    case transcript
    case json
    case trace
    case log
    case dump
    case usb
    case btsnoop
    case packetLogger
    case bluetoothPcapng

    /// Whether a decoder can join bytes that are not adjacent in the file.
    var isCapture: Bool { ![.transcript, .json, .trace].contains(self) }
    var hasBothEnds: Bool { ![.raw, .dump].contains(self) }
  }

  private static func file(_ form: Form) throws -> [UInt8] {
    let exchange = Exchange()
    switch form {
    case .raw: return exchange.packets.filter { $0.end == .accessory }.flatMap(\.bytes)
    case .pcapng: return pcapng(exchange)
    case .transcript:
      var lines = ""
      let transcript = Transcript { lines += $0 + "\n" }
      for packet in exchange.packets {
        transcript.passed(packet.bytes.span.bytes, from: packet.end, at: .origin)
      }
      return Array(lines.utf8)
    case .json:
      return Array(try DecodedCapture(pcapng(exchange)).entries.map { $0.json(isVerbose: true) + "\n" }.joined().utf8)
    case .usb: return Fixture.pcap(linkType: 220, usbFrames(exchange))
    case .btsnoop:
      return Fixture.btsnoop(
        1002, bluetoothFrames(exchange).map { ([.received: 1, .receivedEvent: 3, .command: 2][$0.kind] ?? 0, $0.h4) })
    case .packetLogger:
      let types: [HCI: Int] = [.command: 0, .receivedEvent: 1, .sent: 2, .received: 3]
      return Fixture.packetLogger(.big, bluetoothFrames(exchange).map { (types[$0.kind] ?? 0, $0.bytes) })
    case .bluetoothPcapng:
      var file = Fixture.section(.little) + Fixture.interface(.little, linkType: 201)
      let comment = Array("Anna's phone is 3c:06:30:1b:2a:9e".utf8)
      let option = Fixture.number(1, 2, .little) + Fixture.number(comment.count, 2, .little) + comment + [0, 0, 0]
      for (index, frame) in bluetoothFrames(exchange).enumerated() {
        let isReceived = frame.kind == .received || frame.kind == .receivedEvent
        file += Fixture.enhanced(
          .little, on: 0, at: index, [0, 0, 0, isReceived ? 1 : 0] + frame.h4,
          options: index == 3 ? option + [0, 0, 0, 0] : [])
      }
      return file
    case .log:
      var lines = "Anna's phone connected\n"
      for (index, packet) in exchange.packets.enumerated() {
        let word = packet.end == .accessory ? "RX" : "TX"
        lines +=
          "12:00:\(10 + index).250 annas-iphone accessoryd[77] Packet \(word) \(packet.bytes.count): "
          + "\(Hex.spaced(packet.bytes).uppercased())\n"
      }
      return Array(lines.utf8)
    case .dump:
      let bytes = exchange.packets.filter { $0.end == .accessory }.flatMap(\.bytes)
      let lines = stride(from: 0, to: bytes.count, by: 16).map { start in
        let part = Array(bytes[start..<min(start + 16, bytes.count)])
        let shown = String(decoding: part.map { 0x20...0x7E ~= $0 ? $0 : 0x2E }, as: UTF8.self)
        let offset = Hex.number(UInt(start), digits: 8, uppercase: false)
        return "\(offset)  \(Hex.spaced(part))\(String(repeating: "   ", count: 16 - part.count))  |\(shown)|\n"
      }
      return Array(lines.joined().utf8)
    case .trace:
      var narrator = PacketNarrator()
      var packets: [String] = []
      for packet in exchange.packets {
        var scanner = PacketScanner()
        scanner.forEach(in: packet.bytes.span.bytes) { piece, bytes in
          var text = "DETECT"
          if case .packet(let header, _) = piece { text = narrator.line(for: header, packet: bytes) }
          let quoted = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
          packets.append(
            "[1,1,\(packet.end == .accessory ? 0 : 1),0,\"\(quoted)\",\"\(Base64.text(packet.bytes))\",0,{}]")
        }
      }
      return Array(
        """
        <!doctype html><html><head><title>passed: easim run</title><style>a > b { color: red }</style></head><body>
        <script type="application/json" id="data">{"easim":"trace","events":[{"v":1,"event":"connect","accessory":\
        {"name":"Glasses of 李 \\"Anna\\"","serial":"C02XK1AAJG5J","protocols":["com.example.glasses"]}}],"packets":[
        \(packets.joined(separator: ",\n"))]}</script><script type="module">const name = "Anna";</script></body></html>
        """.utf8)
    }
  }

  /// Returns a capture whose records split packets at arbitrary places and have comments that name the accessory.
  private static func pcapng(_ exchange: Exchange) -> [UInt8] {
    var writer = PcapngWriter(program: "test")
    var file = writer.begin(comments: ["recorded from Anna's phone"])
    file += writer.interface(named: "timeline", description: "events", .iap2)
    file += writer.interface(named: "usb:serial=C02XK1AAJG5J", description: "Glasses of 李 \"Anna\"", .iap2)
    for packet in exchange.packets {
      for start in stride(from: 0, to: packet.bytes.count, by: 37) {
        let part = Array(packet.bytes[start..<min(start + 37, packet.bytes.count)])
        file += writer.packet(part.span.bytes, on: 1, at: 0, from: packet.end)
      }
    }
    let none: [UInt8] = []
    file += writer.packet(
      none.span.bytes, on: 0, at: 0,
      comments: ["connect Glasses of 李 \"Anna\" at usb:serial=C02XK1AAJG5J, address 3c:06:30:1b:2a:9e"])
    return file
  }

  /// Returns the bytes that each side sent, without the rest of the file.
  private static func contents(_ file: [UInt8], _ form: Form) throws -> [UInt8] {
    guard form.isCapture else { return [] }
    let ends = Dictionary(grouping: try DecodedCapture(file).entries, by: \.from)
    return ends.values.flatMap { $0.flatMap(\.bytes) }
  }

  // MARK: Looking for them

  private static func finds(_ secret: [UInt8], in file: [UInt8], inBase64: Bool = true) -> Bool {
    var forms = [secret, Array(String(decoding: secret, as: UTF8.self).replacing("\"", with: "\\\"").utf8)]
    for text in [Hex.plain(secret), Hex.spaced(secret)] { forms += [Array(text.utf8), Array(text.uppercased().utf8)] }
    for offset in 0..<3 where inBase64 {
      let shifted = Base64.text([UInt8](repeating: 0, count: offset) + secret + [0, 0, 0])
      // The search uses only those base64 digits that depend on the secret alone.
      let first = offset == 0 ? 0 : offset + 1
      forms.append(Array(shifted.utf8.dropFirst(first).prefix(max(4, secret.count * 4 / 3 - 2))))
    }
    return forms.contains { file.firstRange(of: $0) != nil }
  }

  @Test(arguments: Form.allCases) func noSecretIsLeft(form: Form) throws {
    let file = try Self.file(form)
    var redaction = Redaction(keeping: [.payload])
    try redaction.add(file, named: form.rawValue)
    let written = try redaction.finish()[0]
    let redacted = try written + Self.contents(written, form)
    for (kind, secret) in Self.secrets {
      // A transcript shows only a certificate's first bytes.
      let shown = form == .transcript && kind == .certificate ? Array(secret.prefix(8)) : secret
      #expect(!Self.finds(shown, in: redacted), "\(kind) \(Hex.plain(shown.prefix(12)))")
      // Eight bytes are too few to search for as base64, because a match could be a coincidence.
      #expect(!Self.finds(Array(shown.prefix(8)), in: redacted, inBase64: false), "the beginning of \(kind)")
    }
    // A transcript does not show messages that are split.
    let showsModel = form != .transcript
    #expect(Self.finds(Array("Model of Example".utf8), in: redacted) == showsModel, "harmless things are kept")
    if form.isCapture { #expect(written.count == file.count) }
    #expect(!Self.finds(Self.secret(4).reversed(), in: redacted), "an address, its last byte first")
    #expect(!Self.finds(Array("key of Anna".utf8), in: redacted))
    for (kind, _) in Self.secrets where form.hasBothEnds {
      #expect(redaction.names.counts[kind]?.places ?? 0 > 0, "\(kind)")
    }
  }

  @Test(arguments: Form.allCases) func whatTheAppSentIsKeptUnlessItIsToGo(form: Form) throws {
    let file = try Self.file(form)
    for keeps in [true, false] {
      var redaction = Redaction(keeping: keeps ? [.payload] : [])
      try redaction.add(file, named: form.rawValue)
      let written = try redaction.finish()[0]
      let redacted = try written + Self.contents(written, form)
      let shown = form == .transcript ? Array(Self.appSecret.prefix(8)) : Array(Self.appSecret.prefix(20))
      #expect(Self.finds(shown, in: redacted) == keeps, "\(keeps)")
    }
  }

  @Test func anAddressHasTheSameNameInFramesAndInTexts() throws {
    var redaction = Redaction(keeping: [])
    try redaction.add(Self.file(.bluetoothPcapng), named: "a")
    let redacted = try redaction.finish()[0]
    let text = try #require(redacted.firstRange(of: Array(" is 02:00:00:00:00:".utf8)))
    let number = try #require(UInt8(String(decoding: redacted[text.upperBound...].prefix(2), as: UTF8.self), radix: 16))
    #expect(redacted.firstRange(of: [number, 0, 0, 0, 0, 2]) != nil)
  }

  @Test func truncatedSecretsAreReplacedInTheSameWayInEachRun() {
    let secrets = ["Anna's phone", "Anna's pad", "Anna's watch", "Anna's car"]
    let replaced = (0..<20).map { _ in
      var names = SecretNames()
      for secret in secrets { names.add(secret.utf8, .name) }
      var text = Array("of Anna's".utf8)
      names.replaceTail(of: &text)
      return String(decoding: text, as: UTF8.self)
    }
    #expect(Set(replaced) == ["of name-1"])
  }

  @Test func theSameSecretIsTheSameEverywhereAndInAllFiles() throws {
    var redaction = Redaction(keeping: [.payload])
    try redaction.add(Self.file(.pcapng), named: "a")
    try redaction.add(Self.file(.json), named: "b")
    let redacted = try redaction.finish()
    let name = Array("serial-".utf8)
    let first = try #require(redacted[0].firstRange(of: name))
    let whole = redacted[0][first.lowerBound..<first.lowerBound + 12]
    #expect(redacted[1].firstRange(of: Array(whole)) != nil)
  }

  @Test func aKindCanBeKept() throws {
    var redaction = Redaction(keeping: [.payload, .name])
    try redaction.add(Self.file(.pcapng), named: "a")
    let redacted = try redaction.finish()[0]
    #expect(Self.finds(Self.secret(3), in: redacted) && !Self.finds(Self.secret(0), in: redacted))
    #expect(redaction.names.counts[.name] == nil)
  }

  @Test func addressesAndUsersInTextsAreFoundWithoutAMessage() throws {
    let lines = """
      {"v":1,"t":0.1,"event":"attach","on":"bt:hci0#5C:17:CF:00:11:22"}
      {"v":1,"t":0.2,"event":"note","text":"saved as /\("home")/anna/captures/file-0001.bin, local:#EW7-0042, plugged in"}
      {"v":1,"t":0.3,"event":"note","text":"usb:serial=F4GTX9 is gone; 5c17cf001122"}
      """
    var redaction = Redaction(keeping: [.payload])
    try redaction.add(Array(lines.utf8), named: "log")
    let text = String(decoding: try redaction.finish()[0], as: UTF8.self)
    for secret in ["5C:17:CF:00:11:22", "anna", "EW7-0042", "F4GTX9", "5c17cf001122"] {
      #expect(!text.contains(secret), "\(text)")
    }
    #expect(text.contains("bt:hci0#02:00:00:00:00:01") && text.contains("020000000001"), "\(text)")
  }

  // MARK: Reports

  @Test(arguments: [["check.json", "check-show.html"], ["burst-merge.json", "burst-merge.xml"]])
  func reportsAreRedactedWithTheirJSON(names: [String]) throws {
    let files = try names.map { Array(try Repository.text("Tests/Golden/\($0)").utf8) }
    var redaction = Redaction(keeping: [.payload])
    for file in files { try redaction.add(file, named: "report") }
    let redacted = try redaction.finish()
    for (before, after) in zip(files, redacted) {
      #expect(before.firstRange(of: Array("EW1-0001".utf8)) != nil)
      #expect(after.firstRange(of: Array("EW1-0001".utf8)) == nil)
    }
    var alone = Redaction(keeping: [.payload])
    try alone.add(files[1], named: "report")
    #expect(throws: RedactionRefusal.self) { try alone.finish() }
  }

  // MARK: Refusals

  @Test func whatIsNotUnderstoodIsRefused() throws {
    let capture = try Self.file(.pcapng)
    var foreign = capture
    // This is a block of names as Wireshark writes it.
    foreign += [4, 0, 0, 0, 12, 0, 0, 0, 12, 0, 0, 0]
    let transcript = try Self.file(.transcript) + Array("and Anna says hello\n".utf8)
    let refused: [(String, [UInt8])] = [
      ("a block of type 4", foreign), ("in the middle of a block", Array(capture.dropLast(3))),
      ("is not a line of a transcript", transcript), ("gunzip", [0x1F, 0x8B, 8, 0]),
      ("x: ", Array("hello Anna\n".utf8)), ("no iAP2", [0x89, 0x50, 0x4E, 0x47, 0xFF, 0x00]),
      ("link type 1", Fixture.pcap(linkType: 1, [Self.secret(0)])),
      ("not valid JSON", Array("{\"a\": }".utf8)), ("unclosed", Array("<a><b".utf8)),
    ]
    for (reason, file) in refused {
      var redaction = Redaction(keeping: [])
      do throws(RedactionRefusal) {
        try redaction.add(file, named: "x")
        _ = try redaction.finish()
        Issue.record("\(reason): was not refused")
      } catch { #expect("\(error)".contains(reason), "\(error)") }
    }
  }
}
