import AccessoryFormats
import AccessoryProfiles

/// Turns pasted `EAAccessory` debug descriptions into profiles.
///
/// The text may contain any number of accessories, in any of the three known layouts. Lines may have log prefixes, may
/// end with either kind of line break, and may lack trailing spaces. An accessory printed as an element of an array is
/// a single line, with `\n` for line breaks. Text between accessories is skipped. Unknown lines within a description
/// are reported.
///
/// Between accessories, the reader looks for `<EAAccessory: 0x`. Within an accessory, the reader collects fields up to
/// the closing brace. Within the field `protocols`, the reader collects the elements of the list. In a truncated log,
/// the next `<EAAccessory: 0x` may come before the closing brace. The reader then keeps what it has read of the first
/// accessory.
struct AccessoryImport {
  struct Draft {
    var line: Int
    var fields: [String: (value: String?, line: Int)] = [:]
    var protocols: [(name: String, line: Int)] = []
  }

  private enum State {
    case between
    case inside(Draft)
    case inProtocols(Draft)
  }

  private let file: String
  private let collector = ProblemCollector()
  private var state = State.between
  /// The accessories that could be read, in order: for each, the line where its description begins, and a profile named
  /// after the model.
  private(set) var accessories: [(line: Int, profile: Profile)] = []
  /// The problems that were found. Text without any accessory is also reported as a problem.
  var problems: [SourceProblem] { collector.problems }

  private init(file: String) { self.file = file }

  /// Reads the accessories in `bytes`. Reported problems name `file` as their source.
  static func read(_ bytes: [UInt8], file: String) -> AccessoryImport {
    var reader = AccessoryImport(file: file)
    for line in DumpLine.split(bytes, file: file, reader.collector) { reader.read(line) }
    reader.finish()
    return reader
  }

  private mutating func read(_ line: DumpLine) {
    if line.isOpening {
      cutShort()
      state = .inside(Draft(line: line.number))
      return
    }
    switch state {
    case .between: break
    case .inside(let draft): readField(line, draft)
    case .inProtocols(let draft):
      if line.isClosing || line.field != nil {
        problem(.warning, line.number, "the list of protocols before this line is not closed by ')'")
        readField(line, draft)
      } else {
        readProtocols(line, draft)
      }
    }
  }

  private mutating func finish() {
    cutShort()
    if accessories.isEmpty, collector.errorCount == 0 {
      problem(.error, 1, "this text contains no accessory: a description begins with '<EAAccessory: 0x…> {'")
    }
  }

  private mutating func readField(_ line: DumpLine, _ soFar: Draft) {
    var draft = soFar
    state = .inside(draft)
    guard let (field, value) = line.field else {
      if line.isClosing {
        state = .between
        complete(draft)
      } else if !line.text.allSatisfy(\.isWhitespace) {
        problem(.warning, line.number, "not understood and ignored: '\(Excerpt.of(String(line.text)))'")
      }
      return
    }
    guard draft.fields[field] == nil else {
      problem(.warning, line.number, "the field '\(field)' occurs twice in one accessory; the first is used")
      return
    }
    draft.fields[field] = (DumpLine.value(value), line.number)
    state = .inside(draft)
    guard field == "protocols" else { return }
    let list = value.drop { $0 == " " }
    if list.first == "(", DumpLine.value(value) != nil {
      readProtocols(DumpLine(text: list.dropFirst(), number: line.number), draft)
    } else if DumpLine.value(value) != nil {
      problem(.error, line.number, "expected '(' after 'protocols:', followed by one name per line")
    }
  }

  private mutating func readProtocols(_ line: DumpLine, _ soFar: Draft) {
    var draft = soFar
    for element in DumpLine.elements(of: line.text) {
      if element == ")" {
        state = .inside(draft)
        return
      }
      draft.protocols.append((element, line.number))
    }
    state = .inProtocols(draft)
  }

  private mutating func cutShort() {
    switch state {
    case .between: break
    case .inside(let draft), .inProtocols(let draft):
      problem(.warning, draft.line, "the accessory that begins here has no closing '}': the text may be truncated")
      complete(draft)
    }
    state = .between
  }

  private mutating func complete(_ draft: Draft) {
    guard let profile = DumpProfile(draft, problem).profile(taken: accessories.map(\.profile.name)) else { return }
    accessories.append((draft.line, profile))
  }

  private func problem(_ severity: SourceProblem.Severity, _ line: Int, _ message: String) {
    collector.add(SourceProblem(severity, at: SourcePosition(file: file, line: line, column: 1), message))
  }
}

private struct DumpProfile {
  private let draft: AccessoryImport.Draft
  private let problem: (SourceProblem.Severity, Int, String) -> Void

  init(_ draft: AccessoryImport.Draft, _ problem: @escaping (SourceProblem.Severity, Int, String) -> Void) {
    (self.draft, self.problem) = (draft, problem)
  }

