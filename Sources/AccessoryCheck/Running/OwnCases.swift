import AccessoryCore
import AccessoryFormats
import LinuxIO

/// The user's own cases, which are functions in a Python file. A Python process that uses the easim package runs these
/// cases.
///
/// The process first prints a line that lists the cases. To run a case, easim opens a session and sends `{"run": 902,
/// …}`. The process then sends requests, and easim answers them, until the process reports the outcome:
///
/// ```
///   {"send": "0102"}        ──▶   {}
///   {"receive": 2.5}        ──▶   {"data": "0a0b", "end": null}     what arrived, within at most 2.5 s
///   {"outcome": "failed", "text": "…"}
/// ```
package final class OwnCases: ChildProcessHandler {
  private static let startLimit = Duration.seconds(30)

  package private(set) var cases: [CheckCase] = []

  private let file: String
  private let loop: EpollLoop
  private let note: (String) -> Void
  private var child: ChildProcess?
  private var output = LineSplitter(longestLine: 1 << 24)
  private var errors = LineSplitter()
  private var requests: [JSON5Value] = []
  /// The reason the process has stopped sending requests, or nil while it is running.
  private var end: String?

  /// Starts Python and reads the list of cases.
  ///
  /// - Parameters:
  ///   - python: the interpreter.
  ///   - note: called with each line that is printed by the code in the file.
  /// - Throws: an error if the file has no usable cases.
  package init(_ file: String, python: String, on loop: EpollLoop, note: @escaping (String) -> Void) throws {
    (self.file, self.loop, self.note) = (file, loop, note)
    var command = ProcessCommand(python, ["-c", "from easim import check; check.main()", file])
    command.add(variables: ["PYTHONPATH", "VIRTUAL_ENV", "PYTHONUNBUFFERED=1"])
    do { child = try ChildProcess(command, on: loop, self) } catch {
      throw OptionError("\(error); set EASIM_PYTHON to an interpreter that has the Python package easim")
    }
    loop.run(until: { !requests.isEmpty || end != nil }, limit: Self.startLimit)
    guard let list = requests.first else {
      throw OptionError(
        "\(python) listed no cases in \(file): \(end ?? "it did not answer within 30 s"). "
          + "Is the Python package easim installed there? (docs/python.md)")
    }
    requests = []
    if case .text(let problem)? = list["problem"]?.content { throw OptionError("\(file): \(problem)") }
    guard case .array(let entries)? = list["cases"]?.content else { throw OptionError("\(file): it lists no cases") }
    cases = try entries.map { try self.rule($0) }.sorted { $0.number < $1.number }
    if cases.isEmpty { throw OptionError("\(file) has no cases: mark functions with @check.case(\"1\", \"does …\")") }
  }

  package func close() { child = nil }

  private func rule(_ entry: JSON5Value) throws -> CheckCase {
    guard let id = entry["id"]?.integer, CheckCase.ownIDs.contains(id), let title = entry["title"]?.string,
      let severity = entry["severity"]?.string.flatMap(CheckCase.Severity.init), let fix = entry["fix"]?.string
    else { throw OptionError("\(file): the list of cases cannot be read: the Python package has a different version") }
    let protocolName = entry["protocol"]?.string
    let this = LoopBound(self, on: loop)
    return CheckCase(
      CheckCase.firstOwn + id, "own-\(id)", title, [.own], severity, fix: fix
    ) { run in try this.value.judge(id, protocolName, run) }
  }

  // MARK: Cases

  private func judge(_ id: Int, _ protocolName: String?, _ run: CheckRun) throws {
    if let end { throw CheckSkip("Python has ended: \(end)") }
    let declared = try run.linkProtocol(protocolName)
    let session = try run.session(on: run.device(at: .ready), 1, declared)
    let mark = session.device.record.count
    requests = []
    answer(["run": id, "protocol": declared.name])
    var given = session.received.count
    while true {
      let request = try next(run, session, mark)
      if let outcome = request["outcome"]?.string {
        let text = request["text"]?.string ?? ""
        switch outcome {
        case "passed": return
        case "skipped": throw CheckSkip(text)
        default: throw CheckFailure(text, session.device.proof(mark..<session.device.record.count))
        }
      }
      do {
        answer(try perform(request, run, session, &given))
      } catch let skip as CheckSkip {
        // Reports an error, such as a full window, to the case, which then ends.
        answer(["end": skip.reason])
      }
    }
  }

  private func next(_ run: CheckRun, _ session: OpenedSession, _ mark: Int) throws -> JSON5Value {
    _ = try run.pump.wait(within: run.stepLimit) { !requests.isEmpty || end != nil }
    if let request = requests.first {
      requests.removeFirst()
      return request
    }
    let reason = end ?? "the case did nothing for \(DurationText.format(run.stepLimit)), so Python was stopped"
    if end == nil { child = nil }
    end = reason
    throw CheckFailure("\(reason).", session.device.proof(mark..<session.device.record.count))
  }

  private func perform(
    _ request: JSON5Value, _ run: CheckRun, _ session: OpenedSession, _ given: inout Int
  ) throws -> JSONObject {
    let device = session.device
    var reply = JSONObject()
    if let text = request["send"]?.string {
      guard let bytes = try? Hex.parse(text) else { return ["end": "the bytes to send cannot be read"] }
      let size = run.largestPiece(device)
      for start in stride(from: 0, to: bytes.count, by: size) where device.line.isOpen {
        try session.send(Array(bytes[start..<min(start + size, bytes.count)]))
      }
    } else if let seconds = request["receive"]?.float {
      let limit = Duration.nanoseconds(Int(min(max(seconds, 0), 86_400) * 1e9))
      let before = given
      _ = try device.wait(within: limit) { session.received.count > before || session.wasClosed }
      reply.add("data", Hex.plain(Array(session.received.dropFirst(before))))
      given = session.received.count
    }
    if !device.line.isOpen { reply.add("end", device.endText) }
    if session.wasClosed { reply.add("end", "the accessory closed the session with EA03") }
    return reply
  }

  /// Sends an answer. There is room in the pipe, because Python reads each answer before it sends the next request. The
  /// longest answers are written in pieces while Python is reading them.
  private func answer(_ object: JSONObject) {
    unsent += Array("\(object.text)\n".utf8)
    sendUnsent()
  }

  private var unsent: [UInt8] = []

  private func sendUnsent() {
    guard let child, !unsent.isEmpty else { return }
    unsent.removeFirst(child.write(unsent.span.bytes))
  }

  // MARK: Process

  package func child(_ child: ChildProcess, printed bytes: RawSpan) {
    output.take(bytes) { line in
      if let value = try? JSON5.read(line, file: "Python's line") { requests.append(value) } else { note(line) }
    }
  }

  package func child(_ child: ChildProcess, complained bytes: RawSpan) { errors.take(bytes, note) }

  package func childTakesInput(_ child: ChildProcess) { sendUnsent() }

  /// Does nothing, because the process is about to exit.
  package func childClosedInput(_ child: ChildProcess) {}

  package func child(_ child: ChildProcess, endedWith ending: ProcessEnding) {
    errors.end(note)
    end = end ?? ending.description
  }
}

extension JSON5Value {
  fileprivate var string: String? { if case .text(let text) = content { text } else { nil } }
  fileprivate var integer: Int? {
    if case .number(let number) = content { number.integer.flatMap { Int($0) } } else { nil }
  }
  fileprivate var float: Double? { if case .number(let number) = content { number.value } else { nil } }
}
