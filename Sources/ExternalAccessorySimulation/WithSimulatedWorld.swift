import AccessorySessions
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
}
