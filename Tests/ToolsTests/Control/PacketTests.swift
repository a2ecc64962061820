import AccessoryControl
import AccessoryFormats
import Testing

@Suite struct PacketTests {
  private func packets(_ client: DeskClient, _ params: String = "{}") throws -> [JSON5Value] {
    try client.result("packet.list", params)["packets"].elements
  }

  private func write(_ count: Int, _ client: DeskClient) throws {
    let text = String(repeating: "x", count: count)
    try client.result("session.write", "{\"session\":\"s1\",\"text\":\"\(text)\"}")
    try client.desk.advance(.seconds(1))
  }

  @Test func theFirstPacketsOfACableAreKeptAlsoWhenNothingIsRecorded() throws {
    let client = try ControlDesk().echo()
    try client.plug(for: .seconds(3))
    let all = try packets(client)
    #expect(all.first?["event"]?.word == "detection")
    #expect(all.contains { $0["control"]?.word == "SYN" && $0["from"]?.word == "accessory" })
    #expect(all.allSatisfy { $0["accessory"]?.word == "a1" && $0["cable"]?.content == .number(JSON5Number(1)) })
    try client.open()
    for _ in 0..<200 { try write(1, client) }
    #expect(try packets(client).count == 96)
  }

  @Test func everyPacketIsKeptWhileItIsRecorded() throws {
    let client = try ControlDesk().echo()
    try client.plug(for: .seconds(3))
    try client.result("packet.record")
    try client.open()
    for _ in 0..<100 { try write(1, client) }
    let all = try packets(client, "{\"limit\":5000}")
    #expect(all.count { $0["session"]?.content == .number(JSON5Number(2)) } == 200)
    #expect(all.map { $0["number"]?.withoutPositions } == (1...all.count).map { .number($0) })
  }

  @Test func aRecordingThatBeginsLaterKnowsTheSessionsOfTheLink() throws {
    let client = try ControlDesk().echo()
    try client.plug(for: .seconds(3))
    try client.open()
    for _ in 0..<200 { try write(1, client) }
    let last = try packets(client).count
    try client.result("packet.record")
    try write(10, client)
    let later = try packets(client, "{\"after\":\(last)}")
    #expect(later.contains { $0["text"]?.word.contains("accessory-session=1 10 bytes") == true })
    #expect(!later.contains { $0["event"]?.word == "skipped" })
  }

  @Test func aPacketHasItsBytesAndFieldsThatLieInThem() throws {
    let client = try ControlDesk().echo()
    try client.plug(for: .seconds(3))
    let all = try packets(client)
    let identification = try #require(
      all.first { $0["text"]?.word.contains("IdentificationInformation") == true }?["number"])
    guard case .number(let number) = identification.content else { return }
    let answer = try client.result("packet.get", "{\"number\":\(number.spelling)}")
    let hex = try #require(answer["packet"]?["hex"]?.word)
    #expect(hex.hasPrefix("ff5a"))
    let fields = answer["fields"].elements
    #expect(fields.first?["name"]?.word == "link header")
    #expect(fields.last?["name"]?.word == "payload checksum")
    func check(_ field: JSON5Value, in range: Range<Double>) throws {
      guard case .number(let offset)? = field["offset"]?.content, case .number(let length)? = field["length"]?.content
      else {
        Issue.record("a field has no place: \(field)")
        return
      }
      let own = offset.value..<offset.value + length.value
      #expect(range.lowerBound <= own.lowerBound && own.upperBound <= range.upperBound)
      for inner in field["fields"].elements { try check(inner, in: own) }
    }
    for field in fields { try check(field, in: 0..<Double(hex.count / 2)) }
    let message = fields.first { $0["name"]?.word.contains("IdentificationInformation") == true }
    let parameters = message?["fields"].elements ?? []
    #expect(parameters.contains { $0["name"]?.word == "0 name" && $0["value"]?.word == "Echo" })
  }

  @Test func aPacketThatIsSentAgainIsMarked() throws {
    let client = try ControlDesk().echo()
    try client.result("packet.record")
    try client.plug(for: .seconds(3))
    try client.result("fault.add", "{\"accessory\":\"a1\",\"fault\":\"loss,chance=30%\"}")
    try client.open()
    for _ in 0..<20 { try write(100, client) }
    try client.desk.advance(.seconds(60))
    #expect(try packets(client, "{\"limit\":5000}").contains { $0["repeated"]?.content == .boolean(true) })
  }

  @Test func aListWaitsForTheNextPacket() throws {
    let client = try ControlDesk().echo()
    let asked = client.ask("packet.list", "{\"wait\":\"30s\"}")
    try client.desk.advance(.seconds(1))
    #expect(try client.answer(asked) == nil)
    try client.plug(for: .seconds(3))
    #expect(try client.answer(asked) != nil)
  }

  @Test func aTransferOnANativeChannelIsListedWithItsBytes() throws {
    let client = ControlDesk().client()
    try client.result("accessory.add", "{\"profile\":\"camera\"}")
    try client.result("app.launch")
    try client.result("packet.record")
    try client.plug(for: .seconds(3))
    let protocolName = "com.example.camera.frames"
    try client.result("app.open", "{\"app\":\"p1\",\"protocol\":\"\(protocolName)\"}")
    try write(5, client)
    let transfers = try packets(client, "{\"limit\":5000,\"bytes\":true}").filter { $0["event"]?.word == "transfer" }
    #expect(transfers.contains { $0["hex"]?.word == "7878787878" && $0["from"]?.word == "device" })
    #expect(
      transfers.allSatisfy { $0["channel"]?.word == protocolName && $0["cable"]?.content == .number(JSON5Number(1)) })
  }

  @Test func theLibraryNamesWhatCanBeChosen() throws {
    let library = try ControlDesk().client().result("library.list")
    func names(_ list: String, _ key: String) -> [String] { library[list].elements.compactMap { $0[key]?.word } }
    #expect(names("profiles", "profile").contains("lawk-view"))
    #expect(names("scenarios", "scenario").contains("flicker"))
    #expect(names("linkPresets", "linkPreset").contains("bluetooth"))
  }
}
