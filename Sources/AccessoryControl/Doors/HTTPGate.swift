import AccessoryFormats
import AccessoryPages

/// Decides whether to admit an HTTP request, based only on its first line and headers.
///
/// Any web page can make a browser send requests to this machine, so three things are checked: the `Host`, to stop DNS
/// rebinding, in which an attacker's host name refers to this machine; the `Origin`, to stop other web pages; and the
/// token, without which only the page and `/healthz` are available. The page contains nothing secret: the token follows
/// the `#` in its address, which browsers do not send.
public struct HTTPGate: Equatable, Sendable {
  /// The kinds of requests, by path.
  public enum Route: String, Equatable, Sendable, CaseIterable {
    case page = "/"
    case rpc = "/rpc"
    case events = "/events"
    case health = "/healthz"
    case metrics = "/metrics"
    /// A capture, such as `/captures/c1.pcapng`.
    case captures = "/captures/"

    var method: String { self == .rpc ? "POST" : "GET" }
    /// Whether requests for this path are answered without the token.
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

  /// The reason why a request is refused.
  public enum Refusal: Equatable, Sendable {
    /// `Host` is missing, or names another server.
    case foreignHost(String?)
    /// The request comes from a web page on another server.
    case foreignOrigin(String)
    case noToken
    case unknownPath(String)
    /// The path exists, but requires a different method.
    case wrongMethod(Route)
    case tooLarge

    /// The HTTP status of the response.
    public var status: UInt32 {
      switch self {
      case .foreignHost: 421
      case .foreignOrigin: 403
      case .noToken: 401
      case .unknownPath: 404
      case .wrongMethod: 405
      case .tooLarge: 413
      }
    }

    /// A sentence for the response.
    public var sentence: String {
      switch self {
      case .foreignHost(let host):
        "the Host \(host.map { "'\(Excerpt.of($0))'" } ?? "is missing and") is not this server; use the address that easim printed"
      case .foreignOrigin(let origin): "pages of \(Excerpt.of(origin)) may not use this server"
      case .noToken: "the token is missing or wrong: send the header 'Authorization: Bearer TOKEN'"
      case .unknownPath(let path):
        "there is no \(Excerpt.of(path))\(Suggestion.hint(for: path, in: Route.allCases.map(\.rawValue)))"
      case .wrongMethod(let route): "\(route.rawValue) requires the method \(route.method)"
      case .tooLarge: "the body is larger than \(HTTPGate.longestBody) bytes"
      }
    }
  }

  /// The maximum size of an accepted body in bytes.
  public static let longestBody = 4 << 20

  /// The first line and headers of a request.
  public struct Head: Equatable, Sendable {
    /// The method, such as `GET` or `POST`.
    public var method: String
    /// The path, without a query.
    public var path: String
    /// The header `Host`.
    public var host: String?
    /// The header `Origin`.
    public var origin: String?
    /// The header `Authorization`.
    public var authorization: String?
    /// The header `Content-Length`.
    public var length: String?

    /// Creates a head.
    public init(
      _ method: String, _ path: String, host: String?, origin: String? = nil, authorization: String? = nil,
      length: String? = nil
    ) {
      (self.method, self.path, self.host, self.origin) = (method, path, host, origin)
      (self.authorization, self.length) = (authorization, length)
    }
  }

  private let hosts: Set<String>
  private let token: String
  private let isForMetrics: Bool

  /// Creates a gate for a server that listens on this host and port.
  public init(host: String, port: UInt16, token: String) {
    let names = ["127.0.0.1", "localhost", "[::1]", host.contains(":") ? "[\(host)]" : host]
    hosts = Set(names.map { "\($0):\(port)".lowercased() } + (port == 80 ? names.map { $0.lowercased() } : []))
    self.token = token
    isForMetrics = false
  }

  /// Creates a gate for a server that offers only metrics, for which no token is required.
  public init(metricsOf host: String, port: UInt16) {
    let all = HTTPGate(host: host, port: port, token: "")
    (hosts, token, isForMetrics) = (all.hosts, "", true)
  }

  /// Returns the route of a request, or the reason why the request is refused.
  public func admit(_ head: Head) -> Result<Route, RefusedRequest> {
    func refuse(_ refusal: Refusal) -> Result<Route, RefusedRequest> { .failure(RefusedRequest(refusal)) }
    guard let host = head.host?.lowercased(), hosts.contains(host) else { return refuse(.foreignHost(head.host)) }
    if let origin = head.origin, origin.lowercased() != "http://\(host)" { return refuse(.foreignOrigin(origin)) }
    guard let route = Route(path: head.path) else { return refuse(.unknownPath(head.path)) }
    if isForMetrics, route != .metrics, route != .health { return refuse(.unknownPath(head.path)) }
    guard head.method == route.method else { return refuse(.wrongMethod(route)) }
    if !route.isOpen, !isForMetrics {
      let given = Array((head.authorization ?? "").utf8)
      guard SecretToken.areEqual(given, Array("Bearer \(token)".utf8)) else { return refuse(.noToken) }
    }
    if let length = head.length.flatMap({ Int($0) }), length > Self.longestBody { return refuse(.tooLarge) }
    return .success(route)
  }

  /// Returns true if the request could be admitted only because of the token.
  public func hasToken(_ decision: Result<Route, RefusedRequest>) -> Bool {
    if case .success(let route) = decision { !route.isOpen && !isForMetrics } else { false }
  }
}

/// A refusal, thrown as an error.
public struct RefusedRequest: Error, Equatable, Sendable {
  /// The reason for the refusal.
  public let refusal: HTTPGate.Refusal

  init(_ refusal: HTTPGate.Refusal) { self.refusal = refusal }
}
