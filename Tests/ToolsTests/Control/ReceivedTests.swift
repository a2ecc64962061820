import AccessoryFormats
import Testing

@Suite struct ReceivedTests {
  private func client(sending text: String) throws -> DeskClient {
    let client = try ControlDesk().echo()
    try client.plug(for: .seconds(5))
    try client.open()
    let id = client.ask("session.write", "{\"session\":\"s1\",\"text\":\"\(text)\"}")
    try client.desk.advance(.seconds(1))
    #expect(try client.answer(id)?["result"] != nil)
    return client
  }

  @Test func bytesAreCountedAndTheNearestIsShown() throws {
    let client = try client(sending: "VERSON?")
    let met = try client.result("accessory.received", "{\"accessory\":\"a1\",\"text\":\"SON\",\"times\":1}")
    #expect(met["met"]?.content == .boolean(true) && met["count"]?.word == "1" && met["sessions"] == nil)
    let missed = try client.result("accessory.received", "{\"accessory\":\"a1\",\"data\":\"VkVSU0lPTj8=\"}")
    #expect(missed["met"]?.content == .boolean(false))
    #expect(
      missed["text"]?.word == "never received 'VERSION?'; nearest on com.example.echo: 'VERSON?', where byte 4 is 4f "
        + "('O'), not 49 ('I')")
    let other = try client.result(
      "accessory.received", "{\"accessory\":\"a1\",\"text\":\"V\",\"protocol\":\"com.example.other\"}")
    #expect(other["text"]?.word == "never received 'V'; no session was opened")
  }

  @Test func withoutASearchEverythingIsListed() throws {
    let all = try client(sending: "hi").result("accessory.received", "{\"accessory\":\"a1\"}")
    #expect(JSON5Writer.write(all, as: .jsonLine).contains("\"data\":\"aGk=\",\"dropped\":0"))
    #expect(all["count"] == nil && all["met"] == nil)
  }

  @Test func anEmptySearchIsRefused() throws {
    let client = try client(sending: "hi")
    for params in ["\"text\":\"\"", "\"times\":1", "\"text\":\"a\",\"data\":\"YQ==\""] {
      #expect(try client.kind("accessory.received", "{\"accessory\":\"a1\",\(params)}") == "params", "\(params)")
    }
  }
}
