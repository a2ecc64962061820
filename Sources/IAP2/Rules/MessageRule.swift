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
