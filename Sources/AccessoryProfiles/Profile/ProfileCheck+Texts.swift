import AccessoryCore

/// The rules about texts and behaviours.
extension ProfileCheck {
  /// The longest text of an identification, in Unicode scalars; the wire's own limit is far above.
  static let longestText = 255

  mutating func checkIdentity() {
    let identity = identity
    let texts: [(key: String, text: String?, mayBeBlank: Bool)] = [
      ("name", identity.name, false), ("manufacturer", identity.manufacturer, false),
      ("modelNumber", identity.modelNumber, false), ("serialNumber", identity.serialNumber, false),
      ("firmwareRevision", identity.firmwareRevision, false), ("hardwareRevision", identity.hardwareRevision, false),
      ("firmwareRevisionPending", identity.firmwareRevisionPending, true), ("ppid", identity.productPlanUID, true),
      ("regionCode", identity.regionCode, true), ("dockType", identity.dockType, true),
      ("currentLanguage", identity.currentLanguage, false),
    ]
    for (key, text, mayBeBlank) in texts {
      guard let text else { continue }
      checkText(text, path: "accessory.\(key)")
      if !mayBeBlank, text.allSatisfy(\.isWhitespace) { warning("accessory.\(key)", "is blank") }
    }
    for (index, language) in identity.supportedLanguages.enumerated() {
      checkText(language, path: "accessory.supportedLanguages[\(index)]")
    }
    if identity.supportedLanguages.isEmpty {
      error("accessory.supportedLanguages", "an accessory supports at least one language")
    } else if !identity.supportedLanguages.contains(identity.currentLanguage) {
      warning(
        "accessory.currentLanguage",
        "'\(Excerpt.of(identity.currentLanguage))' is not among the supported languages",
        reliesOn: ["accessory.supportedLanguages"])
    }
  }

  private mutating func checkText(_ text: String, path: String) {
    let length = text.unicodeScalars.count
    if length > Self.longestText {
      error(path, "a text has at most \(Self.longestText) characters, and this one has \(length)")
    }
    if text.unicodeScalars.contains("\0") {
      error(path, "a NUL would end the text on the wire")
    } else if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
      warning(path, "holds a line break or another control character")
    }
    if let fault = TemplateText.fault(in: text) { error(path, fault) }
  }

  // MARK: Behaviours

  mutating func checkBehavior(_ behavior: Behavior, path: String) {
    switch behavior {
    case .echo, .sink: break
    case .source(let source):
      for (key, value, range) in [
        ("rate", source.rate, Behavior.Source.rateRange), ("chunk", source.chunk, Behavior.Source.chunkRange),
        ("total", source.total ?? 1, Behavior.Source.totalRange),
      ] where !range.contains(value) {
        error("\(path).\(key)", "\(value) is not within \(range.lowerBound) to \(range.upperBound)")
      }
      if case .text("") = source.pattern { error("\(path).text", "an empty text cannot be sent over and over") }
    case .exec(let program):
      if program.command.isEmpty { error("\(path).command", "the command is empty") }
      for (index, variable) in program.environment.enumerated() {
        guard let fault = Behavior.Program.fault(inVariable: variable) else { continue }
        error("\(path).environment[\(index)]", fault)
      }
    case .script(let script): checkScript(script, path: path)
    }
  }

  private mutating func checkScript(_ script: Script, path: String) {
    if script.framing == .delimiter([]) { error("\(path).framing.delimiter", "an empty delimiter ends nothing") }
    if script.rules.isEmpty, script.otherwise == nil {
      warning("\(path).rules", "without a rule and without 'otherwise' nothing is ever answered")
    }
    for (index, rule) in script.rules.enumerated() {
      let place = "\(path).rules[\(index)].request"
      if let why = whyUnreachable(rule.request, after: script.rules[..<index], script.framing) {
        warning(place, "this rule never answers: \(why)")
      }
    }
  }

  private func whyUnreachable(
    _ request: [UInt8], after earlier: ArraySlice<Script.Rule>, _ framing: Script.Framing
  ) -> String? {
    if earlier.contains(where: { $0.request == request }) { return "a rule before it has the same request" }
    switch framing {
    case .fixed(let length) where request.count != length:
      return "its request has \(request.count) bytes, and every request has \(length)"
    case .delimiter(let delimiter) where request.contains(delimiter):
      return "its request holds the delimiter, which is not part of a request"
    case .any where request.isEmpty: return "its request is empty"
    case .any where earlier.contains(where: { request.starts(with: $0.request) }):
      return "a rule before it is complete earlier"
    default: return nil
    }
  }
}

extension [UInt8] {
  /// Whether `other`, not empty, occurs in these bytes.
  fileprivate func contains(_ other: [UInt8]) -> Bool {
    guard !other.isEmpty, other.count <= count else { return false }
    return (0...(count - other.count)).contains { self[$0...].starts(with: other) }
  }
}

extension Profile {
  /// Everything that is wrong or suspicious about the profile, by the paths of its file's keys; empty for a sound one.
  ///
  /// What comes from a file has been checked when it was read, and only the warnings are left. A profile made in Swift
  /// is checked here.
  public func check() -> [SourceProblem] {
    ProfileCheck(self).run().map { SourceProblem($0.severity, at: nil, path: $0.path, $0.message) }
  }
}
