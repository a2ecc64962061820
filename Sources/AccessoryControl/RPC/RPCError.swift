import AccessoryFormats

/// The error in the response to a failed control protocol request.
///
/// ```json
/// {"code":-32601,"message":"unknown method 'app.lanch', did you mean 'app.launch'?",
///  "data":{"kind":"method","advice":"…"}}
/// ```
package struct RPCError: Error, Equatable, Sendable {
  /// The kinds of errors that programs can distinguish. The kind determines the JSON-RPC code.
  package enum Kind: String, CaseIterable, Sendable {
    case parse
    /// The line is JSON but not a request.
    case request
    case method
    case params
    case unknown
    case gone
    /// The object's state does not allow the request.
    case state
    /// The device or the accessory refused the session.
    case refused
    /// The request needs virtual time but the world runs in real time, or vice versa.
    case time
    case address
    case limit
    /// The request needs an option that was not given when the server was started.
    case notAllowed
    case server

    package var code: Int {
      switch self {
      case .parse: -32700
      case .request: -32600
      case .method: -32601
      case .params: -32602
      case .server: -32603
      case .unknown: -32001
      case .gone: -32002
      case .state: -32003
      case .refused: -32004
      case .time: -32005
      case .address: -32006
      case .limit: -32007
      case .notAllowed: -32008
      }
    }

    /// A description of when the error occurs, for the documentation.
    package var summary: String {
      switch self {
      case .parse: "the line is not JSON, or too long"
      case .request: "the line is JSON, but not a JSON-RPC 2.0 request"
      case .method: "there is no such method"
      case .params: "a parameter is unknown, missing or wrong; `problems` lists each one with its `path`"
      case .server: "a bug in easim; please report it"
      case .unknown: "no such object ever existed"
      case .gone: "the object no longer exists"
      case .state: "the object's state does not allow this"
      case .refused: "the session was refused"
      case .time: "the method needs virtual time but the world runs in real time, or vice versa"
      case .address: "the address cannot be used, or the server has no address"
      case .limit: "a limit of the server is reached"
      case .notAllowed: "the server was started without the option required for this, or the token is wrong"
      }
    }
  }

  /// An invalid parameter.
  package struct Problem: Equatable, Sendable {
    /// The path of the invalid value, such as `protocols[1]`, or an empty string if the whole object is invalid.
    package var path: String
    package var message: String
  }

  package var kind: Kind
  package var message: String
  /// Advice on how to fix the problem, or nil if the message already contains advice.
  package var advice: String?
  package var problems: [Problem] = []

  package init(_ kind: Kind, _ message: String, advice: String? = nil) {
    self.kind = kind
    self.message = Excerpt.ofLines(message)
    self.advice = advice
  }

  /// Creates an error about invalid parameters. In messages about parameters, the name `record` is replaced with that
  /// of `method`.
  init(_ problems: SourceProblems, in record: String? = nil, of method: String = "") {
    let listed = problems.problems.map { problem in
      let message = record.map {
        problem.message.replacing(" in \($0)", with: " in the parameters of \(method)")
      }
      return Problem(path: problem.path, message: message ?? problem.message)
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
