/// Applies one end's rules on one cable: which control messages that end sends automatically, and when.
///
/// ```
///   begin(…)      the accessory is identified, so rules may answer from now on
///   connected(…)  the accessory is authenticated too, so connection rules start
///   heard(…)      a message arrived, which starts or stops rules
///   change(…)     changes what rules send; subscribers receive the change immediately
///   next(now:)    returns the next message that is due, ordered by time and then by rule
/// ```
///
/// Invariants: nothing is due before ``begin(declared:)``. At most ``pendingLimit`` messages wait, however fast
/// requests arrive. Each rule repeats at a single interval.
public struct MessageRules: Sendable {
  /// The result of a change.
  public enum Change: Hashable, Sendable {
    case sent(Int)
    /// Rules will send the changed message the next time it is requested.
    case kept
    case unknown
  }

  private struct Pending: Sendable {
    var rule: Int
    var due: Instant
    var order: Int
    var request: [Parameter]
  }

  /// The maximum number of waiting messages.
  public static let pendingLimit = 256

  private let rules: [MessageRule]
  /// The Unix time at which the clock read 0.
  private let epoch: UInt64
  private var hasBegun = false
  private var allowed: [Bool] = []
  private var pending: [Pending] = []
  private var count = 0
  /// The active subscriptions: rules that answered a request and have not been stopped, with that request's parameters.
  private var standing: [Int: [Parameter]] = [:]
  private var changes: [MessageID: [MessageRule.Element]] = [:]
  /// The number of answers that were dropped because too many were waiting.
  public private(set) var dropped = 0

  /// Creates the initial state, in which no rule applies. `epoch` is the time at which the clock read 0, in seconds
  /// since 1970.
  public init(_ rules: [MessageRule], epoch: UInt64 = 0) {
    self.rules = rules
    self.epoch = epoch
  }

  /// Returns the messages from the other end that the rules refer to.
  public static func heard(by rules: [MessageRule]) -> Set<MessageID> {
    Set(rules.flatMap { [$0.heard, $0.until].compactMap(\.self) })
  }

  /// Returns true if any rule can send to an end that receives only `declared`, or everything if `declared` is nil.
  public static func concern(_ rules: [MessageRule], declared: [MessageID]?) -> Bool {
    rules.contains { $0.isAllowed(declared) }
  }

  /// Allows rules to send to an end that receives only `declared`, or everything if `declared` is nil.
  public mutating func begin(declared: [MessageID]?) {
    stop()
    hasBegun = true
    allowed = rules.map { $0.isAllowed(declared) }
  }

  /// Starts the rules that the connection triggers.
  public mutating func connected(now: Instant) {
    for index in rules.indices where rules[index].trigger == .connection { add(index, answering: [], now: now) }
  }

  /// Drops all waiting messages, because the link is down. Changed parameters are kept.
  public mutating func stop() {
    hasBegun = false
    pending = []
    standing = [:]
  }

  /// Handles a message from the other end.
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

  /// Changes the parameters of a message that rules send. Rules with an active subscription send the changed message
  /// immediately.
  public mutating func change(_ id: MessageID, _ parameters: [MessageRule.Element], now: Instant) -> Change {
    let changed = Set(parameters.map(\.id))
    let speaking = rules.indices.filter { index in
      let rule = rules[index]
      return rule.message == id && (rule.takesNewParameters || rule.parameters.contains { changed.contains($0.id) })
    }
    if speaking.isEmpty { return .unknown }
    changes[id] = changes[id, default: []].changed(by: parameters)
    let subscribed = speaking.compactMap { index in standing[index].map { (index, $0) } }
    for (index, request) in subscribed where rules[index].every == nil {
      add(index, answering: request, now: now, after: 0)
    }
    return subscribed.isEmpty ? .kept : .sent(subscribed.count)
  }

  /// The time at which the next message is due, or nil if none is waiting.
  public var deadline: Instant? { pending.lazy.map(\.due).min() }

