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

extension Record {
  /// Describes an object with a single key, whose value is all of `Root`.
  static func only(
    _ name: String, _ key: String, _ format: Format<Root>, _ summary: String, from first: Root, isRequired: Bool = true
  ) -> Record {
    Record(name, "", first) { Field(key, \.self, format, summary, isRequired: isRequired) }
  }
}

extension Record<String> {
  /// Describes the ID of an object.
  static func id(of kind: String) -> Record { .only("one \(kind)", kind, .text, "the id of the \(kind)", from: "") }
}

extension Record<String?> {
  static let world = Record.only(
    "maybe a world", "world", .optional(.text), "the id of a world (default: all)", from: nil, isRequired: false)
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