  /// Returns the profile. If the dump lacks a mandatory field, reports a problem and returns nil. `taken` lists the names
  /// of the profiles that have already been created from this text.
  func profile(taken: [String]) -> Profile? {
    let needed = ["name", "manufacturer", "modelNumber", "serialNumber", "firmwareRevisionActive", "hardwareRevision"]
    let missing = needed.filter { draft.fields[$0] == nil }
    guard missing.isEmpty else {
      let lines = missing.map { "'\($0)'" }.joined(separator: ", ")
      problem(.error, draft.line, "the accessory that begins here lacks the line \(lines)")
      return nil
    }
    var identity = Profile.Identity(
      name: text("name"), manufacturer: text("manufacturer"), modelNumber: text("modelNumber"),
      serialNumber: text("serialNumber"), firmwareRevision: text("firmwareRevisionActive"),
      hardwareRevision: text("hardwareRevision"))
    identity.productPlanUID = draft.fields["ppid"]?.value
    identity.regionCode = draft.fields["regioncode"]?.value
    identity.firmwareRevisionPending = draft.fields["firmwareRevisionPending"]?.value
    identity.dockType = draft.fields["dockType"]?.value ?? ""
    var profile = Profile(name: name(for: identity, taken), identity: identity, protocols: protocols())
    profile.authentication = authentication()
    return profile
  }

  private func text(_ field: String) -> String {
    guard let (value, line) = draft.fields[field] else { return "" }
    guard let value else {
      problem(.warning, line, "the field '\(field)' is (null), so an empty text is used")
      return ""
    }
    if TemplateText.isTemplate(value) || TemplateText.fault(in: value) != nil {
      problem(.warning, line, "'{index' in the field '\(field)' stands for an instance number in a profile")
    }
    return value
  }

  private func size(_ field: String) -> Int? {
    guard let (value, line) = draft.fields[field] else { return nil }
    if let value, value.hasSuffix(" bytes"), let number = Int(value.dropLast(6)), number >= 0 { return number }
    let found = Excerpt.of(value ?? "(null)")
    problem(.warning, line, "expected a number and ' bytes' after '\(field):', found '\(found)'")
    return nil
  }

  private func authentication() -> Profile.Authentication {
    typealias Authentication = Profile.Authentication
    let data = size("certData")
    let serial = size("certSerial")
    // The certificate's length distinguishes the two coprocessor generations.
    var authentication = Authentication((data ?? 0) > 800 ? .older : .current)
    if let data = within(Authentication.certDataRange, data, "certData") { authentication.certData = data }
    if let serial = within(Authentication.certSerialRange, serial, "certSerial") { authentication.certSerial = serial }
    return authentication
  }

  private func within(_ range: ClosedRange<Int>, _ number: Int?, _ field: String) -> Int? {
    guard let number, !range.contains(number), let line = draft.fields[field]?.line else { return number }
    problem(.warning, line, "'\(field)' is more than \(range.upperBound) bytes and is omitted")
    return nil
  }

  private func protocols() -> [Profile.SessionProtocol] {
    if draft.fields["protocols"] == nil {
      problem(.warning, draft.line, "the accessory that begins here has no list of protocols")
    }
    var entries: [Profile.SessionProtocol] = []
    for (name, line) in draft.protocols {
      if let fault = Profile.SessionProtocol.fault(inName: name) {
        problem(.error, line, "\(fault); it is omitted")
      } else if entries.contains(where: { $0.name == name }) {
        problem(.warning, line, "the protocol '\(Excerpt.of(name))' is listed twice; the second is ignored")
      } else if entries.count == 256 {
        problem(.error, line, "an accessory has at most 256 protocols; the others are omitted")
        break
      } else {
        entries.append(Profile.SessionProtocol(name, id: UInt8(entries.count)))
      }
    }
    return entries
  }

  /// Returns a name for the profile. The name is the model in lower case with dashes or, if the model has no Latin
  /// letters, the accessory's name. If another profile already has this name, a number is appended.
  private func name(for identity: Profile.Identity, _ taken: [String]) -> String {
    let candidates = [identity.modelNumber, identity.name, identity.manufacturer].map(Self.slug)
    let base = candidates.first { $0.contains { $0.isLetter } } ?? "imported"
    guard taken.contains(base) else { return base }
    return (2...).lazy.map { "\(base)-\($0)" }.first { !taken.contains($0) } ?? base
  }

  private static func slug(_ text: String) -> String {
    text.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "-")
  }
}

/// A line of a debug description. Logs may put any prefix in front of a line, so the parser searches for known field
/// names. To find a closing brace, the parser looks at the line's last word.
struct DumpLine {
  var text: Substring
  var number: Int

  private static let opening = "<EAAccessory: 0x"

  /// The maximum number of bytes read. A day's log may be larger, but a description takes up only a few lines.
  static let limit = 16 << 20

