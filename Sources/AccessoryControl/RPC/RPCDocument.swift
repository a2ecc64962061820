import AccessoryFormats

extension ControlClient {
  /// Answers a JSON-RPC document. Unless the client ends first, `done` is called once with the answer as a line, or
  /// with nil if there is no answer.
  package func answer(_ document: [UInt8], _ done: @escaping (String?) -> Void) {
    // Ignores blank lines.
    if document.allSatisfy({ [0x20, 0x0D, 0x0A, 0x09].contains($0) }) { return done(nil) }
    switch RPCDocument(document) {
    case .none: done(nil)
    case .single(let request): answer(request, "\n", done)
    case .batch(let requests):
      guard !requests.isEmpty else { return done(nil) }
      var answers: [String?] = Array(repeating: nil, count: requests.count)
      var missing = requests.count
      for (index, request) in requests.enumerated() {
        answer(request, "") { answer in
          answers[index] = answer
          missing -= 1
          guard missing == 0 else { return }
          let all = answers.compactMap { $0 }
          done(all.isEmpty ? nil : "[\(all.joined(separator: ","))]\n")
        }
      }
    }
  }

  private func answer(
    _ read: Result<RPCRequest, RPCFailure>, _ end: String, _ done: @escaping (String?) -> Void
  ) {
    switch read {
    case .failure(let failure): done(RPCDocument.response(failure.id, .failure(failure.error), end))
    case .success(let request):
      call(request.method, request.params, id: request.id) { [id = request.id] result in
        done(id.map { RPCDocument.response($0, result, end) })
      }
    }
  }
}

/// A parsed JSON-RPC document: a request, a batch of requests, or an error.
enum RPCDocument {
  /// A response, which is ignored because the server sends no requests.
  case none
  case single(Result<RPCRequest, RPCFailure>)
  /// A batch, which is a list of requests.
  case batch([Result<RPCRequest, RPCFailure>])

  static let longest = 4 << 20
  static let mostRequests = 1_000

  init(_ bytes: [UInt8]) {
    let tree: JSON5Value
    do throws(SourceProblem) {
      tree = try JSON5.read(bytes, file: "request", limits: .init(bytes: Self.longest, depth: 64), as: .json)
    } catch {
      let place = error.position.map { " (column \($0.column))" } ?? ""
      self = .single(.failure(RPCFailure(RPCError(.parse, "the line is not JSON: \(error.message)\(place)"))))
      return
    }
    guard case .array(let elements) = tree.content else {
      self = RPCRequest.isResponse(tree) ? .none : .single(RPCRequest.read(tree))
      return
    }
    guard 1...Self.mostRequests ~= elements.count else {
      let most = Self.mostRequests
      self = .single(
        .failure(
          RPCFailure(RPCError(.request, "a batch has 1 to \(most) requests, but this one has \(elements.count)"))))
      return
    }
    self = .batch(elements.filter { !RPCRequest.isResponse($0) }.map(RPCRequest.read))
  }

  static func response(_ id: RPCID, _ result: Result<JSON5Value, RPCError>, _ end: String = "\n") -> String {
    switch result {
    case .success(let tree): "{\"jsonrpc\":\"2.0\",\"id\":\(id.json),\"result\":\(JSON5Writer.line(tree))}\(end)"
    case .failure(let error): "{\"jsonrpc\":\"2.0\",\"id\":\(id.json),\"error\":\(error.json)}\(end)"
    }
  }

  static func notification(_ method: String, _ params: String) -> String {
    "{\"jsonrpc\":\"2.0\",\"method\":\"\(method)\",\"params\":\(params)}\n"
  }
}

/// The error for a request that cannot be parsed, with the request's ID if there is one.
struct RPCFailure: Error {
  var id: RPCID = .null
  var error: RPCError

  init(_ error: RPCError, id: RPCID = .null) {
    (self.error, self.id) = (error, id)
  }
}

enum RPCID: Hashable, Sendable {
  case text(String)
  case number(String)
  case null

  var json: String {
    switch self {
    case .text(let text): JSONObject.quoted(text)
    case .number(let spelling): spelling
    case .null: "null"
    }
  }
}

struct RPCRequest {
  /// The request's ID, or nil for a notification, which is not answered.
  var id: RPCID?
  var method: String
  var params: JSON5Value

  /// Returns true if the document is a response, which is ignored because the server sends no requests.
  static func isResponse(_ tree: JSON5Value) -> Bool {
    guard case .object = tree.content, tree["method"] == nil else { return false }
    return tree["result"] != nil || tree["error"] != nil
  }

  static func read(_ tree: JSON5Value) -> Result<RPCRequest, RPCFailure> {
    guard case .object = tree.content else {
      return .failure(RPCFailure(RPCError(.request, "a request must be an object, found \(tree.summary)")))
    }
    var id: RPCID?
    switch tree["id"]?.content {
    case .text(let text)?: id = .text(text)
    case .number(let number)? where number.integer != nil: id = .number("\(number.integer ?? 0)")
    case .null?: id = .null
    case nil: break
    default:
      return .failure(RPCFailure(RPCError(.request, "the id of a request must be a string or a whole number")))
    }
    func failure(_ message: String) -> Result<RPCRequest, RPCFailure> {
      .failure(RPCFailure(RPCError(.request, message), id: id ?? .null))
    }
    guard tree["jsonrpc"]?.content == .text("2.0") else {
      return failure("a request must contain \"jsonrpc\": \"2.0\"")
    }
    guard case .text(let method)? = tree["method"]?.content else { return failure("the key 'method' is missing") }
    var params = tree["params"] ?? .object([])
    switch params.content {
    case .object: break
    // Methods do not accept parameters by position, but an empty list is equivalent to no parameters.
    case .array(let values): if values.isEmpty { params = .object([]) }
    default: return failure("the parameters of a request must be an object, found \(params.summary)")
    }
    return .success(RPCRequest(id: id, method: method, params: params))
  }
}
