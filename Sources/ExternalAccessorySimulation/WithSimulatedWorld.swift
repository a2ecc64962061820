import AccessoryCables
import AccessoryPages
import AccessorySessions
import AccessoryWorlds
import Foundation
import Testing

/// Creates a world, runs `body` in it, and ends it.
///
/// A process has one `EAAccessoryManager`, so only one world can exist at a time. Parallel tests wait for each other.
///
/// Under Swift Testing, each failed expectation in `body` shows the timeline entries since the previous failure. See
/// ``SimulatedWorld/report``. If `body` throws, the timeline is printed to standard error. A failed test also leaves a
/// trace: an HTML page with the world's lanes, packets and events. The page is written to the folder that
/// `EASIM_TRACES` names or, if the variable is not set, to a temporary folder. The page's path is printed, and the page
/// is attached to the test.
public func withSimulatedWorld<Value>(
  _ settings: SimulatedWorld.Settings = SimulatedWorld.Settings(), isolation: isolated (any Actor)? = #isolation,
  _ body: @escaping (SimulatedWorld) async throws -> Value
) async throws -> Value {
  if Turns.isInWorld { throw NestedWorldError() }
  await Turns.shared.take()
  let result: Result<Value, any Error>
  do {
    let world = try SimulatedWorld(settings)
    // Only one task uses these, which the test library's closures hide from the compiler.
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) var outcome: Result<Value, any Error>?
    nonisolated(unsafe) var issue: String?
    let run = { @Sendable in
      do { outcome = .success(try await body(world)) } catch { outcome = .failure(error) }
    }
    await Turns.$isInWorld.withValue(true) {
      guard let test = Test.current else { return await run() }
      let addsReport = IssueHandlingTrait.compactMapIssues { found in
        issue = issue ?? "\(found)"
        var found = found
        found.comments.append(Comment(rawValue: world.newReport))
        return found
      }
      world.addsReportToIssues = true
      do { try await addsReport.provideScope(for: test, testCase: .current, performing: run) } catch {
        outcome = outcome ?? .failure(error)
      }
    }
    guard let outcome else { preconditionFailure("the test library did not run the body of a test") }
    result = outcome
    if case .failure(let error) = outcome {
      issue = "\(error)"
      FileHandle.standardError.write(Data((world.newReport + "\n").utf8))
    }
    if let reason = issue {
      FileHandle.standardError.write(Data((world.writeTrace(because: reason) + "\n").utf8))
    }
    world.end()
    await world.settle()
  } catch {
    result = .failure(error)
  }
  await Turns.shared.give()
  return try result.get()
}

/// The error for a call to `withSimulatedWorld` inside the `body` of another such call. The inner call would wait for
/// the outer world to end, while the outer world waits for the inner call.
struct NestedWorldError: Error, CustomStringConvertible {
  let description =
    "withSimulatedWorld was called inside withSimulatedWorld: use the outer world, or make the call after the outer "
    + "one ends"
}

/// Allows only one world to exist at a time. Callers get their worlds in the order of their calls.
private actor Turns {
  static let shared = Turns()
  @TaskLocal static var isInWorld = false
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func take() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func give() {
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }
}

extension SimulatedWorld {
  /// The timeline and the transcript as text.
  public var report: String { (events.map(\.json) + transcript).joined(separator: "\n") }

  /// The maximum number of lines of the timeline, and of the transcript, that a report shows. Earlier lines are
  /// omitted.
  private static let lineLimit = 500

  /// The part of the report that has not been shown yet.
  package var newReport: String {
    let (events, lines) = (events.map(\.json), transcript)
    let shown = shown.withLock { shown in
      defer { shown = (events.count, lines.count) }
      return shown
    }
    let parts = [
      Self.part("timeline", events, from: shown.events),
      lines.isEmpty ? nil : Self.part("transcript", lines, from: shown.lines), standstill,
    ]
    return parts.compactMap(\.self).joined(separator: "\n")
  }

  private static func part(_ name: String, _ lines: [String], from first: Int) -> String {
    let new = lines.dropFirst(first)
    var text = first == 0 ? "the world's \(name):" : "the world's \(name), from line \(first + 1):"
    if new.isEmpty { return text + " nothing more" }
    if new.count > lineLimit { text += " (\(new.count - lineLimit) lines omitted)" }
    return ([text] + new.suffix(lineLimit)).joined(separator: "\n")
  }