  static func split(_ bytes: [UInt8], file: String, _ problems: ProblemCollector) -> [DumpLine] {
    guard bytes.count <= limit else {
      problems.error(
        at: SourcePosition(file: file, line: 1, column: 1),
        "the text has \(bytes.count) bytes; the limit is \(limit): extract the accessory")
      return []
    }
    var lines: [DumpLine] = []
    for (index, slice) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      let content = slice.last == UInt8(ascii: "\r") ? slice.dropLast() : slice
      if String(validating: content, as: UTF8.self) == nil {
        let place = SourcePosition(file: file, line: index + 1, column: 1)
        problems.add(SourceProblem(.warning, at: place, "the line is not UTF-8; invalid bytes were replaced"))
      }
      lines += spread(String(decoding: content, as: UTF8.self), number: index + 1)
    }
    return lines
  }

  /// Splits the description of an accessory that was printed as part of an array. Such a description is a single line,
  /// with line breaks, quotation marks and non-ASCII letters escaped.
  private static func spread(_ text: String, number: Int) -> [DumpLine] {
    guard let start = range(of: opening, in: text[...])?.lowerBound,
      range(of: "\\n  connected:", in: text[start...]) != nil
    else { return [DumpLine(text: text[...], number: number)] }
    var lines = PropertyListText.unescaped(text[start...]).split(separator: "\n", omittingEmptySubsequences: false)
    if let last = lines.last, last.hasPrefix("}") { lines[lines.count - 1] = "}" }
    return lines.map { DumpLine(text: $0, number: number) }
  }

  private static func range(of part: String, in text: Substring) -> Range<Substring.Index>? {
    let bytes = text.utf8
    var start = bytes.startIndex
    while let candidate = bytes[start...].firstIndex(where: { $0 == part.utf8.first }) {
      if bytes[candidate...].starts(with: part.utf8) {
        return candidate..<bytes.index(candidate, offsetBy: part.utf8.count)
      }
      start = bytes.index(after: candidate)
    }
    return nil
  }
}

extension DumpLine {
  private static let fields = [
    "connected", "connectionID", "name", "manufacturer", "modelNumber", "serialNumber", "ppid", "regioncode",
    "firmwareRevisionActive", "firmwareRevisionPending", "hardwareRevision", "dockType", "certSerial", "certData",
    "protocols", "delegate",
  ]

  var isOpening: Bool {
    guard let opening = Self.range(of: Self.opening, in: text) else { return false }
    return text[opening.upperBound...].drop { $0.isHexDigit && $0.isASCII }.hasPrefix(">")
  }

  var isClosing: Bool { Self.lastWord(of: text) == "}" }

  /// Returns the field in a line and the text after its colon. A field name after two spaces (the usual layout) takes
  /// precedence over one after a single space or at the start of a line (in a log that has lost its indentation).
  var field: (name: String, value: Substring)? {
    let bytes = text.utf8
    var best: (margin: Int, name: String, end: Substring.Index)?
    for colon in bytes.indices where bytes[colon] == UInt8(ascii: ":") {
      guard let name = Self.fields.first(where: { bytes[..<colon].hasSuffix($0) }) else { continue }
      let before = bytes[..<colon].dropLast(name.utf8.count)
      let margin = before.hasSuffix("  ") ? 2 : before.hasSuffix(" ") || before.hasSuffix("\t") ? 1 : 0
      guard margin > 0 || before.isEmpty, margin > best?.margin ?? -1 else { continue }
      best = (margin, name, bytes.index(after: colon))
      if margin == 2 { break }
    }
    return best.map { ($0.name, text[$0.end...]) }
  }

  /// Returns a value without surrounding spaces, or nil for `(null)`.
  static func value(_ text: Substring) -> String? {
    let inner = text.hasPrefix(" ") ? text.dropFirst() : text
    let value = inner.hasSuffix(" ") ? inner.dropLast() : inner
    return value == "(null)" ? nil : String(value)
  }

  /// Returns the list elements on one line. The closing `)` counts as an element.
  static func elements(of text: Substring) -> [String] {
    text.split(separator: ",").flatMap { piece -> [String] in
      guard let word = lastWord(of: piece) else { return [] }
      if word == ")" { return [")"] }
      if word.hasSuffix(")") { return elements(of: word.dropLast()) + [")"] }
      return [PropertyListText.unescaped(quoted(piece) ?? word)]
    }
  }

  /// Returns the text between the last two quotation marks of a piece that ends with a quotation mark.
  private static func quoted(_ piece: Substring) -> Substring? {
    guard lastWord(of: piece)?.hasSuffix("\"") == true, let closing = piece.lastIndex(of: "\""),
      let opening = piece[..<closing].lastIndex(of: "\"")
    else { return nil }
    return piece[piece.index(after: opening)..<closing]
  }

  private static func lastWord(of line: Substring) -> Substring? {
    line.split(whereSeparator: \.isWhitespace).last
  }
}

extension Substring.UTF8View {
  fileprivate func hasSuffix(_ text: String) -> Bool {
    suffix(text.utf8.count).elementsEqual(text.utf8)
  }
}
