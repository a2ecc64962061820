import AccessoryFormats

extension ControlClient {
  /// Answers a JSON-RPC document, which is a request or a list of requests. Unless the client ends first, `done` is
  /// called once with the answer as a line, or with nil if there is no answer.
  package func answer(_ document: [UInt8], _ done: @escaping (String?) -> Void) {
    // Ignores blank lines.
    if document.allSatisfy({ [0x20, 0x0D, 0x0A, 0x09].contains($0) }) { return done(nil) }
    func fail(_ kind: RPCError.Kind, _ message: String) {
      done(RPCDocument.response(.null, .failure(RPCError(kind, message))))
    }
    let tree: JSON5Value
    do throws(SourceProblem) {
      tree = try JSON5.read(document, file: "request", limits: .init(bytes: RPCDocument.longest, depth: 64), as: .json)
    } catch {
      let place = error.position.map { " (column \($0.column))" } ?? ""
      return fail(.parse, "the line is not JSON: \(error.message)\(place)")
    }
    guard case .array(let requests) = tree.content else { return answer(tree, "\n", done) }
    let most = RPCDocument.mostRequests
    guard 1...most ~= requests.count else {
      return fail(.request, "a batch has 1 to \(most) requests, but this one has \(requests.count)")
    }
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

  private func answer(_ request: JSON5Value, _ end: String, _ done: @escaping (String?) -> Void) {
    var id: RPCID?
    do throws(RPCError) {
      guard case .object = request.content else {
        throw RPCError(.request, "a request must be an object, found \(request.summary)")
      }
      // Ignores responses, because the server sends no requests.
      if request["method"] == nil, request["result"] != nil || request["error"] != nil { return done(nil) }
      if let given = request["id"] {
        guard let known = RPCID(given) else {
          throw RPCError(.request, "the id of a request must be a string or a whole number")
        }
        id = known
      }
      guard request["jsonrpc"]?.content == .text("2.0") else {
        throw RPCError(.request, "a request must contain \"jsonrpc\": \"2.0\"")
      }
      guard case .text(let method)? = request["method"]?.content else {
        throw RPCError(.request, "the key 'method' is missing")
      }
      var params = request["params"] ?? .object([])
      switch params.content {
      case .object: break
      // Methods do not accept parameters by position, but an empty list is equivalent to no parameters.
      case .array(let values): if values.isEmpty { params = .object([]) }
      default: throw RPCError(.request, "the parameters of a request must be an object, found \(params.summary)")
      }
      // A request without an ID is not answered.
      call(method, params, id: id) { [id] result in done(id.map { RPCDocument.response($0, result, end) }) }
    } catch { done(RPCDocument.response(id ?? .null, .failure(error), end)) }
  }
}

enum RPCDocument {
  static let longest = 4 << 20
  static let mostRequests = 1_000

  static func response(_ id: RPCID, _ result: Result<JSON5Value, RPCError>, _ end: String = "\n") -> String {
    let id = JSON5Writer.line(id.tree)
    return switch result {
    case .success(let tree): "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":\(JSON5Writer.line(tree))}\(end)"
    case .failure(let error): "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"error\":\(error.json)}\(end)"
    }
  }

  static func notification(_ method: String, _ params: String) -> String {
    "{\"jsonrpc\":\"2.0\",\"method\":\"\(method)\",\"params\":\(params)}\n"
  }
}

package struct RPCID: Equatable, Sendable {
  let tree: JSON5Value

  static let null = RPCID(tree: .null)

  /// The ID of a request that a client can cancel, which is a string or an integer.
  static let format = Format<RPCID>(.either([.text(TextShape()), .integer(Int64.min...Int64.max)])) { value, place in
    if let id = RPCID(value), id != .null { return id }
    return place.expected("a string or a whole number", value)
  } write: {
    $0.tree
  }
}

extension RPCID {
  init?(_ given: JSON5Value) {
    switch given.content {
    case .text(let text): tree = .text(text)
    case .number(let number):
      guard let integer = number.integer else { return nil }
      tree = JSON5Value(.number(JSON5Number(integer)))
    case .null: tree = .null
    case .boolean, .array, .object: return nil
    }
  }
}

/// The error in the response to a failed control protocol request.
///
/// ```json
/// {"code":-32601,"message":"unknown method 'app.lanch', did you mean 'app.launch'?",
///  "data":{"kind":"method","advice":"…"}}
/// ```
package struct RPCError: Error, Equatable, Sendable {
  /// The kinds of errors that programs can distinguish, as ``summary`` describes them.
  package enum Kind: String, CaseIterable, Sendable {
    case parse, request, method, params, unknown, gone, state, refused, time, address, limit, notAllowed, server

    package var code: Int { entry.code }
    /// A description of when the error occurs, for the documentation.
    package var summary: String { entry.summary }

    private var entry: (code: Int, summary: String) {
      switch self {
      case .parse: (-32700, "the line is not JSON, or too long")
      case .request: (-32600, "the line is JSON, but not a JSON-RPC 2.0 request")
      case .method: (-32601, "there is no such method")
      case .params: (-32602, "a parameter is unknown, missing or wrong; `problems` lists each one with its `path`")
      case .server: (-32603, "a bug in easim; please report it")
      case .unknown: (-32001, "no such object ever existed")
      case .gone: (-32002, "the object no longer exists")
      case .state: (-32003, "the object's state does not allow this")
      case .refused: (-32004, "the session was refused")
      case .time: (-32005, "the method needs virtual time but the world runs in real time, or vice versa")
      case .address: (-32006, "the address cannot be used, or the server has no address")
      case .limit: (-32007, "a limit of the server is reached")
      case .notAllowed:
        (-32008, "the server was started without the option required for this, or the token is wrong")
      }
    }
  }

  package var kind: Kind
  package var message: String
  /// Advice on how to fix the problem, or nil if the message already contains advice.
  package var advice: String?
  package var problems: [SourceProblem] = []

  package init(_ kind: Kind, _ message: String, advice: String? = nil) {
    self.kind = kind
    self.message = Excerpt.ofLines(message)
    self.advice = advice
  }

  /// Creates an error about invalid parameters. In messages about parameters, the name `record` is replaced with that
  /// of `method`.
  init(_ problems: SourceProblems, in record: String? = nil, of method: String = "") {
    let listed = problems.problems.map { problem in
      var problem = problem
      if let record { problem.message.replace(" in \(record)", with: " in the parameters of \(method)") }
      return problem
    }
    self.init(
      .params, listed.map { $0.path.isEmpty ? $0.message : "\($0.path): \($0.message)" }.joined(separator: "; "))
    self.problems = listed
  }

  var json: String {
    let listed = problems.map { problem -> JSONObject in ["path": problem.path, "message": problem.message] }
    let data: JSONObject = ["kind": kind.rawValue, "advice": advice, "problems": listed.isEmpty ? nil : listed]
    return JSONObject(["code": kind.code, "message": message, "data": data]).text
  }
}
