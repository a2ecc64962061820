import AccessoryCore
import AccessoryFormats
import Certificates

extension Format<JSON5Value> {
  static func raw(_ name: String) -> Format {
    Format(.document(name)) { value, _ in
      value
    } write: {
      $0
    }
  }
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

  /// An object with one key.
  static func only<Only>(_ name: String, _ parameter: Argument<Only>) -> Arguments<Only> {
    Arguments<Only>(name, parameter)
  }

  static func id(of kind: String) -> Arguments<String> { .only("one \(kind)", .id(of: kind)) }

  static var world: Arguments<String?> {
    .only("maybe a world", Argument(optional: "world", .text, "the id of a world (default: all)"))
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

extension Format<JSON5Value> {
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

extension ControlMethods {
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
