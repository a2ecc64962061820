import AccessoryFormats

/// Reads the lines of a text with debug descriptions in it: a machine with one event, a line.
///
/// Between accessories it waits for the opening `<EAAccessory: 0x`. Inside one it takes fields, and inside the field
/// `protocols` the elements of the list, until the closing brace. A second opening before the brace ends the first
/// accessory too, so that a log that was cut still gives what it holds.
struct DumpReader {
  /// What has been read of an accessory.
  struct Draft {
    var line: Int
    var address: UInt64
    var fields: [String: (value: String?, line: Int)] = [:]
    var protocols: [(name: String, line: Int)] = []
  }

  private enum State {
    case between
    case inside(Draft)
    case inProtocols(Draft)
  }

  private let file: String
  private let problems: ProblemCollector
  private var state = State.between
  private(set) var accessories: [AccessoryImport.Accessory] = []

  init(file: String, _ problems: ProblemCollector) {
    self.file = file
    self.problems = problems
  }

  mutating func read(_ line: DumpLines.Line) {
    if let address = DumpLine.address(in: line.text) {
      cutShort()
      state = .inside(Draft(line: line.number, address: address))
      return
    }
    switch state {
    case .between: break
    case .inside(let draft): readField(line, draft)
    case .inProtocols(let draft):
      if DumpLine.isClosing(line.text) || DumpLine.field(in: line.text) != nil {
        problem(.warning, line.number, "the list of protocols before this line has no ')'")
        readField(line, draft)
      } else {
        readProtocols(line, draft)
      }
    }
  }

  mutating func finish() {
    cutShort()
    if accessories.isEmpty, problems.errorCount == 0 {
      problem(.error, 1, "there is no accessory in this text: a description begins with '<EAAccessory: 0x…> {'")
    }
  }

  private mutating func readField(_ line: DumpLines.Line, _ soFar: Draft) {
    var draft = soFar
    state = .inside(draft)
    guard let (field, value) = DumpLine.field(in: line.text) else {
      if DumpLine.isClosing(line.text) {
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
      readProtocols(DumpLines.Line(text: list.dropFirst(), number: line.number), draft)
    } else if DumpLine.value(value) != nil {
      problem(.error, line.number, "expected '(' after 'protocols:', followed by one name per line")
    }
  }

  private mutating func readProtocols(_ line: DumpLines.Line, _ soFar: Draft) {
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

  /// Completes what the end of the text or another accessory interrupts.
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
    var building = DumpProfile(draft, taken: accessories.map(\.profile.name))
    let accessory = building.accessory()
    for (severity, line, message) in building.problems { problem(severity, line, message) }
    if let accessory { accessories.append(accessory) }
  }

  private func problem(_ severity: SourceProblem.Severity, _ line: Int, _ message: String) {
    problems.add(SourceProblem(severity, at: SourcePosition(file: file, line: line, column: 1), message))
  }
}
