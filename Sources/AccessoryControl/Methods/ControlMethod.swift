import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import Certificates
import LinuxIO

/// Describes a method of the control protocol. The parser of parameters and `rpc.discover` use this description, and
/// docs/control-reference.md is generated from it.
package struct ControlMethod: Sendable {
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

  /// Returns the bytes in the parameters `data`, which is in base64, and `text`, of which one must be given.
  static func bytes(data: String?, text: String?) throws(RPCError) -> [UInt8] {
    switch (data, text) {
    case (let data?, nil):
      guard let bytes = Base64.bytes(data) else {
        throw RPCError(
          .params, "data: the value is not base64", advice: "use base64 with padding, or the parameter text")
      }
      return bytes
    case (nil, let text?): return Array(text.utf8)
    case (nil, nil): throw RPCError(.params, "one of the parameters data and text is missing")
    case (_?, _?): throw RPCError(.params, "only one of the parameters data and text can be given")
    }
  }
}

/// A method's answer: an object whose values are computed from a `Source`. Unlike a `Record`, an answer is only written
/// and never read, so no type is needed for its values.
struct Answer<Source>: Sendable {
  let shape: RecordShape
  let tree: @Sendable (Source) -> JSON5Value

  init(_ name: String, _ summary: String = "", @Keys _ keys: () -> [Key<Source>]) {
    let keys = keys()
    shape = RecordShape(name: name, summary: summary, fields: keys.map(\.shape))
    tree = { source in .object(keys.compactMap { key in key.write(source).map { JSON5Member(key.shape.key, $0) } }) }
  }

  @resultBuilder enum Keys {
    static func buildExpression(_ key: Key<Source>) -> [Key<Source>] { [key] }
    static func buildArray(_ keys: [[Key<Source>]]) -> [Key<Source>] { Array(keys.joined()) }
    static func buildBlock(_ keys: [Key<Source>]...) -> [Key<Source>] { buildArray(keys) }
  }

  /// An object with one key.
  static func only(_ name: String, _ key: String, _ format: Format<Source>, _ summary: String) -> Answer
  where Source: Equatable & Sendable {
    Answer(name) { Key(key, format, summary) { $0 } }
  }

  static func list(_ key: String, _ summary: String) -> Answer where Source == [String] {
    Answer("list of \(key)", summary) { Key(key, .list(of: .text), summary) { $0 } }
  }

  static func list<Element>(_ key: String, _ element: Answer<Element>, _ summary: String) -> Answer
  where Source == [Element] {
    Answer("list of \(key)", summary) {
      Key(
        shape: FieldShape(
          key: key, summary: summary, shape: .list(.record(element.shape), count: 0...Int.max), isRequired: true)
      ) { .array($0.map(element.tree)) }
    }
  }
}

struct Key<Source>: Sendable {
  let shape: FieldShape
  let write: @Sendable (Source) -> JSON5Value?
}

extension Key {
  init<Value>(
    _ key: String, _ format: Format<Value>, _ summary: String, _ value: @escaping @Sendable (Source) -> Value
  ) {
    shape = FieldShape(key: key, summary: summary, shape: format.shape, isRequired: true)
    write = { format.write(value($0)) }
  }

  /// A key that is omitted if there is no value.
  init<Value>(
    optional key: String, _ format: Format<Value>, _ summary: String, _ value: @escaping @Sendable (Source) -> Value?
  ) {
    shape = FieldShape(key: key, summary: summary, shape: format.shape, isRequired: false)
    write = { value($0).map { format.write($0) } }
  }
}

extension Answer<String> {
  static func new(_ kind: String) -> Answer { .only("new \(kind)", kind, .text, "the id of the new \(kind)") }
}

extension Answer<Void> {
  static let nothing = Answer("nothing", "an empty object") {}
}

extension Format<JSON5Value> {
  static func raw(_ name: String) -> Format {
    Format(.document(name)) { value, _ in
      value
    } write: {
      $0
    }
  }

