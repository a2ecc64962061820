import AccessoryCaptures
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessoryReplay
import AccessorySessions
import AccessorySimulator

extension CommandSpec {
  static let replay = CommandSpec(
    name: "replay", summary: "replay a recorded accessory, or a recorded app against an accessory",
    details: """
      FILE is a capture that begins before the accessory was plugged in: one written with --capture, or any other that
      'easim decode' reads and that contains every byte. Link and authentication run live; the sessions are replayed from the
      recording.

      With --on, or without an address, easim is the accessory: it identifies itself as recorded, plugs in and unplugs as
      recorded, waits in each session for what the app sent in the recording, and answers with the recorded bytes. With --at,
      easim is the Apple device and the app: it opens the recorded sessions with a real or simulated accessory, sends what
      the app sent, and compares the answers.

      easim compares bytes as one stream per direction, so it does not matter how they are split into packets. A session ends
      at its first difference, which is printed with the expected and the received bytes. --mask ignores bytes that differ
      every time, such as counters and clocks; --learn writes the mask from two recordings of the same run:

        easim replay --learn first.pcapng second.pcapng > mask.json5

      Bytes that arrive within --settle-after after the last recorded byte count as a difference.

      The exit code is 0 if everything matched the recording; 1 if something differed, if the replay was stopped, or if the
      recording has no session (--allow-empty makes that 0); 2 if FILE cannot be used; 3 if no accessory was found at ADDR; 4
      if expected bytes did not arrive in time; and 6 if the accessory was refused.
      """,
    examples: [
      "easim replay golden.pcapng --on unix:/tmp/recorded.sock",
      "easim replay golden.pcapng --at usb: --timeout 1s --report difference.html",
      "easim replay --learn first.pcapng second.pcapng",
    ],
    report: ReplayReport.self, run: runReplay)
}

private struct ReplayOptions: CommandOptions {
  var path = ""
  var place: String?
  var address: Address?
  var settings = ReplaySettings()
  var mask: String?
  var learn: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(\.path, .text, as: "FILE")]
  static let options: [Option<Self>] = [
    Option("--on", \.place, as: "ADDR", "plug the recorded accessory in at ADDR, as for easim run", standard: "local:"),
    Option(address: "--at", \.address, "play the recorded app against the accessory at ADDR"),
    Option("--speed", \.settings.speed, as: "N|max", "replay delays N times as fast; max: without delays") {
      speed, word in
      if word == "max" {
        speed = .infinity
        return
      }
      guard let factor = Double(word), factor > 0, factor <= 1_000_000 else {
        throw UsageError("--speed \(word): expected a factor above 0 and up to 1000000, such as 2, or max")
      }
      speed = factor
    },
    Option("--mask", \.mask, as: "FILE", "do not compare the bytes listed in FILE"),
    Option("--learn", \.learn, as: "FIRST", "print a mask of the bytes in which two recordings differ"),
    Option(
      "--any-order", \.settings.takesAnyOrder,
      "with --on: sessions of different protocols may be opened in any order"),
    .report.described("write a report to FILE: .xml (JUnit), .html or .json"),
    .auth, .identification, .order, .firstWriteDelay, .fault, .seed, .allowRemote, .anyUser,
    .timeout.described("with --at: how long to wait for the accessory to connect and to answer"), .settleAfter,
    .allowEmpty, .json,
    .quietMessages, .transcript, .transcriptBytes, .capture, .trace, .traceLimit,
  ]
  static let rules: [OptionRule] =
    [.exclusive(["--on", "--at"]), .exclusive(["--any-order", "--at"])]
    + ["--on", "--at", "--speed", "--mask", "--report"].map { .exclusive(["--learn", $0]) }

  fileprivate func wholeSettings() throws -> ReplaySettings {
    var settings = settings
    settings.settle = shared.settleAfter
    if let mask {
      settings.mask = try PatientFile.read(named: "--mask \(mask)") { try ReplayMask.format.read(file: mask) }
    }
    return settings
  }
}

private func runReplay(_ options: ReplayOptions, _ console: Console) throws -> ExitCode {
  let recording = try load(options.path)
  if let first = options.learn { return try learn(first, options.path, recording, console) }
  let output = try RunOutput<ReplayReport>(options.shared, console)
  let settings = try options.wholeSettings()
  for problem in recording.problems { console.err("easim: \(options.path): \(problem)") }
  var played = Played(progress: ReplayProgress(recording))
  // If there are no sessions, there is nothing to compare and no need to wait for a device.
  if !recording.sessions.isEmpty || options.shared.allowsEmpty {
    played =
      options.address == nil
      ? try playAccessory(recording, settings, options, console) : try playApp(recording, settings, options, console)
  }
  guard let progress = played.progress else { return played.code }
  let report = ReplayReport(
    file: options.path, role: options.address == nil ? .accessory : .device, recording: recording, progress: progress,
    stoppedBy: played.stoppedBy, allowsEmpty: options.shared.allowsEmpty)
  output.write(report)
  if let difference = progress.first, !console.isJSON {
    for line in ReplyText.comparison(
      difference.expected, difference.got, from: difference.contextOffset, at: difference.offset)
    { console.out(line) }
  }
  console.result(report.verdict, report.headline, at: played.time)
  if case .stopped = report.verdict { console.err("easim: \(report.headline)") }
  if progress.first?.kind.isSilence == true { return .timedOut }
  return report.verdict.isPassed ? .done : .checkFailed
}