  /// Returns the next message that is due.
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
      // The interval counts from the due time, not from now, so that it does not drift; missed repetitions are skipped.
      pending[first].due = max(entry.due + Milliseconds(max(1, every.count)), now)
      pending[first].order = nextOrder()
    } else {
      pending.remove(at: first)
    }
    var changes = changes[rule.message] ?? []
    if !rule.takesNewParameters { changes.removeAll { change in !rule.parameters.contains { $0.id == change.id } } }
    let parameters = rule.parameters.changed(by: changes)
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

/// A message that one end sends automatically. A control message or the connection triggers it, and it is sent
/// immediately, later or repeatedly.
public struct MessageRule: Hashable, Sendable {
  /// The event that triggers the rule.
  public enum Trigger: Hashable, Sendable {
    case connection
    /// The other end sent this message, and its parameters meet all the conditions.
    case message(MessageID, with: [Condition])
  }

  /// A condition on a parameter of the message.
  public struct Condition: Hashable, Sendable {
    /// The condition that a parameter must meet.
    public indirect enum Value: Hashable, Sendable {
      case present
      case bytes([UInt8])
      case group([Condition])
    }

    /// The parameter's number.
    public var id: UInt16
    /// The required value; if the parameter is repeated, one match is enough.
    public var value: Value

    /// Creates a condition.
    public init(_ id: UInt16, _ value: Value) {
      self.id = id
      self.value = value
    }
  }

  /// A parameter to send.
  public struct Element: Hashable, Sendable {
    /// The source of a parameter's value.
    public indirect enum Value: Hashable, Sendable {
      case bytes([UInt8])
      case group([Element])
      /// The bytes of the request's parameter with this number. The parameter is omitted if the request does not
      /// contain it.
      case copy(UInt16)
      /// The seconds since 1970, in eight bytes.
      case time
    }

    /// The parameter's number.
    public var id: UInt16
    /// The parameter's value.
    public var value: Value

    /// Creates a parameter.
    public init(_ id: UInt16, _ value: Value) {
      self.id = id
      self.value = value
    }
  }

  /// The event that triggers the rule.
  public var trigger: Trigger
  /// The delay after the trigger.
  public var after: Milliseconds = 0
  /// The interval at which the message repeats until the connection ends or ``until`` arrives. If nil, the message is
  /// sent once.
  public var every: Milliseconds?
  /// The message from the other end that stops the rule, or nil if there is none.
  public var until: MessageID?
  /// The message to send.
  public var message: MessageID
  /// The parameters to send.
  public var parameters: [Element] = []
  /// Whether to send only the requested parameters. To request a parameter, the triggering message includes an empty
  /// parameter with the same number, as a subscription does.
  public var selects = false
  /// Whether a change may add parameters to the message, or only change existing ones.
  public var takesNewParameters = true
  /// Whether to send the message even to an end that does not declare that it receives the message.
  public var ignoresDeclaration = false

  /// Creates a rule.
  public init(_ trigger: Trigger, send message: MessageID, _ parameters: [Element] = []) {
    self.trigger = trigger
    self.message = message
    self.parameters = parameters
  }

  /// The message that triggers the rule, if any. Inlining this property would make the Swift 6.3.1 optimizer crash when
  /// AccessoryProfiles compares it.
  @inline(never) public var heard: MessageID? { if case .message(let id, _) = trigger { id } else { nil } }

  fileprivate func isAllowed(_ declared: [MessageID]?) -> Bool {
    ignoresDeclaration || declared?.contains(message) ?? true
  }
}

extension ControlMessage {
  /// Creates an unsolicited message with these parameters; `seconds` is the time since 1970.
  public init(_ id: MessageID, _ parameters: [MessageRule.Element], seconds: UInt64) {
    self.init(id, body: parameters.encoded(answering: [], selecting: false, seconds: seconds))
  }
}

extension [MessageRule.Element] {
  /// Returns the encoded parameters; `request` contains the parameters of the message to answer.
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
        // An empty group requests all its parameters.
        let inner = selecting ? (try? asked.first?.group()) ?? [] : []
        writer.blob(
          element.id, group.encoded(answering: inner, selecting: selecting && !inner.isEmpty, seconds: seconds))
      }
    }
    return writer.bytes
  }

  /// Returns these parameters with the changed values; new parameters are added at the end.
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
