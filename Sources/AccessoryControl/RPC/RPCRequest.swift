import AccessoryCore

/// A line of the control protocol, read: one request, several, or something that is wrong.
enum RPCLine {
  /// One object.
  case single(Result<RPCRequest, RPCFailure>)
  /// A batch: a list of objects.
  case batch([Result<RPCRequest, RPCFailure>])

  /// The longest line.
  static let longest = 4 << 20
  /// The most requests of one batch.
  static let mostRequests = 1_000

  /// Reads a line.
  init(_ bytes: [UInt8]) {
    let tree: JSON5Value
    do throws(SourceProblem) {
      tree = try JSON5.read(bytes, file: "request", limits: .init(bytes: Self.longest, depth: 64))
    } catch {
      let place = error.position.map { " (column \($0.column))" } ?? ""
      self = .single(.failure(RPCFailure(RPCError(.parse, "the line is not JSON: \(error.message)\(place)"))))
      return
    }
    guard case .array(let elements) = tree.content else {
      self = .single(RPCRequest.read(tree))
      return
    }
    guard 1...Self.mostRequests ~= elements.count else {
      let most = Self.mostRequests
      self = .single(
        .failure(RPCFailure(RPCError(.request, "a batch has 1 to \(most) requests, this one has \(elements.count)"))))
      return
    }
    self = .batch(elements.map(RPCRequest.read))
  }
}

/// A request that cannot be read, with its id where it has one.
struct RPCFailure: Error {
  var id: RPCID = .null
  var error: RPCError

  init(_ error: RPCError, id: RPCID = .null) {
    (self.error, self.id) = (error, id)
  }
}

/// The id of a request, as it was written.
enum RPCID: Equatable, Sendable {
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

/// One request.
struct RPCRequest {
  /// Nil for a notification, which gets no answer.
  var id: RPCID?
  var method: String
  var params: JSON5Value

  static func read(_ tree: JSON5Value) -> Result<RPCRequest, RPCFailure> {
    guard case .object(let members) = tree.content else {
      return .failure(RPCFailure(RPCError(.request, "a request is an object, found \(tree.summary)")))
    }
    var id: RPCID?
    switch tree["id"]?.content {
    case .text(let text)?: id = .text(text)
    case .number(let number)? where number.integer != nil: id = .number("\(number.integer ?? 0)")
    case .null?: id = .null
    case nil: break
    default:
      return .failure(RPCFailure(RPCError(.request, "the id of a request is a text or a whole number")))
    }
    func failure(_ message: String) -> Result<RPCRequest, RPCFailure> {
      .failure(RPCFailure(RPCError(.request, message), id: id ?? .null))
    }
    guard tree["jsonrpc"]?.content == .text("2.0") else {
      return failure("a request has \"jsonrpc\": \"2.0\"")
    }
    let known = ["jsonrpc", "id", "method", "params"]
    if let other = members.first(where: { !known.contains($0.key) }) {
      return failure("unknown key '\(Excerpt.of(other.key))' in a request\(Suggestion.hint(for: other.key, in: known))")
    }
    guard case .text(let method)? = tree["method"]?.content else { return failure("the key 'method' is missing") }
    let params = tree["params"] ?? .object([])
    guard case .object = params.content else {
      return failure("the parameters of a request are an object with names, found \(params.summary)")
    }
    return .success(RPCRequest(id: id, method: method, params: params))
  }
}

/// Cuts lines out of received bytes, each no longer than ``RPCLine/longest``.
struct RPCLineCutter {
  private var rest = ByteQueue()
  private var scanned = 0
  private var isSkipping = false

  /// How many bytes wait.
  var count: Int { rest.count }

  mutating func append(_ bytes: RawSpan) { rest.append(bytes) }

  /// The next whole line; nil for one that was too long and was dropped.
  enum Cut: Equatable {
    case none
    case line([UInt8])
    case tooLong
  }

  mutating func next() -> Cut {
    while scanned < rest.count {
      if rest[scanned] == UInt8(ascii: "\n") {
        let line = rest.copy(0..<scanned)
        rest.removeFirst(scanned + 1)
        scanned = 0
        if isSkipping {
          isSkipping = false
          return .tooLong
        }
        return .line(line)
      }
      scanned += 1
      if scanned > RPCLine.longest {
        isSkipping = true
        rest.removeFirst(scanned)
        scanned = 0
      }
    }
    return .none
  }
}
