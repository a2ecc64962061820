import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessorySessions
import AccessoryWorlds
import Glibc

/// The file given by `--capture`. If the path is `-`, the capture is written to stdout and the command's results to
/// stderr.
///
/// No bytes are dropped. If too many bytes are waiting, for example because nothing is reading a pipe, the cables are
/// paused until the bytes are written.
enum CaptureFile {
  /// Opens and empties the files given by `--capture` and `--trace`. Call this only after checking the rest of the
  /// command line.
  ///
  /// - Parameter origin: the loop's current time, or nil for virtual time, which starts at 0.
  static func asked(for shared: SharedOptions, _ console: Console, origin: Instant?) throws -> CaptureRecorder? {
    let recorder = try file(for: shared, console, origin: origin)
    guard let trace = try trace(for: shared, console, isVirtual: origin == nil) else { return recorder }
    let followed = recorder ?? CaptureRecorder(program: "") { _ in }
    trace.recorder.follow(followed)
    return followed
  }

  static func trace(for shared: SharedOptions, _ console: Console, isVirtual: Bool) throws -> TraceFile? {
    guard let path = shared.trace else { return nil }
    let made = try TraceFile(path, time: isVirtual ? "virtual" : "real", limit: shared.traceLimit)
    for fault in shared.faults { made.recorder.add(fault: fault.description) }
    console.trace = made
    console.witnesses.append { [recorder = made.recorder] in recorder.add($0) }
    return made
  }

  private static func file(
    for shared: SharedOptions, _ console: Console, origin: Instant?
  ) throws -> CaptureRecorder? {
    guard let path = shared.capture else { return nil }
    let name = "--capture \(path)"
    if path == "-", isatty(STDOUT_FILENO) == 1 {
      throw UsageError("--capture - writes binary data to stdout, which is a terminal: use a pipe, or name a file")
    }
    if path == "-", shared.transcript == "-" {
      throw UsageError(
        "--capture - and --transcript - together leave no output for results: use a file for one of them")
    }
    let descriptor =
      path == "-" ? STDOUT_FILENO : try PatientFile.open(path, O_WRONLY | O_CREAT | O_TRUNC, named: name)
    let file = console.makeKeeper(descriptor, named: path == "-" ? "stdout" : name)
    if path == "-" { console.leaveStdout() }
    let seed = shared.seed.map { " seed=\($0)" } ?? ""
    let gate = CableGate()
    let recorder = CaptureRecorder(
      program: "easim \(Version.current)", epoch: origin.map(epoch) ?? 0,
      comment: "easim capture\(seed)", gate: gate
    ) { console.pace(file, file.lane.add($0, .kept, to: file, at: .origin), by: gate) }
    console.witnesses.append { [weak recorder] event in recorder?.note(comment(on: event), at: event.time) }
    return recorder
  }

  /// Returns the time at which a clock that now shows `now` showed zero, in nanoseconds since 1970.
  static func epoch(at now: Instant) -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) - now.nanoseconds
  }

  /// Returns the event's line without its time, because the packet already has a time.
  static func comment(on event: TimelineEvent) -> String {
    let line = TimelineText.line(event, colors: false)[...]
    return String(line.drop { $0 == " " }.drop { $0 != " " }.drop { $0 == " " })
  }
}

/// The file given by `--transcript`, or stderr if the path is `-`.
///
/// No lines are dropped. If too many lines are waiting, for example because nothing is reading a pipe, the cables are
/// paused until the lines are written (``gate``).
final class TranscriptFile {
  let gate = CableGate()
  let shownBytes: Int
  private let console: Console
  private let file: Outlet

  /// Opens and empties the file given by `--transcript`. Call this only after checking the rest of the command line.
  static func asked(for shared: SharedOptions, _ console: Console) throws -> TranscriptFile? {
    guard let path = shared.transcript else {
      if shared.transcriptBytes != nil { throw UsageError("--bytes needs --transcript") }
      return nil
    }
    let name = "--transcript \(path)"
    let descriptor =
      path == "-"
      ? STDERR_FILENO
      : try PatientFile.open(path, O_WRONLY | O_CREAT | O_TRUNC, named: name)
    return TranscriptFile(
      console.makeKeeper(descriptor, named: name), console, shared.transcriptBytes ?? Transcript.usualBytes)
  }

  private init(_ file: Outlet, _ console: Console, _ shownBytes: Int) {
    self.file = file
    self.shownBytes = shownBytes
    self.console = console
  }

  func write(_ line: String) { console.pace(file, file.add("\(line)\n"), by: gate) }
}

extension World.Settings {
  init(_ shared: SharedOptions, isVirtual: Bool, _ console: Console) throws {
    self.init()
    let transcript = try TranscriptFile.asked(for: shared, console)
    report = console.show
    keepsTranscript = transcript != nil
    reportLine = { transcript?.write($0) }
    transcriptGate = transcript?.gate
    if let transcript { transcriptBytes = transcript.shownBytes }
    recorder = try CaptureFile.asked(for: shared, console, origin: isVirtual ? nil : .origin)
  }
}
