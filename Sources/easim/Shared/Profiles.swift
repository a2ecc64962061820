import AccessoryFormats
import AccessoryProfiles
import AccessorySimulator
import AccessoryWorlds
import Certificates
import Glibc
import LinuxIO

/// Finds profiles by path, in the user's folder, or among the built-in profiles.
enum Profiles {
  static var library: ProfileLibrary {
    let home =
      getenv("XDG_CONFIG_HOME").map { String(cString: $0) } ?? getenv("HOME").map { String(cString: $0) + "/.config" }
    return ProfileLibrary(userFolder: home.map { "\($0)/easim/profiles" })
  }

  /// Returns the coprocessor that a profile requires. If accessories have the same serial number, they have the same
  /// coprocessor in every process.
  static func coprocessor(for profile: Profile) -> SimulatedCoprocessor {
    SimulatedCoprocessor(
      seed: profile.identity.serialNumber.utf8.stableHash,
      generation: profile.authentication.generation == .current ? .current : .older,
      reading: profile.authentication.challenge == .digest ? .digest : .hashed)
  }
}

/// The programs that profiles run for their sessions. easim announces each program in advance, and refuses it if the
/// profile file does not belong to the user.
enum Programs {
  /// Before profiles run in real time, checks their programs and announces each program once.
  static func admit(_ profiles: inout [Profile], _ options: SharedOptions, _ console: Console) throws {
    let isAllowed = options.allowsExec
    var announced: Set<String> = []
    for index in profiles.indices {
      for (path, program) in profiles[index].programs {
        guard announced.insert(key(program)).inserted else { continue }
        if let objection = program.origin.objection, !isAllowed {
          throw CommandFailure(
            code: .usage,
            message:
              "\(place(program)) runs '\(program.text.printable)' for each session, and \(objection): check it, and "
              + "then use --allow-exec")
        }
        try check(program, path)
        if program.origin.position != nil { console.err("easim: \(announcement(program))") }
      }
      if isAllowed { profiles[index].allowPrograms() }
    }
  }

  /// Returns what `easim profile check` prints about a profile's programs, or throws an error if a program cannot be
  /// started.
  static func report(_ profile: Profile) throws -> [String] {
    var lines: [String] = []
    var known: Set<String> = []
    for (path, program) in profile.programs where known.insert(key(program)).inserted {
      try check(program, path)
      let need = program.origin.objection.map { "; needs --allow-exec, because \($0)" } ?? ""
      lines.append(announcement(program) + need)
    }
    return lines
  }

  private static func key(_ program: Behavior.Program) -> String { "\(place(program)) \(program.text)" }

  private static func place(_ program: Behavior.Program) -> String {
    program.origin.position?.description.printable ?? "the behavior"
  }

  private static func announcement(_ program: Behavior.Program) -> String {
    "\(place(program)) runs for each session: \(program.text.printable)"
  }

  private static func check(_ program: Behavior.Program, _ path: String) throws {
    guard let error = ProgramFinder.objection(to: program.processCommand) else { return }
    let looked = program.command.contains("/") ? "" : "; searched the profile's folder and PATH"
    throw SourceProblems([SourceProblem(at: program.origin.position, path: path, "\(error)\(looked)")])
  }
}

extension Scenario {
  /// Checks and announces the programs of accessories that are about to run in real time.
  mutating func admitPrograms(_ options: SharedOptions, _ console: Console) throws {
    var profiles = accessories.map(\.profile)
    try Programs.admit(&profiles, options, console)
    for (index, profile) in profiles.enumerated() { accessories[index].profile = profile }
  }
}
