/// Plays the rules of one end on one cable: which control messages it sends by itself, and when.
///
/// ```
///   begin(…)      the accessory is identified: rules may answer from now on
///   connected(…)  it is authenticated too: rules of the connection begin
///   heard(…)      a message of the other end: rules answer it, or fall silent
///   change(…)     what rules send from now on; whoever subscribed hears it at once
///   next(now:)    the next message that is due, in the order of time and then of the rules
/// ```
///
/// Invariants: nothing is due before ``begin(declared:)``; at most ``pendingLimit`` messages wait, however fast the other
/// end asks; a rule repeats itself in one rhythm only.
public struct MessageRules: Sendable {
  /// What came of a change.
  public enum Change: Hashable, Sendable {
    /// So many rules send the message now.
    case sent(Int)
    /// Rules will send it so when they are asked.
    case kept
    /// No rule sends this message.
    case unknown
  }

  /// A message that waits for its time.
  private struct Pending: Sendable {
    var rule: Int
    var due: Instant
    var order: Int
    var request: [Parameter]
  }

  /// How many messages wait at most.
  public static let pendingLimit = 256

  private let rules: [MessageRule]
  /// The seconds since 1970 at the clock's zero.
  private let epoch: UInt64
  private var hasBegun = false
  private var allowed: [Bool] = []
  private var pending: [Pending] = []
  private var count = 0
  /// The subscriptions: rules that answered and were not ended, each with what it was asked.
  private var standing: [Int: [Parameter]] = [:]
  private var changes: [MessageID: [MessageRule.Element]] = [:]
  /// How many answers were dropped, because too many waited.
  public private(set) var dropped = 0

  /// Rules that have not begun. `epoch` is the time at the clock's zero, in seconds since 1970.
  public init(_ rules: [MessageRule], epoch: UInt64 = 0) {
    self.rules = rules
    self.epoch = epoch
  }

  /// The messages of the other end that some rule is about.
  public static func heard(by rules: [MessageRule]) -> Set<MessageID> {
    Set(rules.flatMap { [$0.heard, $0.until].compactMap(\.self) })
  }

  /// Whether any of the rules has something to say to an end that declares to receive these; nil for all.
  public static func concern(_ rules: [MessageRule], declared: [MessageID]?) -> Bool {
    rules.contains { $0.isAllowed(declared) }
  }

  /// Rules may speak from now on, to an end that declares to receive these messages; nil for all.
  public mutating func begin(declared: [MessageID]?) {
    stop()
    hasBegun = true
    allowed = rules.map { $0.isAllowed(declared) }
  }

  /// The connection is there.
  public mutating func connected(now: Instant) {
    for index in rules.indices where rules[index].trigger == .connection { add(index, answering: [], now: now) }
  }

  /// The link is down: nothing waits any more. What was changed stays so.
  public mutating func stop() {
    hasBegun = false
    pending = []
    standing = [:]
  }

  /// A message of the other end.
  public mutating func heard(_ message: ControlMessage, now: Instant) {
    guard hasBegun else { return }
    for index in rules.indices where rules[index].until == message.id {
      pending.removeAll { $0.rule == index }
      standing[index] = nil
    }
    let answering = rules.indices.filter { rules[$0].heard == message.id }
    guard !answering.isEmpty, let parameters = try? ParameterReader.read(message.body) else { return }
    for index in answering {
      guard case .message(_, let conditions) = rules[index].trigger, conditions.fit(parameters) else { continue }
      if rules[index].until != nil { standing[index] = parameters }
      add(index, answering: parameters, now: now)
    }
  }

  /// Changes parameters of a message that rules send. Those whose answers were subscribed to send it at once.
  public mutating func change(_ id: MessageID, _ parameters: [MessageRule.Element], now: Instant) -> Change {
    let speaking = rules.indices.filter { rules[$0].message == id }
    if speaking.isEmpty { return .unknown }
    changes[id] = changes[id, default: []].changed(by: parameters)
    let subscribed = speaking.compactMap { index in standing[index].map { (index, $0) } }
    for (index, request) in subscribed where rules[index].every == nil {
      add(index, answering: request, now: now, after: 0)
    }
    return subscribed.isEmpty ? .kept : .sent(subscribed.count)
  }

  /// When something is due; nil while nothing waits.
  public var deadline: Instant? { pending.lazy.map(\.due).min() }

  /// The next message that is due.
  public mutating func next(now: Instant) -> ControlMessage? {
    guard
      let first = pending.indices.min(by: {
        (pending[$0].due, pending[$0].order) < (pending[$1].due, pending[$1].order)
      }),
      pending[first].due <= now
    else { return nil }
    let entry = pending[first]
    let rule = rules[entry.rule]
    if let every = rule.every {
      // From when it was due and not from now, so that the rhythm does not drift; but never twice for time that is past.
      pending[first].due = max(entry.due + Milliseconds(max(1, every.count)), now)
      pending[first].order = nextOrder()
    } else {
      pending.remove(at: first)
    }
    let parameters = rule.parameters.changed(by: changes[rule.message] ?? [])
    let seconds = epoch &+ UInt64(max(0, now.nanoseconds / 1_000_000_000))
    return ControlMessage(
      rule.message, body: parameters.encoded(answering: entry.request, selecting: rule.selects, seconds: seconds))
  }

