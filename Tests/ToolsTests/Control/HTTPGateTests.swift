import AccessoryControl
import Testing

@Suite struct HTTPGateTests {
  private let gate = HTTPGate(host: "127.0.0.1", port: 8080, token: "secret")

  private func head(
    _ method: String = "POST", _ path: String = "/rpc", host: String? = "127.0.0.1:8080", origin: String? = nil,
    token: String? = "secret", length: String? = nil
  ) -> HTTPGate.Head {
    HTTPGate.Head(method, path, host: host, origin: origin, authorization: token.map { "Bearer \($0)" }, length: length)
  }

  private func refusal(_ head: HTTPGate.Head) -> HTTPGate.Refusal? {
    if case .failure(let refused) = gate.admit(head) { refused } else { nil }
  }

  @Test func theTokenAdmits() {
    #expect(gate.admit(head()) == .success(.rpc))
    #expect(gate.admit(head("GET", "/events")) == .success(.events))
    #expect(gate.admit(head("GET", "/metrics", host: "localhost:8080")) == .success(.metrics))
  }

  @Test(arguments: [nil, "", "secre", "secret2", "SECRET"])
  func withoutTheTokenNothingIsAnswered(token: String?) {
    #expect(refusal(head(token: token)) == .noToken)
    #expect(refusal(head("GET", "/events", token: token)) == .noToken)
    #expect(refusal(head("GET", "/metrics", token: token)) == .noToken)
    #expect(HTTPGate.Refusal.noToken.status == 401)
  }

  @Test func thePageNeedsNoTokenAndCapturesDo() {
    #expect(gate.admit(head("GET", "/", token: nil)) == .success(.page))
    #expect(gate.admit(head("GET", "/captures/c1.pcapng")) == .success(.captures))
    #expect(refusal(head("GET", "/captures/c1.pcapng", token: nil)) == .noToken)
    #expect(refusal(head("POST", "/captures/c1.pcapng")) == .wrongMethod(.captures))
    #expect(refusal(head("GET", "/capture")) == .unknownPath("/capture"))
  }

  @Test func theHealthIsForEveryoneWithTheRightHost() {
    #expect(gate.admit(head("GET", "/healthz", token: nil)) == .success(.health))
    #expect(
      refusal(head("GET", "/healthz", host: "evil.example:8080", token: nil)) == .foreignHost("evil.example:8080"))
  }

  @Test func theFilesOfThePageNeedNoTokenButTheRightHost() {
    for path in ["/", "/main.js", "/style.css"] {
      #expect(gate.admit(head("GET", path, token: nil)) == .success(.page))
      #expect(refusal(head("GET", path, host: "evil.example:8080", token: nil)) == .foreignHost("evil.example:8080"))
      #expect(refusal(head("POST", path, token: nil)) == .wrongMethod(.page))
    }
    #expect(refusal(head("GET", "/main.swift", token: nil)) == .unknownPath("/main.swift"))
  }

  /// The attack is DNS rebinding: attackers make their own host name point to this machine.
  @Test(arguments: [
    nil, "evil.example", "evil.example:8080", "127.0.0.1:9", "127.0.0.1", "127.0.0.1.evil.example:8080",
  ])
  func aForeignHostIsRefused(host: String?) {
    #expect(refusal(head(host: host)) == .foreignHost(host))
    #expect(400..<500 ~= HTTPGate.Refusal.foreignHost(host).status)
  }

  @Test(arguments: ["http://evil.example", "null", "https://127.0.0.1:8080", "http://127.0.0.1:9"])
  func aForeignOriginIsRefused(origin: String) { #expect(refusal(head(origin: origin)) == .foreignOrigin(origin)) }

  @Test func theServersOwnPageIsAdmitted() {
    #expect(gate.admit(head(origin: "http://127.0.0.1:8080")) == .success(.rpc))
  }

  @Test func otherPathsAndMethodsAreRefused() {
    #expect(refusal(head("POST", "/rcp")) == .unknownPath("/rcp"))
    #expect(refusal(head("GET", "/rpc")) == .wrongMethod(.rpc))
    #expect(refusal(head("POST", "/events")) == .wrongMethod(.events))
  }

  @Test func aBodyThatIsTooLargeIsRefusedByItsLength() {
    #expect(refusal(head(length: "\(HTTPGate.longestBody + 1)")) == .tooLarge)
    #expect(gate.admit(head(length: "\(HTTPGate.longestBody)")) == .success(.rpc))
  }
}
