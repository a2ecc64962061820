import AccessoryCaptures
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessoryReplay
import Glibc

extension CommandSpec {
  static let profile = CommandSpec(
    name: "profile", summary: "list, show, check, create and import profiles",
    details: """
      list            list the profiles that ship with easim, and yours in ~/.config/easim/profiles
      show PROFILE    print the profile's file, with comments
      check PROFILE   print every error and warning, each with file:line:column
      new NAME        print a profile to start from; with --behavior, a commented one
      import [FILE]   print profiles made from EAAccessory descriptions pasted from a log (FILE, or - for stdin), or one
                      made from a capture, with the recorded requests and answers as a script; with a second capture of
                      the same run, the script has wildcards where the two differ
      """,
    examples: ["easim profile list", "easim profile show lawk-view", "easim profile new my-lamp --behavior script"],
    run: runProfile)
}

private struct ProfileOptions: CommandOptions {
  enum Verb: String, CaseIterable { case list, show, check, new, `import` }

  var verb = Verb.list
  var subject: String?
  var second: [String] = []
  var behavior: Behavior?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(\.verb, .choice), Operand(optional: "PROFILE|FILE", \.subject, .optional(.text)),
    Operand(each: "[FILE2]", 0...1, \.second, .text),
  ]
  static let options: [Option<Self>] = [
    Option(
      "--behavior", \.behavior,
      .optional(.words(Behavior.format.examples.map { (Behavior.format.name(of: $0), $0) })),
      "the behavior of the new profile"),
    .json,
  ]

  fileprivate func neededSubject() throws(UsageError) -> String {
    if let subject { return subject }
    throw UsageError("profile \(verb.rawValue) needs a name, such as lawk-view")
  }
}

private func runProfile(_ options: ProfileOptions, _ console: Console) throws -> ExitCode {
  if options.verb != .import, let word = options.second.first {
    throw UsageError("profile \(options.verb.rawValue) takes only one name, but '\(Excerpt.of(word))' is a second one")
  }
  switch options.verb {
  case .list: return try list(console)
  case .show:
    let name = try options.neededSubject()
    try console.show(file: Profiles.library.text(name), as: "profile", name)
    return .done
  case .check: return try check(options.neededSubject(), console)
  case .new: return try make(options.neededSubject(), options.behavior, console)
  case .import: return try importProfiles(options.subject ?? "-", options.second.first, console)
  }
}

private func list(_ console: Console) throws -> ExitCode {
  let names = Profiles.library.names
  let width = names.map(\.name.count).max() ?? 0
  for (name, isUsers) in names {
    // If a user's profile is invalid, lists it with its first error rather than omitting it.
    var summary: String
    do { summary = try Profiles.library.profile(name).summary } catch {
      summary = "cannot be used: \(error.problems[0])"
    }
    if console.isJSON {
      console.out(["v": 1, "profile": name, "summary": summary, "yours": isUsers])
    } else {
      console.out("\(name.printable.padded(to: width))  \(summary.printable)\(isUsers ? "  (yours)" : "")")
    }
  }
  return .done
}

private func check(_ reference: String, _ console: Console) throws -> ExitCode {
  do {
    let template = try Profiles.library.template(reference)
    console.show(template.warnings)
    for line in try Programs.report(template.profile) {
      console.isJSON ? console.show(event: "note", line) : console.out(line)
    }
    let warnings = template.warnings.count
    let text = "\(template.profile.name) is valid" + (warnings == 0 ? "" : ", with \(warnings.counted("warning"))")
    console.isJSON ? console.show(event: "result", text, passed: true) : console.out(text)
    return .done
  } catch let error as SourceProblems where console.isJSON {
    console.show(error.problems)
    console.show(event: "result", "\(reference) has errors", passed: false)
    return .usage
  }
}

extension Console {
  func show(file text: String, as key: String, _ name: String) throws {
    guard isJSON else { return out(text, ending: "") }
    let value = JSON5Writer.write(try JSON5.read(text, file: name), as: .jsonLine).filter { $0 != "\n" }
    out(["v": 1, key: name, "text": text, "value": RawJSON(value)])
  }

  fileprivate func show(_ problems: [SourceProblem]) {
    for problem in problems {
      isJSON ? show(event: "problem", problem.description, severity: problem.severity) : complain(problem.description)
    }
  }

  fileprivate func show(
    event: String, _ text: String, passed: Bool? = nil, severity: SourceProblem.Severity? = nil
  ) {
    out(event: event, ["passed": passed, "severity": severity?.rawValue, "text": text])
  }
}

private func make(_ name: String, _ behavior: Behavior?, _ console: Console) throws -> ExitCode {
  let allowed = name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
  guard allowed, !name.isEmpty else {
    throw UsageError("'\(name)' is not a valid profile name: use letters, digits, - and _")
  }
  if let behavior {
    try console.show(file: StarterProfile.text(name, behavior), as: "profile", name)
    return .done
  }
  var profile = try Profiles.library.profile("echo")
  profile.name = name
  profile.identity.name = name
  profile.summary = "describe the accessory here in one sentence"
  profile.protocols = [Profile.SessionProtocol("com.example.\(name)", id: 0)]
  let comment = "\(name): adapt it to your accessory, then run: easim profile check ./\(name).json5"
  try console.show(file: profile.text(comment: comment), as: "profile", name)
  return .done
}