  private mutating func add(_ index: Int, answering request: [Parameter], now: Instant, after: Milliseconds? = nil) {
    guard hasBegun, allowed[index] else { return }
    let rule = rules[index]
    if rule.every != nil { pending.removeAll { $0.rule == index } }
    guard pending.count < Self.pendingLimit else {
      dropped += 1
      return
    }
    pending.append(
      Pending(rule: index, due: now + (after ?? rule.after), order: nextOrder(), request: request))
  }

  private mutating func nextOrder() -> Int {
    count += 1
    return count
  }
}

extension MessageRule {
  fileprivate func isAllowed(_ declared: [MessageID]?) -> Bool {
    ignoresDeclaration || declared?.contains(message) ?? true
  }
}

/// One thing that an end says by itself: an answer to a control message, or a message at connection, at once, later or
/// again and again. ``MessageRules`` plays them.
public struct MessageRule: Hashable, Sendable {
  /// What makes it speak.
  public enum Trigger: Hashable, Sendable {
    /// The accessory is identified and authenticated.
    case connection
    /// This message came, with parameters that fit all of these.
    case message(MessageID, with: [Condition])
  }

  /// What a parameter of the message must be.
  public struct Condition: Hashable, Sendable {
    /// What it must be.
    public indirect enum Value: Hashable, Sendable {
      /// There.
      case present
      /// These bytes.
      case bytes([UInt8])
      /// Parameters that fit all of these.
      case group([Condition])
    }

    /// The parameter's number.
    public var id: UInt16
    /// What it must be; one of several with this number is enough.
    public var value: Value

    /// A condition.
    public init(_ id: UInt16, _ value: Value) {
      self.id = id
      self.value = value
    }
  }

  /// A parameter that is sent.
  public struct Element: Hashable, Sendable {
    /// Its value.
    public indirect enum Value: Hashable, Sendable {
      /// These bytes.
      case bytes([UInt8])
      /// Parameters.
      case group([Element])
      /// The bytes of the parameter with this number in the message that is answered; left out when that has none.
      case copy(UInt16)
      /// The seconds since 1970, eight bytes.
      case time
    }

    /// The parameter's number.
    public var id: UInt16
    /// Its value.
    public var value: Value

    /// A parameter.
    public init(_ id: UInt16, _ value: Value) {
      self.id = id
      self.value = value
    }
  }

  /// What makes it speak.
  public var trigger: Trigger
  /// How long after that.
  public var after: Milliseconds = 0
  /// How often again, until the connection ends or ``until`` comes; nil for once.
  public var every: Milliseconds?
  /// The message of the other end after which it is silent; nil for none.
  public var until: MessageID?
  /// What is sent.
  public var message: MessageID
  /// With which parameters.
  public var parameters: [Element] = []
  /// Whether of the parameters only those are sent that the message asks for by empty ones of the same number, as
  /// subscriptions do.
  public var selects = false
  /// Whether it is also sent to an end that did not declare it.
  public var ignoresDeclaration = false

  /// A rule.
  public init(_ trigger: Trigger, send message: MessageID, _ parameters: [Element] = []) {
    self.trigger = trigger
    self.message = message
    self.parameters = parameters
  }

  /// The message that makes it speak, where one does. Not inlined, because the optimizer of Swift 6.3.1 then crashes over
  /// comparisons of it in AccessoryProfiles.
  @inline(never) public var heard: MessageID? { if case .message(let id, _) = trigger { id } else { nil } }
}

extension ControlMessage {
  /// A message with these parameters, which answers nothing. `seconds` is the time, since 1970.
  public init(_ id: MessageID, _ parameters: [MessageRule.Element], seconds: UInt64) {
    self.init(id, body: parameters.encoded(answering: [], selecting: false, seconds: seconds))
  }
}

extension [MessageRule.Element] {
  /// The parameters as on the wire. `request` is the message that is answered, and `seconds` the time.
  func encoded(answering request: [Parameter], selecting: Bool, seconds: UInt64) -> [UInt8] {
    var writer = ParameterWriter()
    for element in self {
      let asked = request.filter { $0.id == element.id }
      if selecting, asked.isEmpty { continue }
      switch element.value {
      case .bytes(let bytes): writer.blob(element.id, bytes)
      case .time: writer.number(element.id, seconds)
      case .copy(let id): if let source = request.first(id) { writer.blob(element.id, source.value) }
      case .group(let group):
        // An empty group asks for all of it.
        let inner = selecting ? (try? asked.first?.group()) ?? [] : []
        writer.blob(
          element.id, group.encoded(answering: inner, selecting: selecting && !inner.isEmpty, seconds: seconds))
      }
    }
    return writer.bytes
  }

  /// These, with the values of others where the numbers are the same; what is new comes last.
  func changed(by changes: [MessageRule.Element]) -> [MessageRule.Element] {
    var result = self
    for change in changes {
      guard let index = result.firstIndex(where: { $0.id == change.id }) else {
        result.append(change)
        continue
      }
      if case .group(let old) = result[index].value, case .group(let new) = change.value {
        result[index].value = .group(old.changed(by: new))
      } else {
        result[index].value = change.value
      }
    }
    return result
  }
}

extension [MessageRule.Condition] {
  /// Whether parameters fit all of these.
  func fit(_ parameters: [Parameter]) -> Bool {
    allSatisfy { condition in
      parameters.contains { parameter in
        guard parameter.id == condition.id else { return false }
        switch condition.value {
        case .present: return true
        case .bytes(let bytes): return parameter.value == bytes
        case .group(let group): return (try? parameter.group()).map(group.fit) ?? false
        }
      }
    }
  }
}
