import AccessoryFormats
import AccessoryProfiles

/// Describes a method of the control protocol. The parser of parameters and `rpc.discover` use this description, and
/// docs/control-reference.md is generated from it.
package struct ControlMethod: Sendable {
  /// The method's name, such as `accessory.plug`.
  package let name: String
  package let summary: String
  package let params: RecordShape
  package let result: RecordShape
  /// The kinds of errors that the method can return, apart from `params`.
  package let errors: [RPCError.Kind]
  /// The method's effect on the server, which determines whether other clients are notified.
  package let effect: Effect
  /// The parameters of the documentation's example, which a test runs.
  package let example: String
  /// The example's result if it varies between runs or needs several processes, or nil if the test generates the
  /// result.
  package let exampleResult: String?
  let call: @Sendable (ControlCall, JSON5Value) throws -> Void

  /// How a method affects the server.
  package enum Effect: Sendable {
    /// The method changes something, so each successful call sends a `change` notification.
    case changes
    /// The method advances the clock of a virtual-time world, and has no effect on a real-time world.
    case passesTime
    /// The method affects only session data and the client's own subscriptions.
    case reads
  }

  init<each Value, Source>(
    _ name: String, _ summary: String, _ params: Arguments<repeat each Value>, _ result: Answer<Source>,
    effect: Effect = .changes, errors: [RPCError.Kind] = [], example: String = "{}", exampleResult: String? = nil,
    _ body: @escaping @Sendable (ControlCall, repeat each Value) throws -> Source
  ) {
    self.init(
      later: name, summary, params, result, effect: effect, errors: errors, example: example,
      exampleResult: exampleResult
    ) { (call, answer, values: repeat each Value) in
      let made = try body(call, repeat each values)
      // If a file has not been read yet, the result is discarded, and the method is called again later.
      if !call.files.isMissing { answer(.success(made)) }
    }
  }

  /// Creates a method that may answer later. If the method throws an error, the error is the answer, and the method
  /// must not answer a second time.
  init<each Value, Source>(
    later name: String, _ summary: String, _ params: Arguments<repeat each Value>, _ result: Answer<Source>,
    effect: Effect = .changes, errors: [RPCError.Kind] = [], example: String = "{}", exampleResult: String? = nil,
    _ body:
      @escaping @Sendable (ControlCall, @escaping (Result<Source, RPCError>) -> Void, repeat each Value) throws -> Void
  ) {
    (self.name, self.summary, self.effect, self.errors) = (name, summary, effect, errors)
    (self.params, self.result) = (params.shape, result.shape)
    (self.example, self.exampleResult) = (example, exampleResult)
    call = { call, asked in
      let values: (repeat each Value)
      do throws(SourceProblems) { values = try params.read(asked) } catch {
        throw RPCError(error, in: params.shape.name, of: name)
      }
      // Finds the world before the method runs, because the method may remove the object by which it is found.
      let world = call.server.world(changedBy: asked, effect)
      func answer(_ made: Result<Source, RPCError>) {
        let tree = made.map { result.tree($0) }
        if let world, case .success(let made) = tree { world.add(change: name, asked, made, of: result.shape) }
        call.answer(tree)
      }
      try body(call, answer, repeat each values)
    }
  }
}

final class ControlCall {
  let server: ControlServer
  let client: ControlClient
  let files = RequestFiles()
  /// The server's profiles. The profiles' files are read through ``files``.
  var profiles: ProfileLibrary {
    var library = server.settings.profiles
    library.readFile = { [files] path, limit throws(TextFileError) in try files.read(path, limit: limit) }
    return library
  }
  let id: RPCID?
  private var done: ((Result<JSON5Value, RPCError>) -> Void)?

  init(
    _ server: ControlServer, _ client: ControlClient, _ id: RPCID?,
    _ done: @escaping (Result<JSON5Value, RPCError>) -> Void
  ) {
    (self.server, self.client, self.id, self.done) = (server, client, id, done)
  }

  var isAnswered: Bool { done == nil }

  /// Answers the request unless it has already been answered.
  func answer(_ result: Result<JSON5Value, RPCError>) {
    let done = done
    self.done = nil
    done?(result)
  }
}

package enum ControlMethods {
  /// All methods, in the order used in the documentation.
  package static let all: [ControlMethod] =
    server + library + worlds + accessories + faults + apps + sessions + packets + time + hosts + proxies + captures
    + traces
    + jobs

  static let names = all.map(\.name)
  private static let byName = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  static func method(_ name: String) throws(RPCError) -> ControlMethod {
    if let method = byName[name] { return method }
    let near = Suggestion.nearHint(for: name, in: names)
    throw RPCError(
      .method, "unknown method '\(Excerpt.of(name))'\(near)", advice: "call rpc.discover for the list of methods")
  }
}