  /// A profile, or the name of one.
  static let profile = Format(.either([.text(TextShape("profile name")), .document("a profile")])) { value, place in
    switch value.content {
    case .text, .object: value
    default: place.expected("a profile name, or a profile", value)
    }
  } write: {
    $0
  }
}

extension Format<Int> {
  static let natural = integer(0...Int.max)
}

extension Format<Instant> {
  /// Seconds since the clock started, with six decimal places.
  static let seconds = Format<Double>.number(0...1e12).map {
    .origin + .seconds($0)
  } back: {
    (Double($0.nanoseconds) / 1_000).rounded() / 1_000_000
  }
}

extension Arguments {
  static var none: Arguments<> { .init("no parameters") }

  static func id(of kind: String) -> Arguments<String> { .init("one \(kind)", .id(of: kind)) }

  static var world: Arguments<String?> {
    .init("maybe a world", Argument(optional: "world", .text, "the id of a world (default: all)"))
  }
}

extension Argument {
  init<Wrapped>(optional key: String, _ format: Format<Wrapped>, _ summary: String) where Value == Wrapped? {
    self.init(key, .optional(format), summary, from: nil)
  }
}

extension Argument<String> {
  init(text key: String, _ summary: String) { self.init(key, .text, summary, from: "", isRequired: true) }

  static func id(of kind: String) -> Argument { Argument(text: kind, "the id of the \(kind)") }
  static let world = Argument("world", .text, "the id of the world", from: "main")
}

/// Reads the files that a request names.
///
/// Files are never read on the loop, because a disk might not respond. If a method needs a file that has not been read
/// yet, the method fails. After another thread has read the required file, the method is called again. Methods must
/// therefore read their files before they change anything.
final class RequestFiles: Sendable {
  private struct State {
    var files: [String: Result<[UInt8], TextFileError>] = [:]
    var missing: (path: String, limit: Int)?
  }

  private let limit: Duration
  private let state = Locked(State())

  init(within limit: Duration = TextFile.patience) { self.limit = limit }

  /// Whether the method needs a file that has not been read yet.
  var isMissing: Bool { state.withLock { $0.missing != nil } }

  /// Returns the bytes of a regular file.
  func read(_ path: String, limit: Int) throws(TextFileError) -> [UInt8] {
    let found = state.withLock { state in
      if state.files[path] == nil, state.missing == nil { state.missing = (path, limit) }
      return state.files[path]
    }
    guard let found else { throw TextFileError(path, "it has not been read yet") }
    return try found.get()
  }

  /// Reads the file that the method still needs, and then calls `done` on the loop. In virtual time, the file is read
  /// on the loop itself, because the loop cannot wait for a thread.
  func fetch(on loop: any EventLoop, _ done: @escaping () -> Void) {
    guard let (path, most) = state.withLock({ $0.missing }) else { return done() }
    let read: @Sendable () -> Result<[UInt8], TextFileError> = {
      Result { () throws(TextFileError) in try TextFile.read(path, limit: most, onlyRegular: true) }
    }
    guard loop is any PollingLoop else {
      put(read(), for: path)
      return done()
    }
    let late = loop.schedule(after: limit) { [self] in
      if put(.failure(TextFileError(path, "it took more than \(DurationText.format(limit))")), for: path) { done() }
    }
    // `late` and `done` are used only on the loop.
    nonisolated(unsafe) let end = (late, done)
    let finish: @Sendable (Result<[UInt8], TextFileError>) -> Void = { [self] result in
      loop.execute {
        end.0.cancel()
        if self.put(result, for: path) { end.1() }
      }
    }
    do { try Worker.start { finish(read()) } } catch { finish(.failure(TextFileError(path, "\(error)"))) }
  }

  /// Stores a result. Returns true if this result is the first one for the file.
  @discardableResult
  private func put(_ result: Result<[UInt8], TextFileError>, for path: String) -> Bool {
    state.withLock { state in
      guard state.files[path] == nil else { return false }
      state.files[path] = result
      state.missing = nil
      return true
    }
  }
}
