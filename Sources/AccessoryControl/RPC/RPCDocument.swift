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

/// The ID of a request.
package enum RPCID: Hashable, Sendable {
  case text(String)
  case number(Int64)
  case null

  init?(_ tree: JSON5Value) {
    switch tree.content {
    case .text(let text): self = .text(text)
    case .number(let number):
      guard let integer = number.integer else { return nil }
      self = .number(integer)
    case .null: self = .null
    case .boolean, .array, .object: return nil
    }
  }

  var tree: JSON5Value {
    switch self {
    case .text(let text): .text(text)
    case .number(let number): JSON5Value(.number(JSON5Number(number)))
    case .null: .null
    }
  }

  /// The ID of a request that a client can cancel, which is a string or an integer.
  static let format = Format<RPCID>(.either([.text(TextShape()), .integer(Int64.min...Int64.max)])) { value, place in
    if let id = RPCID(value), id != .null { return id }
    return place.expected("a string or a whole number", value)
  } write: {
    $0.tree
  }
}