  /// Writes the trace of a failed test. Returns the trace's path. If the trace cannot be written, returns the reason
  /// instead.
  package func writeTrace(because reason: String) -> String {
    let page = perform { [trace] _ in trace.page(because: reason) }
    let file = trace.file
    do {
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(page).write(to: file)
    } catch { return "the trace could not be written: \(error.localizedDescription)" }
    if Test.current != nil { Attachment.record(page, named: "trace.html") }
    return "the trace of this world: \(file.path)"
  }
}

/// Waits for a condition that must become true. These methods replace `#expect(await world.run { … })`, because Swift
/// 6.3 can confuse a closure inside a macro with another closure in the same function; see docs/dev/closure-symbols.md.
extension SimulatedWorld {
  /// Lets time pass until a condition holds, as ``run(limit:isolation:until:)`` does. If the condition does not become
  /// true, the test fails at the line of the call. The failure message shows the timeline.
  ///
  /// ```swift
  /// await world.expect { app.isConnected }
  /// await world.expect(limit: .seconds(2)) { app.reply == "hello" }
  /// ```
  ///
  /// Works in Swift Testing and in XCTest; see `XCTestCase.simulatedWorld(_:)`. Omit the last four arguments. The
  /// defaults of these arguments record the location of the call.
  ///
  /// - Returns: true if the condition became true.
  @discardableResult
  public func expect(
    _ comment: String = "", limit: Duration = .seconds(60), isolation: isolated (any Actor)? = #isolation,
    fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column,
    until condition: () -> Bool
  ) async -> Bool {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    return judge(await run(limit: limit, until: condition), comment, limit, place)
  }

  /// Lets time pass until a condition holds. This is the form for tests that are not async.
  @available(*, noasync, message: "await it")
  @discardableResult
  public func expect(
    _ comment: String = "", limit: Duration = .seconds(60), fileID: String = #fileID, filePath: String = #filePath,
    line: Int = #line, column: Int = #column, until condition: () -> Bool
  ) -> Bool {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    return judge(run(limit: limit, until: condition), comment, limit, place)
  }

  private func judge(_ holds: Bool, _ comment: String, _ limit: Duration, _ place: SourceLocation) -> Bool {
    let text = "the condition did not hold within \(limit) of the world's time"
    if !holds { fail(comment.isEmpty ? text : "\(comment): \(text)", place) }
    return holds
  }

  func fail(_ reason: String, _ place: SourceLocation) {
    var text = reason
    // If `addsReportToIssues` is true, `withSimulatedWorld` already adds the timeline to every issue.
    if !addsReportToIssues { text += "\n\(newReport)" }
    if let failing { return failing(text, place) }
    Issue.record(Comment(rawValue: text), sourceLocation: place)
    // Swift Testing does not print failures that occur outside a test, for example in a detached task.
    if Test.current == nil { FileHandle.standardError.write(Data("\(place): \(text)\n".utf8)) }
  }
}

/// The trace of a test's world. The trace is one HTML page that shows everything that happened, and is written when the
/// test fails.
///
/// Use the trace only on the event loop.
final class WorldTrace: @unchecked Sendable {
  static let variable = "EASIM_TRACES"

  private let name: String
  private let recorder: TraceRecorder

  init(_ name: String, isVirtual: Bool) {
    self.name = name
    recorder = TraceRecorder(
      program: "easim", command: "the test \(name)", time: isVirtual ? "virtual" : "real", limit: 5 << 20)
  }

  func record(_ settings: inout World.Settings) {
    let capture = CaptureRecorder(program: "easim") { _ in }
    recorder.follow(capture)
    settings.recorder = capture
    let report = settings.report
    settings.report = { [recorder] event in
      recorder.add(event)
      report(event)
    }
  }

  func page(because reason: String) -> [UInt8] { recorder.page(TraceVerdict("failed", reason)) }

  /// The page's file, which is in the folder that ``variable`` names or, if that variable is not set, in the temporary
  /// folder.
  var file: URL {
    let folder =
      ProcessInfo.processInfo.environment[Self.variable].map { URL(fileURLWithPath: $0) }
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("easim-traces")
    let plain = String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }.prefix(80))
    return folder.appendingPathComponent("\(plain)-\(ProcessInfo.processInfo.processIdentifier).html")
  }
}
