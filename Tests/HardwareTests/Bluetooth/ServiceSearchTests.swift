import Testing

@testable import AccessoryBluetooth

/// Compares SDP packets with bytes written by hand according to the Bluetooth Core Specification.
@Suite struct ServiceSearchTests {
  private let record: [UInt8] = [
    0x35, 0x13,  // the list of records
    0x35, 0x11,  // a record: attribute 0004 and its value
    0x09, 0x00, 0x04,
    0x35, 0x0C,
    0x35, 0x03, 0x19, 0x01, 0x00,  // L2CAP
    0x35, 0x05, 0x19, 0x00, 0x03, 0x08, 0x05,  // RFCOMM, channel 5
  ]

  private func answer(
    _ records: some Collection<UInt8>, transaction: UInt8 = 1, continuation: [UInt8] = [0x00]
  ) -> [UInt8] {
    let size = 2 + records.count + continuation.count
    return [0x07, 0x00, transaction, UInt8(size >> 8), UInt8(size & 0xFF), UInt8(records.count >> 8)]
      + [UInt8(records.count & 0xFF)] + records + continuation
  }

  private func search() -> ServiceSearch { ServiceSearch(for: AccessoryService.accessory) }

  @Test func theRequestAsksForTheProtocolsOfTheAccessoryService() {
    #expect(
      search().start() == [
        0x06, 0x00, 0x01, 0x00, 0x1B,
        0x35, 0x11, 0x1C, 0, 0, 0, 0, 0xDE, 0xCA, 0xFA, 0xDE, 0xDE, 0xCA, 0xDE, 0xAF, 0xDE, 0xCA, 0xCA, 0xFF,
        0xFF, 0xFF,
        0x35, 0x03, 0x09, 0x00, 0x04,
        0x00,
      ])
  }

  @Test func theChannelIsReadFromTheRecord() {
    var search = search()
    #expect(search.receive(answer(record)) == .found(channel: 5))
  }

  @Test func anAnswerInPartsIsPutTogether() {
    var search = search()
    let first = search.receive(answer(record[..<7], continuation: [0x02, 0xAB, 0xCD]))
    guard case .send(let next) = first else {
      Issue.record("\(first)")
      return
    }
    #expect(next[2] == 2, "each request has a number of its own")
    #expect(next.suffix(3) == [0x02, 0xAB, 0xCD], "the device's continuation goes back to it")
    #expect(search.receive(answer(record[7...], transaction: 2)) == .found(channel: 5))
  }

  @Test func aDeviceWithoutTheServiceAnswersAnEmptyList() {
    var search = search()
    #expect(search.receive(answer([0x35, 0x00])) == .absent)
  }

  @Test func aRecordWithoutRFCOMMHasNoChannel() {
    var search = search()
    let other: [UInt8] = [0x35, 0x0C, 0x35, 0x0A, 0x09, 0x00, 0x04, 0x35, 0x05, 0x35, 0x03, 0x19, 0x01, 0x00]
    #expect(search.receive(answer(other)) == .absent)
  }

  @Test func aLongFormOfTheRFCOMMUUIDIsTheSame() {
    var search = search()
    let long: [UInt8] =
      [0x35, 0x1D, 0x35, 0x1B, 0x09, 0x00, 0x04, 0x35, 0x16, 0x35, 0x14, 0x1C, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00]
      + [0x10, 0x00, 0x80, 0x00, 0x00, 0x80, 0x5F, 0x9B, 0x34, 0xFB, 0x08, 0x07]
    // Devices may list protocols in any order. In this record, RFCOMM comes first.
    var bytes = long
    bytes[1] = UInt8(long.count - 2)
    bytes[3] = UInt8(long.count - 4)
    bytes[8] = UInt8(long.count - 9)
    bytes[10] = UInt8(long.count - 11)
    #expect(search.receive(answer(bytes)) == .found(channel: 7))
  }

  @Test func everyTruncationIsAFailureOrNoChannel() {
    let whole = answer(record)
    for length in whole.indices {
      var search = search()
      let step = search.receive(Array(whole[..<length]))
      guard case .failed = step else {
        Issue.record("\(length) bytes: \(step)")
        return
      }
    }
  }

  @Test func anEndlessAnswerEnds() {
    var search = search()
    var steps = 0
    while case .send = search.receive(
      answer(record, transaction: UInt8(steps + 1), continuation: [0x01, 0x00]))
    { steps += 1 }
    #expect(steps == ServiceSearch.mostParts - 1)
  }

  @Test func nestingHasALimit() {
    var bytes: [UInt8] = []
    for _ in 0..<60 { bytes = [0x35, UInt8(bytes.count)] + bytes }
    #expect(DataElement.readAll(bytes) == nil)
  }

  @Test func anErrorOfTheDeviceIsToldWithItsNumber() {
    var search = search()
    #expect(search.receive([0x01, 0x00, 0x01, 0x00, 0x02, 0x00, 0x03]) == .failed("SDP error 0003"))
  }

  @Test func anAnswerToAnotherRequestIsRefused() {
    var search = search()
    #expect(search.receive(answer(record, transaction: 9)) == .failed("an SDP answer to a different request"))
  }
}

@Suite struct ServiceRecordTests {
  private let options = OfferedService.options(AccessoryService.accessory, 11).dictionary

  @Test func theServiceIsForPairedDevicesAlone() {
    #expect(options?["RequireAuthentication"]?.truth == true)
  }

  @Test func recordAndOptionsNameTheSameChannel() throws {
    let record = try #require(options?["ServiceRecord"]?.text)
    #expect(record.contains(#"<uuid value="0x0003"/><uint8 value="11"/>"#))
    #expect(options?["Channel"] == .uint16(11))
    #expect(record.contains(#"<uuid value="0x1101"/>"#))
    #expect(record.contains(#"<uuid value="0x1002"/>"#))
  }
}
