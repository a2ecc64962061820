import Foundation
import Testing

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
