import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
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

extension Format<Double> {
  static let seconds = number(0...1e12)
}

extension Instant {
  /// Seconds since the clock started, with six decimal places.
  var wholeSeconds: Double { (Double(nanoseconds) / 1_000).rounded() / 1_000_000 }
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

enum ProfileReference: Equatable, Sendable {
  case name(String)
  case inline(JSON5Value)

  static let format = Format<ProfileReference>(
    .either([.text(TextShape("profile name")), .document("a profile")])
  ) { value, place in
    switch value.content {
    case .text(let name): return .name(name)
    case .object: return .inline(value)
    default: return place.expected("a profile name, or a profile", value)
    }
  } write: { reference in
    switch reference {
    case .name(let name): .text(name)
    case .inline(let tree): tree
    }
  }

  func template(_ library: ProfileLibrary) throws(SourceProblems) -> ProfileTemplate {
    switch self {
    case .name(let name): try library.template(name)
    case .inline(let tree): try library.template(tree: tree, name: "inline")
    }
  }
}

struct SentBytes: Equatable, Sendable {
  var data: String?
  var text: String?

  func bytes() throws(RPCError) -> [UInt8] {
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
