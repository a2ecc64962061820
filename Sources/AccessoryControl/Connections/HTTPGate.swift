import AccessoryFormats
import AccessoryPages

/// Decides from the first line and the headers of an HTTP request whether to admit it.
///
/// Any web page can make a browser send requests to this machine, so the gate checks three things. Checking `Host`
/// prevents DNS rebinding, in which the attacker's own host name resolves to this machine. Checking `Origin` blocks
/// requests from other web pages. Requests without the token can access only the page and `/healthz`. The page itself
/// contains no secrets. The token comes after the `#` in the page's address, and browsers do not send that part.
package struct HTTPGate: Equatable, Sendable {
  package enum Route: String, Equatable, Sendable, CaseIterable {
    case page = "/"
    case rpc = "/rpc"
    case events = "/events"
    case health = "/healthz"
    case metrics = "/metrics"
    /// A capture, such as `/captures/c1.pcapng`.
    case captures = "/captures/"

    var method: String { self == .rpc ? "POST" : "GET" }
    /// Whether this path can be used without the token.
    var isOpen: Bool { self == .page || self == .health }

    init?(path: String) {
      if PageFile.all[path] != nil {
        self = .page
      } else if let route = Route(rawValue: path) {
        self = route
      } else if path.hasPrefix(Route.captures.rawValue) {
        self = .captures
      } else {
        return nil
      }
    }
  }

  package enum Refusal: Error, Equatable {
    /// The `Host` header is missing or names another server.
    case foreignHost(String?)
    /// The request comes from a web page on another server.
    case foreignOrigin(String)
    case noToken
    case unknownPath(String)
    case wrongMethod(Route)
    case tooLarge

    package var status: UInt32 {
      switch self {
      case .foreignHost: 421
      case .foreignOrigin: 403
      case .noToken: 401
      case .unknownPath: 404
      case .wrongMethod: 405
      case .tooLarge: 413
      }
    }

    package var sentence: String {
      switch self {
      case .foreignHost(let host):
        "the Host \(host.map { "'\(Excerpt.of($0))'" } ?? "is missing and") is not this server; use the address that easim printed"
      case .foreignOrigin(let origin): "pages from \(Excerpt.of(origin)) may not use this server"
      case .noToken: "the token is missing or wrong: send the header 'Authorization: Bearer TOKEN'"
      case .unknownPath(let path):
        "there is no \(Excerpt.of(path))\(Suggestion.hint(for: path, in: Route.allCases.map(\.rawValue)))"
      case .wrongMethod(let route): "\(route.rawValue) requires the method \(route.method)"
      case .tooLarge: "the body is larger than \(HTTPGate.longestBody) bytes"
      }
    }
  }

  package static let longestBody = 4 << 20

  private let hosts: Set<String>
  private let token: String?

  /// Creates a gate for a server that listens on this host and port. Without a token, the server provides only metrics.
  package init(host: String, port: UInt16, token: String?) {
    let names = ["127.0.0.1", "localhost", "[::1]", host.contains(":") ? "[\(host)]" : host]
    hosts = Set(names.map { "\($0):\(port)".lowercased() } + (port == 80 ? names.map { $0.lowercased() } : []))
    self.token = token
  }

  /// Returns the route of a request, or the reason the gate refuses the request. `header` returns a header's value.
  package func admit(_ method: String, _ path: String, header: (String) -> String?) -> Result<Route, Refusal> {
    let named = header("Host")
    guard let host = named?.lowercased(), hosts.contains(host) else { return .failure(.foreignHost(named)) }
    if let origin = header("Origin"), origin.lowercased() != "http://\(host)" {
      return .failure(.foreignOrigin(origin))
    }
    guard let route = Route(path: path) else { return .failure(.unknownPath(path)) }
    if token == nil, route != .metrics, route != .health { return .failure(.unknownPath(path)) }
    guard method == route.method else { return .failure(.wrongMethod(route)) }
    if !route.isOpen, let token {
      let given = Array((header("Authorization") ?? "").utf8)
      guard SecretToken.areEqual(given, Array("Bearer \(token)".utf8)) else { return .failure(.noToken) }
    }
    if let length = header("Content-Length").flatMap({ Int($0) }), length > Self.longestBody {
      return .failure(.tooLarge)
    }
    return .success(route)
  }

  /// Returns true if only a request with the token can get this decision.
  package func hasToken(_ decision: Result<Route, Refusal>) -> Bool {
    if case .success(let route) = decision { !route.isOpen && token != nil } else { false }
  }
}