private func importProfiles(_ path: String, _ second: String?, _ console: Console) throws -> ExitCode {
  let bytes = try InputFile.read(path)
  if let recording = try recording(in: bytes, path) {
    let other = try second.map { second throws in
      guard let other = try easim.recording(in: InputFile.read(second), second) else {
        throw UsageError("\(second): not a capture; the second file must be another capture of the same run")
      }
      return other
    }
    let (profile, notes) = try Profile.imported(from: recording, and: other)
    let made = second.map { "Made from the captures \(path) and \($0)." } ?? "Made from the capture \(path)."
    let comment = ([made] + notes + ["Edit it as needed: docs/profiles.md describes scripts."])
      .joined(separator: "\n")
    for problem in recording.problems { console.err("easim: \(path): \(problem)") }
    try console.show(file: profile.text(comment: comment), as: "profile", profile.name)
    return .done
  }
  if second != nil { throw UsageError("\(path): not a capture; only captures can be imported in pairs") }
  let result = AccessoryImport.read(bytes, file: path == "-" ? "stdin" : path)
  console.show(result.problems)
  guard !result.accessories.isEmpty else {
    throw UsageError(
      "no EAAccessory description in \(path == "-" ? "the pasted text" : path): a description starts with <EAAccessory: 0x…> {"
    )
  }
  for accessory in result.accessories {
    let comment = "Imported from the description at line \(accessory.line)."
    try console.show(file: accessory.profile.text(comment: comment), as: "profile", accessory.profile.name)
  }
  return result.problems.contains { $0.severity == .error } ? .checkFailed : .done
}

/// Reads a capture, or returns nil if the file is something else, such as a text log.
private func recording(in bytes: [UInt8], _ path: String) throws -> Recording? {
  do { return try Recording(capture: bytes) } catch let error as RecordingError {
    if error == .transcript || error == .noIdentification, !CaptureForm.isFile(bytes) { return nil }
    throw UsageError("\(path): \(error.text)")
  } catch is CaptureError { return nil }
}

/// Generates the commented profile that `easim profile new NAME --behavior B` prints.
enum StarterProfile {
  static func text(_ name: String, _ behavior: Behavior) -> String {
    """
    // \(name): adapt it to your accessory, then run
    //   easim profile check ./\(name).json5
    //   easim run ./\(name).json5
    // docs/profiles.md explains every key.
    {
      version: 1,
      description: "describe the accessory here in one sentence",
      accessory: {
        name: "\(name)",
        manufacturer: "Example Works",
        modelNumber: "EW-1",
        // {index} is replaced by a number that differs for each accessory made from this profile.
        serialNumber: "EW1-{index:04}",
        firmwareRevision: "1.0",
        hardwareRevision: "1.0",
        // Apps declare these protocols in UISupportedExternalAccessoryProtocols.
        protocols: ["com.example.\(name)"],
      },
    \(lines(name, behavior))
    }

    """
  }

  private static func lines(_ name: String, _ behavior: Behavior) -> String {
    switch behavior {
    case .echo:
      """
        // Sends back what it receives.
        behavior: "echo",
      """
    case .sink:
      """
        // Accepts and discards what it receives; with check, that must be the bytes 00, 01 … FF, 00 …
        behavior: { type: "sink", check: true },
      """
    case .source:
      """
        // Sends 100 bytes ten times a second, without waiting for a request.
        // Instead of text, you can use pattern: "counting" or "random".
        behavior: { type: "source", rate: 1000, chunk: 100, text: "tick\\r\\n" },
      """
    case .exec:
      """
        // Runs a program for each session. The program reads the bytes that arrive, and its output is sent.
        behavior: { type: "exec", command: "cat", arguments: [] },
      """
    case .script:
      """
        behavior: {
          type: "script",
          // Each request ends with these bytes. Other framings: { fixed: 8 } for 8-byte requests, { frame: … }, "any".
          framing: { delimiter: "\\r\\n" },
          // The first matching rule determines the answer. Requests omit the delimiter, and answers include it.
          rules: [
            { request: "HELLO", response: "\(name) 1.0\\r\\n" },
            // A delayed answer.
            { request: "BATTERY?", response: "BATTERY 87\\r\\n", delay: "40ms" },
            // Bytes that are not text are written in hex.
            { request: { hex: "01 02 03" }, response: { hex: "81 82 83 0d 0a" } },
            // A regular expression. Both answers use the groups of the expression; the second answer is delayed.
            { regex: "SET (\\\\w+)=(\\\\d+)", answers: ["OK\\r\\n", { after: "1s", send: "${1} IS ${2}\\r\\n" }] },
            // A request that is never answered.
            { request: "SILENCE" },
          ],
          // The answer to all other requests; without this line, such requests get no answer.
          otherwise: "ERROR\\r\\n",
        },
      """
    }
  }
}
