import AccessoryControl
import Testing

@Suite struct HTTPGateTests {
  private static let own = "127.0.0.1:8080"
  private let gate = HTTPGate(host: "127.0.0.1", port: 8080, token: "secret")

  private func decision(
    _ method: String, _ path: String, host: String? = own, origin: String? = nil, token: String? = "secret",
    length: String? = nil
  ) -> Result<HTTPGate.Route, HTTPGate.Refusal> {
    let headers = [
      "Host": host, "Origin": origin, "Authorization": token.map { "Bearer \($0)" }, "Content-Length": length,
    ]
    return gate.admit(method, path) { headers[$0] ?? nil }
  }

  /// Routes that show no secrets need no token, but all routes need the right host and method.
  @Test(arguments: [
    ("POST", "/rpc", HTTPGate.Route.rpc, false), ("GET", "/events", .events, false),
    ("GET", "/metrics", .metrics, false), ("GET", "/captures/c1.pcapng", .captures, false),
    ("GET", "/healthz", .health, true), ("GET", "/", .page, true), ("GET", "/main.js", .page, true),
    ("GET", "/style.css", .page, true),
  ])
  func eachRouteNeedsWhatItNeeds(method: String, path: String, route: HTTPGate.Route, isOpen: Bool) {
    #expect(decision(method, path) == .success(route))
    #expect(decision(method, path, host: "localhost:8080") == .success(route))
    for token in [nil, "", "secre", "secret2", "SECRET"] {
      #expect(decision(method, path, token: token) == (isOpen ? .success(route) : .failure(.noToken)))
    }
    let wrong = method == "GET" ? "POST" : "GET"
    #expect(decision(wrong, path) == .failure(.wrongMethod(route)))
    // The attack is DNS rebinding: attackers make their own host name point to this machine.
    for host in [
      nil, "evil.example", "evil.example:8080", "127.0.0.1:9", "127.0.0.1", "127.0.0.1.evil.example:8080",
    ] {
      #expect(decision(method, path, host: host) == .failure(.foreignHost(host)))
    }
    for origin in ["http://evil.example", "null", "https://127.0.0.1:8080", "http://127.0.0.1:9"] {
      #expect(decision(method, path, origin: origin) == .failure(.foreignOrigin(origin)))
    }
    #expect(decision(method, path, origin: "http://\(Self.own)") == .success(route))
  }

  @Test(arguments: ["/capture", "/main.swift", "/rcp"]) func otherPathsAreRefused(path: String) {
    for method in ["GET", "POST"] { #expect(decision(method, path) == .failure(.unknownPath(path))) }
  }

  @Test func aBodyThatIsTooLargeIsRefusedByItsLength() {
    #expect(decision("POST", "/rpc", length: "\(HTTPGate.longestBody + 1)") == .failure(.tooLarge))
    #expect(decision("POST", "/rpc", length: "\(HTTPGate.longestBody)") == .success(.rpc))
  }

  @Test func withoutATokenThereAreOnlyMetrics() {
    let gate = HTTPGate(host: "127.0.0.1", port: 8080, token: nil)
    func decision(_ path: String) -> Result<HTTPGate.Route, HTTPGate.Refusal> {
      gate.admit("GET", path) { $0 == "Host" ? Self.own : nil }
    }
    #expect(decision("/metrics") == .success(.metrics) && decision("/healthz") == .success(.health))
    #expect(decision("/") == .failure(.unknownPath("/")) && decision("/rpc") == .failure(.unknownPath("/rpc")))
  }
}
