import AccessoryCore
import AccessoryFormats

extension Script {
  /// One of several answers: bytes to send, or something that the accessory does.
  public struct Answer: Equatable, Sendable {
    /// How long an accessory is away that unplugs itself.
    public enum Absence: Equatable, Sendable {
      /// It stays unplugged.
      case stays
      /// It comes back after this time.
      case returns(after: Duration)
    }

    /// What is sent; nil for nothing.
    public var send: ScriptTemplate?
    /// The protocol in whose sessions it is sent; nil for the session that asked.
    public var protocolName: String?
    /// Whether it is sent as it is where others are put into a frame.
    public var isUnframed = false
    /// The pause before it.
    public var after = Duration.zero
    /// The state that follows; nil for none.
    public var next: String?
    /// A quirk that the accessory has from now on.
    public var quirk: Quirk?
    /// Why the session is closed; nil to leave it open.
    public var close: String?
    /// Whether the accessory unplugs itself; nil when it does not.
    public var unplug: Absence?

    /// An answer that sends.
    public init(_ send: ScriptTemplate? = nil, after: Duration = .zero) { (self.send, self.after) = (send, after) }

    static let format = Record(
      "answer", "an answer, or just its text; several keys take effect in this order", Answer()
    ) {
      Field("after", \.after, .duration(.zero ... .seconds(3600)), "the pause after the previous answer")
      Field(
        "send", \.send, .optional(.template), "what to send: a text with inserted values, or { hex: … }")
      Field(
        "to", \.protocolName, .optional(.text),
        "the protocol whose open sessions receive it; default: the session that asked")
      Field("unframed", \.isUnframed, .boolean, "whether to send it as it is, without a frame")
      Field("goto", \.next, .optional(.stateName), "the next state")
      Field("quirk", \.quirk, .optional(.oneOf(Quirk.format)), "a quirk that the accessory has from then on")
      Field(
        "close", \.close, .optional(.text),
        "closes the session; the text is the reason on the timeline")
      Field(
        "unplug", \.unplug, .optional(.absence),
        "unplugs the accessory for a time, or until it is plugged in again "
          + "(stay)")
    }.checked { answer, object in
      let actions = ["send", "goto", "quirk", "close", "unplug"]
      if !actions.contains(where: { object.value($0) != nil }), object.value("after") == nil {
        object.error("this answer does nothing: give \(actions.map { "'\($0)'" }.joined(separator: ", "))")
      }
      for key in ["to", "unframed"] where object.value(key) != nil && object.value("send") == nil {
        object.error(key, "there is nothing to 'send'")
      }
    }
  }
}

extension Format<[Script.Answer]> {
  /// Answers, each as an object, or as what is sent alone.
  static let answers: Format = {
    let sent = Format<ScriptTemplate>.template
    let whole = Script.Answer.format.format
    return list(
      of: Format<Script.Answer>(.either([sent.shape, whole.shape])) { value, place in
        switch value.content {
        case .object where value["hex"] == nil: return whole.read(value, at: place)
        case .object, .text: return sent.read(value, at: place.key("send")).map { Script.Answer($0) }
        case .null, .boolean, .number, .array:
          return place.expected("an answer: a text, { hex: … } or an object", value)
        }
      } write: { answer in
        if let template = answer.send, answer == Script.Answer(template) { return sent.write(template) }
        return whole.write(answer)
      })
  }()
}

extension Format<Script.Answer.Absence> {
  fileprivate static let absence: Format = {
    let time = Format<Duration>.duration(.zero ... .seconds(86_400))
    return Format(.either([.words(["stay"]), time.shape])) { value, place in
      value.content == .text("stay") ? .stays : time.read(value, at: place).map { .returns(after: $0) }
    } write: { absence in
      switch absence {
      case .stays: .text("stay")
      case .returns(let after): time.write(after)
      }
    }
  }()
}

extension Format<ScriptTemplate> {
  /// A text with inserted values, or bytes in hex.
  static let template = Format(Format<[UInt8]>.bytes.shape) { value, place in
    guard case .text(let text) = value.content else {
      return Format<[UInt8]>.bytes.read(value, at: place).map(ScriptTemplate.init(bytes:))
    }
    do throws(ScriptTemplateError) { return try ScriptTemplate(text) } catch {
      place.error(value, error.description)
      return nil
    }
  } write: { template in
    switch template.source {
    case .text(let text): .text(text)
    case .bytes(let bytes): .object([JSON5Member("hex", .text(Hex.spaced(bytes)))])
    }
  }
}
