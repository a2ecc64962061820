import AccessoryFormats

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