private struct Played {
  var code = ExitCode.done
  var progress: ReplayProgress?
  var stoppedBy: String?
  var time = Instant.origin
}

private func load(_ path: String) throws -> Recording {
  var decoder = RecordingDecoder()
  do {
    try InputFile.read(path) { bytes in
      try decoder.append(bytes)
      return true
    }
    return try decoder.finish()
  } catch let error as CaptureError {
    throw UsageError("\(path):\(error)")
  } catch let error as RecordingError {
    throw UsageError("\(path): \(error.text)")
  }
}

private func learn(_ first: String, _ second: String, _ recording: Recording, _ console: Console) throws -> ExitCode {
  let other = try load(first)
  let mask: ReplayMask
  do throws(ReplayMask.Mismatch) { mask = try ReplayMask(differencesOf: other, and: recording) } catch {
    return console.end(.checkFailed, "\(error)")
  }
  console.out(
    JSON5Writer.write(
      ReplayMask.format.format.write(mask), under: "The bytes in which \(first) and \(second) differ."))
  return .done
}

// MARK: - Playing

private func playAccessory(
  _ recording: Recording, _ settings: ReplaySettings, _ options: ReplayOptions, _ console: Console
) throws -> Played {
  guard let profile = ReplayedAccessory.profile(of: recording) else {
    throw UsageError("\(options.path): \(RecordingError.noIdentification.text)")
  }
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  let place = options.place ?? "local:"
  let ports = try RunPorts(on: place, options.shared, accessories: 1, on: runtime.loop, console)
  let accessory = ReplayedAccessory(
    recording, settings, at: try ports.ports(for: [profile])[0], authenticator: Profiles.coprocessor(for: profile),
    on: runtime.loop, report: console.show)
  try accessory.plugIn()
  if options.place == nil {
    console.err("easim: without --on or --at, the accessory is in the local directory and waits for a device")
  }
  let notice = WaitingNotice(on: runtime.loop) {
    accessory.waitsFor
  } report: {
    console.show(TimelineEvent(time: runtime.loop.now, side: .accessory, kind: .note("waiting for \($0)")))
  }
  _ = runtime.run(until: { accessory.isOver || accessory.failure != nil })
  notice.stop()
  // Unplugging ends the sessions, so their progress must be saved first.
  let progress = accessory.progress
  // Makes sure that the last bytes are sent before the accessory is unplugged.
  accessory.unplug(StopSignals.stopper ?? "the recording is over")
  runtime.settle(until: { true })
  if let failure = accessory.failure {
    console.err("easim: cannot be plugged in at \(place): \(failure)")
    return Played(code: .usage)
  }
  return Played(progress: progress, stoppedBy: StopSignals.stopper, time: runtime.loop.now)
}

/// Prints what a replay is waiting for if it has been waiting for the same thing for a while.
private final class WaitingNotice {
  private static let period = Duration.seconds(1)
  private var timer: LoopTimer?
  private var last: String?
  private var told: String?

  init(on loop: any EventLoop, _ waitsFor: @escaping () -> String?, report: @escaping (String) -> Void) {
    timer = loop.makeTimer { [unowned self] in
      let now = waitsFor()
      if let now, now == last, now != told {
        report(now)
        told = now
      }
      last = now
      timer?.arm(at: loop.now + Self.period)
    }
    timer?.arm(at: loop.now + Self.period)
  }

  func stop() { timer?.cancel() }
}

private func playApp(
  _ recording: Recording, _ settings: ReplaySettings, _ options: ReplayOptions, _ console: Console
) throws -> Played {
  var settings = settings
  settings.patience = options.shared.timeout
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  let app = ReplayedApp(recording, settings, on: runtime.loop)
  let cables = CableOptions(options.shared, on: runtime.loop, report: console.show)
  let host = try HostCommandContext(
    options.shared, at: options.address ?? .standardLocal, for: app, on: runtime, console, cables: cables,
    // The app sees all protocols, because the recording does not show which ones the app declared.
    adjust: { $0.rules.ignoreInfoPlist() }, report: console.show)
  try cables.openFiles(console)
  // Unplugging ends the sessions, so their progress must be saved first.
  var progress = app.progress
  _ = try host.run(until: { app.isOver || app.isAbsent }, limit: nil) { progress = app.progress }
  if host.refusals.explain(console) { return Played(code: .refused) }
  if app.isOver || StopSignals.first != nil {
    return Played(progress: progress, stoppedBy: StopSignals.stopper, time: runtime.loop.now)
  }
  let (code, text) = host.explanation(within: options.shared.timeout)
  console.err("easim: \(text)")
  return Played(code: code)
}
