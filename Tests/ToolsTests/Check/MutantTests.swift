import AccessoryCheck
import AccessoryCore
import IAP2
import Testing

/// Checks that the right cases detect accessories with one defect each.
@Suite struct MutantTests {
  struct Row: CustomTestStringConvertible, Sendable {
    let name: String
    let numbers: [Int]
    let mutant: Mutant

    init(_ name: String, _ numbers: [Int], _ mutant: Mutant) {
      (self.name, self.numbers, self.mutant) = (name, numbers, mutant)
    }

    var testDescription: String { name }
  }

  @Test(arguments: rows) func aMutantIsFoundByTheCasesForIt(_ row: Row) throws {
    let report = try CheckRig("echo", sends: row.mutant).run()
    #expect(report.numbers == row.numbers, "\(report.text)")
    for (rule, failure) in report.failures {
      #expect(!failure.proof.isEmpty, "\(rule.number) has no packets")
      #expect(!failure.text.isEmpty)
    }
  }

  private typealias Packet = Mutant.Packet
  private typealias State = Mutant.State

  private static func sending(_ change: @escaping @Sendable (Packet, State) -> [[UInt8]]) -> Mutant {
    Mutant(sends: change)
  }

  private static func rewriting(
    _ fits: @escaping @Sendable (Packet) -> Bool, _ change: @escaping @Sendable (Packet) -> [UInt8]
  ) -> Mutant {
    Mutant(sends: { packet, _ in [fits(packet) ? change(packet) : packet.bytes] })
  }

  private static func syn(_ index: Int, _ values: UInt8...) -> Mutant {
    rewriting({ $0.isSYN }) { packet in
      var payload = packet.payload
      for (offset, value) in values.enumerated() { payload[index + offset] = value }
      return packet.with(payload: payload)
    }
  }

  private static func message(
    _ id: UInt16, _ change: @escaping @Sendable ([Parameter]) -> [Parameter]
  ) -> Mutant {
    rewriting({ $0.message == id }) { packet in
      let body = Array(packet.payload.dropFirst(ControlMessage.headerSize))
      let parameters = change((try? ParameterReader.read(body)) ?? [])
      let message = ControlMessage(MessageID(rawValue: id)) { writer in
        for parameter in parameters { writer.blob(parameter.id, parameter.value) }
      }
      return packet.with(payload: message.encoded)
    }
  }

  private static func message(
    _ id: UInt16, _ parameter: UInt16, _ change: @escaping @Sendable ([UInt8]) -> [UInt8]
  ) -> Mutant {
    message(id) { parameters in
      parameters.map { $0.id == parameter ? Parameter(id: parameter, value: change($0.value)) : $0 }
    }
  }

  private final class Canned: @unchecked Sendable { var response: [UInt8]? }
  private static let canned = Canned()

