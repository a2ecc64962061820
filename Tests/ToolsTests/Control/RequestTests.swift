import AccessoryControl
import AccessoryCore
import Testing

@Suite struct RequestTests {
  private func kind(of line: String) throws -> String? {
    let client = ControlDesk().client()
    client.receive(line + "\n")
    try client.drain()
    return client.lines.first?["error"]?["data"]?["kind"]?.word
  }

  @Test(arguments: [
    ("{", "parse"), ("nonsense", "parse"), ("[]", "request"), ("7", "request"), ("{}", "request"),
    ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"server.info\"}", "request"),
    ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"server.info\"}", "request"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "request"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.info\",\"params\":[1]}", "params"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.info\",\"params\":7}", "request"),
    // Syntax that JSON5 allows but JSON does not.
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.info\",}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,method:\"server.info\"}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":'server.info'}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":0x1,\"method\":\"server.info\"}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":+1,\"method\":\"server.info\"}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1.,\"method\":\"server.info\"}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":NaN,\"method\":\"server.info\"}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,/**/\"method\":\"server.info\"}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.inf\\x6f\"}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.info\",\"id\":2}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server\t.info\"}", "parse"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.inof\"}", "method"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"accessory.plug\",\"params\":{}}", "params"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"accessory.plug\",\"params\":{\"accessory\":1}}", "params"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"accessory.plug\",\"params\":{\"acessory\":\"a1\"}}", "params"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"accessory.plug\",\"params\":{\"accessory\":\"a1\"}}", "unknown"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"packet.get\",\"params\":{\"number\":1}}", "unknown"),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"accessory.add\",\"params\":{\"profile\":\"lawk-veiw\"}}", "params"),
  ])
  func eachMistakeHasItsKind(line: String, kind: String) throws { #expect(try self.kind(of: line) == kind) }

  @Test(arguments: [
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"world.list\",\"params\":[]}",
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"world.list\",\"trace\":\"00-4bf9\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"world.list\",\"x\":[-0.5e-3,1E+2,\"\\u00e9\\/\",true,null,{}]}",
  ])
  func whatJSONRPCAllowsIsAnswered(line: String) throws {
    let client = ControlDesk().client()
    client.receive(line + "\n")
    #expect(try client.answer(5)?["result"]?["worlds"] != nil)
  }

  @Test func answersToNothingAreIgnored() throws {
    let client = ControlDesk().client()
    client.receive("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
    client.receive("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"\"}}\n")
    client.receive("[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":7}]\n")
    // Notifications get no answer either.
    client.receive("{\"jsonrpc\":\"2.0\",\"method\":\"server.info\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"no.such\"}\n")
    client.receive("{\"jsonrpc\":\"2.0\",\"method\":\"server.info\",\"params\":[1]}\n")
    try client.drain()
    #expect(client.lines.isEmpty)
  }

  @Test func unknownMethodsAndParametersGetSuggestions() throws {
    let client = ControlDesk().client()
    let method = try client.call("accessory.plgu")
    #expect(method["error"]?["message"]?.word == "unknown method 'accessory.plgu', did you mean 'accessory.plug'?")
    let params = try client.call("accessory.plug", "{\"acessory\":\"a1\"}")
    #expect(params["error"]?["message"]?.word.contains("did you mean 'accessory'?") == true)
    #expect(params["error"]?["data"]?["problems"] != nil)
  }

  @Test func aBatchIsAnsweredTogether() throws {
    let client = ControlDesk().client()
    client.receive(
      "[{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"world.list\"},{\"jsonrpc\":\"2.0\",\"method\":\"world.list\"},7]\n"
    )
    try client.drain()
    let answers = client.lines.first.elements
    #expect(answers.count == 2 && answers.first?["id"]?.word == "a")
    #expect(answers.last?["error"]?["data"]?["kind"]?.word == "request")
  }

  @Test func aLineMayComeInPieces() throws {
    let client = ControlDesk().client()
    for character in "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"world.list\"}\r\n" {
      client.receive(String(character))
    }
    #expect(try client.answer(5)?["result"] != nil)
  }

  @Test func aLineThatIsTooLongIsDroppedAndTheNextOneIsAnswered() throws {
    let client = ControlDesk().client()
    client.receive(String(repeating: "x", count: 4 << 20 | 1))
    client.receive("\n{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"world.list\"}\n")
    #expect(try client.answer(5)?["result"] != nil)
    #expect(client.lines.first?["error"]?["data"]?["kind"]?.word == "parse")
  }

  @Test func aClientThatDoesNotReadItsAnswersIsReadNoMore() throws {
    let desk = ControlDesk()
    let client = desk.client()
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}\n"
    for _ in 0..<200 where client.client.wantsToRead { client.receive(String(repeating: request, count: 100)) }
    #expect(!client.client.wantsToRead)
    #expect(client.client.unsentCount < 3 << 20)
    // Other clients are not affected. This client is served again once it reads the answers.
    #expect(try desk.client().result("world.list")["worlds"] != nil)
    client.client.send { $0.byteCount }
    try desk.advance(.zero)
    #expect(client.client.unsentCount > 0)
  }
}
