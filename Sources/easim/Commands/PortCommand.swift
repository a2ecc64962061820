import AccessoryCore
import Glibc

extension CommandSpec {
  /// `easim port`.
  static let port = CommandSpec(
    name: "port", summary: "show what to change in Swift files of an app so that they compile on Linux",
    details: """
      Reads Swift files that were written for Apple's systems and prints what to change so that they compile on Linux:
      observers and timers with a selector, imports of submodules, '#if os(iOS)' around External Accessory code, actors
      that inherit from NSObject, and more. After each change the file still works on Apple's systems. Comments and
      strings are left alone.

      'edit' marks a change that easim can make, and shows the line before and after; --write makes it. 'by hand' marks
      advice, where the file alone does not show what the right change is.

      The exit code is 0 when nothing is left to change, 1 when something is, and 2 when a file cannot be read or written.
      """,
    examples: ["easim port Sources/App/*.swift", "easim port --write Client.swift"],
    run: runPort)
}

private struct PortOptions: CommandOptions {
  var paths: [String] = []
  var writes = false
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(each: "FILE…", 1...10_000, \.paths, .text)]
  static let options: [Option<Self>] = [Option("--write", short: "-w", \.writes, "make the changes marked 'edit'")]
}

private func runPort(_ options: PortOptions, _ console: Console) throws -> ExitCode {
  var left = 0
  for path in options.paths {
    let source = SwiftSource(try InputFile.read(path))
    let findings = Porter.findings(in: source)
    for finding in findings { show(finding, of: path, source, console) }
    let edits = findings.filter(\.isSure)
    left += findings.count
    guard options.writes, !edits.isEmpty else { continue }
    guard path != "-" else { throw UsageError("stdin cannot be written: name the file") }
    if let reason = replace(path, with: edits.applied(to: source)) {
      console.err("easim port: \(path): \(reason); the file is as it was")
      return .usage
    }
    console.out("\(path): \(edits.count.counted("edit is", "edits are")) made")
    left -= edits.count
  }
  return left == 0 ? .done : .checkFailed
}

private func show(_ finding: PortFinding, of path: String, _ source: SwiftSource, _ console: Console) {
  let place = source.place(of: finding.offset)
  console.out("\(path):\(place.line):\(place.column): \(finding.isSure ? "edit" : "by hand"): \(finding.advice)")
  for edit in finding.edits {
    if !edit.range.isEmpty {
      for line in source.text(edit.range).split(separator: "\n") { console.out("  - \(line.trimmed)") }
    }
    for line in edit.replacement.split(separator: "\n") { console.out("  + \(line.trimmed)") }
  }
}

extension Substring {
  /// Without spaces at its beginning.
  fileprivate var trimmed: Substring { drop { $0 == " " || $0 == "\t" } }
}

/// Puts bytes in the place of a file, at once: a reader sees the old file or the new one. Returns why not.
private func replace(_ path: String, with bytes: [UInt8]) -> String? {
  func reason() -> String { String(cString: strerror(errno)) }
  guard let resolved = realpath(path, nil) else { return reason() }
  let place = String(cString: resolved)
  free(resolved)
  var status = stat()
  guard stat(place, &status) == 0 else { return reason() }
  let beside = place + ".easim-port"
  let descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0o777)
  guard descriptor >= 0 else { return "\(beside): \(reason())" }
  var written = 0
  while written < bytes.count {
    let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { continue }
    guard count > 0 else {
      let text = reason()
      close(descriptor)
      unlink(beside)
      return text
    }
    written += count
  }
  guard fsync(descriptor) == 0, close(descriptor) == 0, rename(beside, place) == 0 else {
    let text = reason()
    unlink(beside)
    return text
  }
  return nil
}