  static let rows: [Row] = [
    Row(
      "two bytes before the first detection sequence", [101, 301],
      sending { packet, _ in packet.number == 0 ? [[0x55, 0xAA] + packet.bytes] : [packet.bytes] }),
    Row(
      "one detection sequence", [102, 104],
      sending { packet, state in
        guard packet.isDetection else { return [packet.bytes] }
        state.count += 1
        return state.count == 1 ? [packet.bytes] : []
      }),
    Row(
      "each detection sequence twice", [103],
      sending { packet, _ in packet.isDetection ? [packet.bytes, packet.bytes] : [packet.bytes] }),
    Row(
      "SYN although the device only speaks iAP1", [110],
      Mutant(receives: { packet, _ in
        packet.bytes.starts(with: [0xFF, 0x55, 0x04]) ? [PacketWriter.detection] : [packet.bytes]
      })),
    Row(
      "zero bytes are not skipped", [107, 317],
      Mutant(receivesBytes: { bytes, _ in bytes.count > 1 && bytes[0] == 0 ? [] : [bytes] })),
    Row("version 2 in the SYN", [202], syn(0, 2)),
    Row("no outstanding packets in the SYN", [203, 208], syn(1, 0)),
    Row("timeout 5 ms in the SYN", [205], syn(4, 0, 5)),
    Row("more acknowledged at once than outstanding", [208], syn(9, 100)),
    Row("two sessions with one number", [209], syn(13, 1)),
    Row(
      "the SYN is sent once", [212],
      sending { packet, state in
        guard packet.isSYN else { return [packet.bytes] }
        defer { state.kept = packet.bytes }
        return state.kept == packet.bytes ? [] : [packet.bytes]
      }),
    Row(
      "acknowledgements take a number", [214, 306],
      rewriting({ $0.isBare }) { $0.with { $0[5] &+= 1 } }),
    Row(
      "a reset is ignored", [219],
      Mutant(receives: { packet, _ in packet.header?.control.contains(.rst) ?? false ? [] : [packet.bytes] })),
    Row(
      "an empty payload with a checksum", [304],
      rewriting({ $0.isBare }) { $0.with { $0[3] = 10 } + [0] }),
    Row(
      "data without the ACK bit", [302],
      rewriting({ $0.isData }) { $0.with { $0[4] = 0 } }),
    Row(
      "control messages on a session that does not exist", [303, 501],
      rewriting({ $0.isData && $0.header?.session == 1 }) { $0.with { $0[7] = 5 } }),
    Row(
      "a number is left out", [305, 504],
      sending { packet, state in
        guard packet.isData, let number = packet.header?.sequence else { return [packet.bytes] }
        if state.kept.isEmpty { state.kept = [number] }
        return [number == state.kept[0] ? packet.bytes : packet.with { $0[5] &+= 1 }]
      }),
    Row(
      "longer packets than the device takes", [308],
      Mutant(receives: { packet, _ in [packet.isSYN ? changed(packet, [2: 0xFF, 3: 0xFF]) : packet.bytes] })),
    Row(
      "more packets than the device takes", [309],
      Mutant(receives: { packet, _ in [packet.isSYN ? changed(packet, [1: 127]) : packet.bytes] })),
    Row(
      "nothing is sent again", [403, 809],
      sending { packet, state in
        guard packet.isData, let number = packet.header?.sequence else { return [packet.bytes] }
        let distance = state.kept.first.map { number &- $0 } ?? 1
        if distance == 0 || distance > 127 { return [] }
        state.kept = [number]
        return [packet.bytes]
      }),
    Row(
      "each packet is sent twice", [404],
      sending { packet, _ in packet.isData ? [packet.bytes, packet.bytes] : [packet.bytes] }),
    Row(
      "wrong payload checksums are taken for right", [409],
      Mutant(receives: { packet, _ in
        guard packet.header == nil, packet.bytes.starts(with: [0xFF, 0x5A]), packet.bytes.count > 10 else {
          return [packet.bytes]
        }
        var bytes = packet.bytes
        bytes[bytes.count - 1] = 0 &- bytes[9..<bytes.count - 1].reduce(0, &+)
        return [bytes]
      })),
    Row(
      "only the first packet of a write is read", [310, 512, 702, 711],
      Mutant(receivesBytes: { bytes, _ in
        guard bytes.count > 9, bytes.starts(with: [0xFF, 0x5A]) else { return [bytes] }
        return [Array(bytes.prefix(Int(bytes[2]) << 8 | Int(bytes[3])))]
      })),
    Row(
      "packets in pieces are not understood", [106, 218, 320, 806],
      Mutant(receivesBytes: { bytes, _ in bytes.count < 6 || (bytes[0] != 0xFF && bytes[0] != 0) ? [] : [bytes] })),
    Row(
      "an acknowledgement goes back", [316],
      rewriting({ $0.message == 0x1D01 }) { $0.with { $0[6] &-= 3 } }),
    Row(
      "a retransmission timeout of its own", [405, 406],
      Mutant(
        sends: { packet, _ in [packet.isSYN ? changed(packet, [4: 1, 5: 0xF4]) : packet.bytes] },
        receives: { packet, _ in [packet.isSYN ? changed(packet, [4: 0x07, 5: 0xD0]) : packet.bytes] })),
    Row(
      "it gives up early", [416],
      Mutant(
        sends: { packet, _ in [packet.isSYN ? changed(packet, [4: 1, 5: 0xF4, 8: 10]) : packet.bytes] },
        receives: { packet, _ in [packet.isSYN ? changed(packet, [8: 2]) : packet.bytes] })),
    Row(
      "each rejection gets the same identification", [608],
      Mutant(receives: { packet, _ in
        packet.message == 0x1D03 ? [packet.with(payload: ControlMessage(.startIdentification).encoded)] : [packet.bytes]
      })),
    Row("a certificate without its end", [502], message(0xAA01, 0) { Array($0.dropLast(40)) }),
    Row("a signature with a byte too many", [505, 506], message(0xAA03, 0) { $0 + [0] }),
    Row(
      "always the same signature", [507],
      message(0xAA03, 0) { response in
        if canned.response == nil { canned.response = response }
        return canned.response ?? response
      }),
    Row("no current language", [621], message(0x1D01) { $0.filter { $0.id != 12 } }),
    Row("a blank serial number", [624], message(0x1D01, 3) { _ in [0x20, 0] }),
    Row("a name without its zero byte", [625], message(0x1D01, 0) { Array($0.dropLast()) }),
    Row("AA00 is listed", [636], message(0x1D01, 7) { $0 + [0xAA, 0x00] }),
    Row("EA03 is not listed", [314], message(0x1D01, 6) { _ in [] }),
    Row("EA00 is not listed", [638], message(0x1D01, 7) { _ in [0xEA, 0x01] }),
    Row("only the low byte of the session's id", [706], message(0xEA03, 0) { [0, $0[1]] }),
    Row("an unknown status of the session", [701, 703, 711], message(0xEA03, 1) { _ in [7] }),
    Row(
      "data for another session", [711, 712],
      rewriting({ $0.isData && $0.header?.session == 2 }) { packet in
        packet.with(payload: [0x01, 0x00] + packet.payload.dropFirst(2))
      }),
    Row(
      "packets of 512 bytes do not leave", [801, 809],
      sending { packet, _ in packet.bytes.count == 512 ? [] : [packet.bytes] }),
    Row("a packet length of 23 in the SYN", [204], syn(2, 0, 23)),
    Row("an acknowledgement timeout of 5 ms in the SYN", [206], syn(6, 0, 5)),
    Row("no retransmissions in the SYN", [207], syn(8, 0)),
    Row("the SYN names a session", [211], rewriting({ $0.isSYN }) { $0.with { $0[7] = 3 } }),
    Row(
      "nothing is acknowledged twice", [215],
      sending { packet, state in
        guard packet.isBare else { return [packet.bytes] }
        defer { state.kept = packet.bytes }
        return state.kept == packet.bytes ? [] : [packet.bytes]
      }),
    Row(
      "packets numbered 00 are lost", [216, 808],
      Mutant(receives: { packet, _ in packet.isData && packet.header?.sequence == 0 ? [] : [packet.bytes] })),
    Row(
      "1D01 cannot be cut into parameters", [312, 622],
      rewriting({ $0.message == 0x1D01 }) { changed($0, [7: 2]) }),
    Row(
      "two messages in a packet", [313],
      rewriting({ $0.message == 0xEA03 }) { $0.with(payload: $0.payload + $0.payload) }),
    Row(
      "EA00 instead of EA03", [315, 702],
      rewriting({ $0.message == 0xEA03 }) { changed($0, [5: 0]) }),
    Row(
      "deaf after noise", [411],
      Mutant(receivesBytes: { bytes, state in
        if bytes.starts(with: [0x13, 0xFF, 0xA5]) { state.count = 1 }
        return state.count == 1 ? [] : [bytes]
      })),
    Row(
      "deaf after an extended acknowledgement", [412],
      Mutant(receives: { packet, state in
        if packet.header?.control.contains(.eak) ?? false { state.count = 1 }
        return state.count == 1 ? [] : [packet.bytes]
      })),
    Row(
      // If AA05 is late, packets are lost, because the accessory drops all packets that arrive before AA05.
      "identifies only after authentication", [401, 402, 510, 511],
      Mutant(receives: { packet, state in
        if packet.message == 0xAA05 { state.count = 1 }
        return [packet.message == 0x1D00 && state.count == 0 ? packet.unknownMessage : packet.bytes]
      })),
    Row(
      "the certificate once for each link", [514],
      Mutant(receives: { packet, state in
        guard packet.message == 0xAA00 else { return [packet.bytes] }
        defer { state.kept = packet.bytes }
        return [state.kept.isEmpty || state.kept == packet.bytes ? packet.bytes : packet.unknownMessage]
      })),
    Row(
      "another serial number each time", [604],
      message(0x1D01, 3) { value in
        serial.count += 1
        return Array("\(serial.count)".utf8) + [0]
      }),
    Row(
      "one session for each cable", [705, 707],
      Mutant(receives: { packet, state in
        guard packet.message == 0xEA00 else { return [packet.bytes] }
        defer { state.kept = packet.bytes }
        return [state.kept.isEmpty || state.kept == packet.bytes ? packet.bytes : packet.unknownMessage]
      })),
    Row(
      "the longest packets do not leave", [802],
      sending { packet, _ in packet.bytes.count > 4_090 ? [] : [packet.bytes] }),
    Row("declares location and never sends any", [1001], declaring(received: [0xFF, 0xFA], sent: [0xFF, 0xFB])),
    Row("declares Wi-Fi and never answers", [1002], declaring(received: [0x57, 0x02], sent: [0x57, 0x03])),
    Row("declares vehicle status and never answers", [1003], declaring(received: [0xA1, 0x00], sent: [0xA1, 0x01])),
    Row("declares pairing and never answers", [1004], declaring(received: [0x00, 0xB0], sent: [0x00, 0xB1])),
  ]

