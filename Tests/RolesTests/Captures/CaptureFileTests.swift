import AccessoryCables
import IAP2
import Testing

@testable import AccessoryCaptures

@Suite struct CaptureFileTests {
  @Test(arguments: [false, true]) func pcapIsReadInBothByteOrdersAndResolutions(_ nanoseconds: Bool) throws {
    for order in [ByteOrder.little, .big] {
      let capture = try DecodedCapture(Fixture.pcap(order, nanoseconds: nanoseconds, Fixture.vectors))
      #expect(capture.form == .pcap)
      #expect(Fixture.texts(capture) == Fixture.texts)
      #expect(capture.isSound)
      #expect(capture.entries.last?.line.hasPrefix("0.004000 D DATA seq=67") == true)
      #expect(capture.summary == "4 packets")
    }
  }

  @Test func whatTheWriterWritesIsReadAgain() throws {
    let capture = try DecodedCapture(Fixture.pcapng())
    #expect(capture.form == .pcapng)
    #expect(capture.isSound)
    #expect(capture.entries.first?.line == "0.000000 CABLE 1: unix:/tmp/a, Lawk View")
    let lines = zip(Fixture.texts.indices, Fixture.texts).map {
      "0.00\($0)000 \(Fixture.isFromAccessory[$0] ? "A" : "D") \($1)"
    }
    #expect(capture.entries.dropFirst().map(\.line) == lines)
    let json = try #require(capture.entries.last).json(isVerbose: false)
    #expect(
      json.hasPrefix(#"{"v":1,"event":"packet","packet":5,"t":0.004000,"cable":1,"offset":42,"length":27,"from":"D""#))
  }

  @Test func theWritersFirstBlocksAreTheseBytes() throws {
    var writer = PcapngWriter(program: "e")
    #expect(
      Hex.plain(writer.begin())
        == "0a0d0d0a28000000" + "4d3c2b1a01000000ffffffffffffffff" + "0400010065000000" + "00000000" + "28000000")
    #expect(
      Hex.plain(writer.interface(named: "a", description: "", .iap2))
        == "0100000028000000" + "9300000000000000" + "0200010061000000" + "0900010009000000" + "00000000" + "28000000")
    let bytes: [UInt8] = [1, 2, 3]
    #expect(
      Hex.plain(writer.packet(bytes.span.bytes, on: 0, at: 1 << 32 + 5, from: .device))
        == "0600000030000000" + "000000000100000005000000" + "0300000003000000" + "01020300" + "0200040002000000"
        + "00000000" + "30000000")
  }

  @Test(arguments: [true, false]) func pcapngOfOthersIsReadInBothByteOrders(_ isLittle: Bool) throws {
    let order = isLittle ? ByteOrder.little : .big
    var bytes = Fixture.section(order)
    bytes += Fixture.interface(order, linkType: 1)
    // These options specify a time resolution of 1/1,024 second and an offset of half an hour.
    let options = Fixture.number(9, 2, order) + Fixture.number(1, 2, order) + [0x8A, 0, 0, 0]
    bytes += Fixture.interface(order, linkType: 147, options: options)
    bytes += Fixture.block(0x0BAD, order, [1, 2, 3, 4])
    bytes += Fixture.enhanced(order, on: 0, at: 0, [1, 2, 3])
    bytes += Fixture.enhanced(order, on: 1, at: 1_024, Fixture.vectors[0])
    bytes += Fixture.enhanced(order, on: 1, at: 1_536, Fixture.vectors[1])
    // The second section declares different interfaces.
    bytes += Fixture.section(order == .little ? .big : .little)
    bytes += Fixture.interface(order == .little ? .big : .little, linkType: 147)
    bytes += Fixture.block(
      3, order == .little ? .big : .little,
      Fixture.number(6, 4, order == .little ? .big : .little) + Fixture.vectors[0])
    let capture = try DecodedCapture(bytes)
    #expect(
      capture.entries.map(\.line) == [
        "1.000000 CABLE 1: interface 1", "1.000000 D DETECT", "1.500000 D \(Fixture.texts[1])",
        "1.500000 CABLE 2: interface 2", "1.500000 D2 DETECT", "not iAP2: 1 packet of link type 1",
      ])
    #expect(capture.isSound)
  }

  @Test func commentsAreLinesAndLostPacketsProblems() throws {
    var writer = PcapngWriter(program: "tests")
    var bytes = writer.begin()
    bytes += writer.interface(named: "timeline", description: "", .iap2)
    let none: [UInt8] = []
    bytes += writer.packet(none.span.bytes, on: 0, at: 2_000, comments: ["plugged in\u{1B}[2J", "seed 7"])
    bytes += Fixture.enhanced(.little, on: 0, at: 0, Fixture.vectors[0], options: [4, 0, 8, 0, 9, 0, 0, 0, 0, 0, 0, 0])
    let capture = try DecodedCapture(bytes)
    #expect(
      capture.entries.map(\.line).prefix(2) == ["0.000000 * plugged in\u{FFFD}[2J", "0.000000 * seed 7"])
    let place = bytes.count - 48 - 4
    #expect(Fixture.problems(capture).count == 2)
    #expect(Fixture.problems(capture)[0] == "byte \(place): the recorder lost 9 packets before this one")
    #expect(Fixture.problems(capture)[1] == "byte \(place): packet 2 is older than the packet before it")
    #expect(!capture.isSound)
  }

  @Test func usbTransfersOfSeveralDevicesAreKeptApart() throws {
    var frames: [[UInt8]] = [Fixture.usb("C", endpoint: 0x81, device: 3, [0x55, 0x53, 0x42, 0x53])]
    for (vector, isFromAccessory) in zip(Fixture.vectors, Fixture.isFromAccessory) {
      for device: UInt8 in [5, 6] {
        // Each transfer is split into halves, and the halves for the two devices are interleaved.
        frames.append(
          Fixture.usb(isFromAccessory ? "C" : "S", endpoint: isFromAccessory ? 0x81 : 0x02, device: device, vector))
        // Each transfer has one record for its submission and one for its completion. Only one of the two records
        // contains data.
        frames.append(
          Fixture.usb(isFromAccessory ? "S" : "C", endpoint: isFromAccessory ? 0x81 : 0x02, device: device, []))
      }
    }
    let capture = try DecodedCapture(Fixture.pcap(.little, linkType: 220, frames))
    #expect(Fixture.texts(capture) == Fixture.texts.flatMap { [$0, $0] })
    let cables = capture.entries.filter { $0.event == .cable }.map(\.text)
    #expect(cables == ["CABLE 1: USB bus 2, device 5", "CABLE 2: USB bus 2, device 6"])
    #expect(capture.entries.last?.line == "not iAP2: 1 stream with 1 transfer, 4 bytes")
    #expect(
      capture.entries.filter { $0.header != nil }.map(\.from) == ["IN", "IN", "OUT", "OUT", "OUT", "OUT", "OUT", "OUT"])
    #expect(capture.isSound)
  }

  @Test func aTransferThatTheRecorderCutIsAProblem() throws {
    let whole = Fixture.usb("C", endpoint: 0x81, device: 5, Fixture.vectors[0])
    let cut = Fixture.usb("C", endpoint: 0x81, device: 5, Array(Fixture.vectors[1].prefix(12)), length: 26)
    let capture = try DecodedCapture(Fixture.pcap(.little, linkType: 220, [whole, cut]))
    #expect(Fixture.problems(capture) == ["byte 110: packet 2: the recorder kept 12 of 26 bytes"])
    #expect(!capture.isSound)
  }

  @Test(arguments: [1_021, 11, 1]) func rfcommIsPutTogetherFromFragmentsInEveryForm(_ size: Int) throws {
    let frames = Fixture.bluetooth(size: size)
    let h4 = frames.map { [2] + $0.bytes }
    let files: [(CaptureForm, [UInt8])] = [
      (.pcap, Fixture.pcap(.little, linkType: 187, h4)),
      (.pcap, Fixture.pcap(.little, linkType: 201, zip(frames, h4).map { [0, 0, 0, $0.isReceived ? 1 : 0] + $1 })),
      (.pcap, Fixture.pcap(.little, linkType: 254, frames.map { [0, 0, 0, $0.isReceived ? 5 : 4] + $0.bytes })),
      (.btsnoop, Fixture.btsnoop(1001, frames.map { ($0.isReceived ? 1 : 0, $0.bytes) })),
      (.btsnoop, Fixture.btsnoop(1002, zip(frames, h4).map { ($0.isReceived ? 1 : 0, $1) })),
      (.btsnoop, Fixture.btsnoop(2001, frames.map { ($0.isReceived ? 5 : 4, $0.bytes) })),
      (.packetlogger, Fixture.packetLogger(.big, frames.map { ($0.isReceived ? 3 : 2, $0.bytes) })),
      (.packetlogger, Fixture.packetLogger(.little, frames.map { ($0.isReceived ? 3 : 2, $0.bytes) })),
    ]
    for (index, (form, bytes)) in files.enumerated() {
      let capture = try DecodedCapture(bytes)
      #expect(capture.form == form)
      // If an H4 capture does not record the direction, only the first fragment of each payload reveals it.
      if index == 0, size < 1_021 { continue }
      #expect(Fixture.texts(capture) == Fixture.texts, "file \(index)")
      #expect(capture.entries.first?.text == "CABLE 1: Bluetooth handle 42, RFCOMM channel 3")
      #expect(capture.isSound)
    }
  }

  @Test func aMissingOrDamagedFragmentIsAProblemAndTheRestIsRead() throws {
    var frames = Fixture.bluetooth(size: 11)
    let first = try #require(frames.firstIndex { $0.bytes[1] >> 4 & 3 == 1 && !$0.isReceived })
    frames.remove(at: first)
    let capture = try DecodedCapture(Fixture.btsnoop(1001, frames.map { ($0.isReceived ? 1 : 0, $0.bytes) }, drops: 1))
    #expect(Fixture.problems(capture).count == 2)
    #expect(Fixture.problems(capture).contains { $0.hasSuffix("the rest of a fragmented payload is missing") })
    #expect(Fixture.problems(capture).contains { $0.hasSuffix("the recorder lost 1 packet") })
    #expect(Fixture.texts(capture) == Fixture.texts.enumerated().filter { $0.offset != 2 }.map(\.element))
  }

  @Test func aWrongChecksumOfRFCOMMIsAProblemOnAKnownChannelOnly() throws {
    var frames = Fixture.bluetooth(size: 1_021)
    frames[4].bytes[frames[4].bytes.count - 1] ^= 1
    let capture = try DecodedCapture(Fixture.btsnoop(1001, frames.map { ($0.isReceived ? 1 : 0, $0.bytes) }))
    #expect(Fixture.problems(capture).count == 1)
    #expect(Fixture.problems(capture)[0].hasSuffix("an RFCOMM frame with a wrong checksum, 27 bytes"))
    frames = Fixture.bluetooth(size: 1_021)
    frames[0].bytes[frames[0].bytes.count - 1] ^= 1
    let other = try DecodedCapture(Fixture.btsnoop(1001, frames.map { ($0.isReceived ? 1 : 0, $0.bytes) }))
    #expect(Fixture.texts(other) == Array(Fixture.texts.dropFirst()))
    #expect(Fixture.problems(other) == [])
  }

  @Test func channelsThatCarrySomethingElseAreNotTakenForRFCOMM() throws {
    // The channels are requested for a service other than RFCOMM, and none of the requests is refused.
    let request = Fixture.l2cap(1, [2, 9, 4, 0, 0x17, 0, 0x40, 0])
    let answer = Fixture.l2cap(1, [3, 9, 8, 0, 0x41, 0, 0x40, 0, 0, 0, 0, 0])
    var frames = [(isReceived: false, bytes: Fixture.acl(42, isReceived: false, request)[0])]
    frames.append((true, Fixture.acl(42, isReceived: true, answer)[0]))
    frames += Fixture.bluetooth(size: 1_021)
    let capture = try DecodedCapture(Fixture.btsnoop(1001, frames.map { ($0.isReceived ? 1 : 0, $0.bytes) }))
    #expect(Fixture.texts(capture) == [])
  }

  @Test func aConnectionThatBeginsAgainIsAnotherCable() throws {
    var frames = Fixture.bluetooth(size: 1_021).map { ($0.isReceived ? 3 : 2, $0.bytes) }
    frames += [(1, [5, 4, 0, 0x2A, 0, 0x13])] + frames
    let capture = try DecodedCapture(Fixture.packetLogger(.big, frames))
    #expect(capture.entries.filter { $0.event == .cable }.count == 2)
    #expect(Fixture.texts(capture) == Fixture.texts + Fixture.texts)
  }

  @Test func theChecksumOfRFCOMMIsThatOfTheStandard() {
    // Every connection starts with a SABM frame on channel 0 and the answer to it.
    #expect(RFCOMMFrame.checksum([0x03, 0x3F, 0x01]) == 0x1C)
    #expect(RFCOMMFrame.checksum([0x03, 0x73, 0x01]) == 0xD7)
  }

  @Test func transfersOfNativeChannelsAreLines() throws {
    let capture = try DecodedCapture(Fixture.pcapng(.nativeTransport))
    #expect(capture.entries[0].line == "0.000000 A SIDE Lawk View 6 bytes ff 55 02 00 ee 10")
    #expect(capture.summary == "0 packets, 5 native transfers")
  }
}
