import AccessoryCables
import AccessoryPages
import AccessoryWorlds
import Foundation
import Testing

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

extension SimulatedWorld {
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