  private static func changed(_ packet: Packet, _ values: [Int: UInt8]) -> [UInt8] {
    var payload = packet.payload
    for (index, value) in values { payload[index] = value }
    return packet.with(payload: payload)
  }

  /// The check notices that sessions are mixed up only if the accessory has a second protocol.
  @Test func sessionsThatAreMixedUpAreFound() throws {
    let mutant = Self.rewriting({ $0.isData && $0.payload.count > 2 && $0.message == nil }) { packet in
      var payload = packet.payload
      if payload[0] == 0, payload[1] == 1 || payload[1] == 2 { payload[1] = 3 - payload[1] }
      return packet.with(payload: payload)
    }
    func report(_ mutant: Mutant?) throws -> CheckReport {
      let rig = try CheckRig(
        "echo", sends: mutant,
        describe: { profile in
          var second = profile.protocols[0]
          (second.name, second.id) = ("com.example.second", second.id + 1)
          profile.protocols.append(second)
        })
      return try rig.run(CheckCase.all.filter { $0.number == 709 })
    }
    let found = try report(mutant)
    #expect(found.numbers == [709], "\(found.text)")
    #expect(try report(nil).counts.passed == 1)
  }

  private static func declaring(received: [UInt8], sent: [UInt8]) -> Mutant {
    message(0x1D01) { parameters in
      parameters.map { parameter in
        switch parameter.id {
        case 6: Parameter(id: 6, value: parameter.value + sent)
        case 7: Parameter(id: 7, value: parameter.value + received)
        default: parameter
        }
      }
    }
  }

  private final class Counter: @unchecked Sendable { var count = 0 }
  private static let serial = Counter()
}
