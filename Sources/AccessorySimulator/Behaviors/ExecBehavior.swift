import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2
import LinuxIO

/// Connects each session to a program that runs in a separate process. Received bytes go to the program's standard
/// input, the program's output is sent, and each line of its standard error becomes a note on the timeline.
///
/// - Back-pressure applies in both directions: bytes stay in the session while the program does not read, and output
/// stays in the pipe while the session has no room.
/// - When the program ends, the session is closed as soon as it has accepted all output. The reason gives the exit
///   status.
/// - When the session ends, the program receives the remaining bytes and then EOF. The program then has two grace
///   periods to exit (see ``LinuxIO/ChildProcess/terminate(grace:)``).
/// - The environment contains `EASIM_PROTOCOL`, `EASIM_SESSION`, a few common variables, and variables that the profile
/// names.
/// - The program is looked up in the folder of the file that names it, and runs in that folder.
/// - A session that would exceed the maximum number of running programs is closed.
/// - If other users can write to the file that names a program, the program does not run unless
///   ``Profile/allowPrograms()`` was called.
///
/// Programs need real time. On a loop without file descriptors, the session is therefore closed with a warning.
public struct ExecBehavior: AccessoryBehavior {
  /// How long a program may take to exit after its session has ended.
  public static let grace = Duration.seconds(1)

  private let program: Behavior.Program
  private let grace: Duration
  private let places: ProgramPlaces

  /// Creates a behavior that runs a program. A name, as opposed to a path, is looked up in the profile's folder and in
  /// PATH.
  public init(
    _ program: Behavior.Program, grace: Duration = Self.grace, places: ProgramPlaces = ProgramPlaces.ofThisProcess
  ) {
    self.program = program
    self.grace = grace
    self.places = places
  }

  /// Starts the program and returns the handler for the session.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    if let objection = program.origin.objection {
      return refusal(
        session, context, "\(objection), so its programs do not run unless allowed")
    }
    var command = program.processCommand
    command.environment["EASIM_PROTOCOL"] = session.protocolName
    command.environment["EASIM_SESSION"] = String(session.id)
    guard let loop = context.loop as? any PollingLoop else {
      return refusal(session, context, "a program needs real time, but this world runs in virtual time")
    }
    guard let place = places.take() else {
      return refusal(session, context, "\(places.count) programs are already running, which is the limit")
    }
    let served = ServedProgram(session, context, grace: grace, place)
    do {
      try served.start(command, on: loop)
      return served
    } catch {
      return refusal(session, context, "\(error)")
    }
  }

  private func refusal(_ session: Session, _ context: BehaviorContext, _ reason: String) -> any SessionHandler {
    context.warn("\(program.command) was not run: \(reason)")
    // The session gets its handler only after this call, so it is closed in a later turn of the loop.
    context.loop.schedule(after: .zero) { session.close("its program could not be run") }
    return Discarder()
  }
}

extension Behavior.Program {
  /// The command that starts the program.
  public var processCommand: ProcessCommand {
    var process = ProcessCommand(command, arguments, in: origin.folder)
    process.add(variables: environment)
    return process
  }
}

private final class ServedProgram: SessionHandler, ChildProcessHandler {
  /// The session that the program serves. The session is retained while the program runs.
  private let session: Session
  private let context: BehaviorContext
  private let grace: Duration
  private let sending = OneAtATime()
  private var child: ChildProcess?
  private var place: ProgramPlaces.Place?
  private var lines = LineSplitter()
  private var unsent = ByteQueue()
  private var inputWaits = false
  /// How the program ended. The result is kept while the session has no room for the program's last bytes.
  private var ending: ProcessEnding?
  /// The number of bytes that were dropped because the program had stopped reading or the session had ended.
  private var unread = 0
  private var unheard = 0

  init(_ session: Session, _ context: BehaviorContext, grace: Duration, _ place: ProgramPlaces.Place) {
    self.place = place
    self.session = session
    self.context = context
    self.grace = grace
  }

  func start(_ command: ProcessCommand, on loop: any PollingLoop) throws {
    child = try ChildProcess(command, on: loop, self)
    context.programs.keep(self)
  }

  // MARK: The session

  func sessionIsReadable(_ session: Session) {
    while session.read({ feed($0) }) > 0 {}
  }

  private func feed(_ bytes: RawSpan) -> Int {
    guard let child, child.takesInput else {
      unread += bytes.byteCount
      return bytes.byteCount
    }
    let taken = child.write(bytes)
    inputWaits = taken < bytes.byteCount
    return taken
  }

  func sessionIsWritable(_ session: Session) {
    sending.run { sendUnsent() }
  }

  func session(_ session: Session, endedWith end: SessionEnd) {
    unheard += unsent.count
    unsent = ByteQueue()
    child?.resumeOutput()
    child?.terminate(grace: grace)
    if !inputWaits { child?.closeInput() }
    finishIfDone()
  }

  // MARK: The program

  func child(_ child: ChildProcess, printed bytes: RawSpan) {
    let taken = session.write(bytes)
    if taken == bytes.byteCount { return }
    guard session.isOpen else {
      unheard += bytes.byteCount - taken
      return
    }
    unsent.append(bytes.extracting(taken..<bytes.byteCount))
    child.pauseOutput()
  }

  private func sendUnsent() {
    // The bytes are copied before they are written, because the session may end during the write and empty the queue.
    let bytes = unsent
    let taken = bytes.withBytes { session.write($0) }
    guard session.isOpen else { return }
    unsent.removeFirst(taken)
    guard unsent.isEmpty else { return }
    child?.resumeOutput()
    finishIfDone()
  }

  func child(_ child: ChildProcess, complained bytes: RawSpan) {
    lines.take(bytes) { context.note($0) }
  }

  func childTakesInput(_ child: ChildProcess) {
    inputWaits = false
    sessionIsReadable(session)
    if !session.isOpen, !inputWaits { child.closeInput() }
  }

  func childClosedInput(_ child: ChildProcess) {
    sessionIsReadable(session)
  }

  func child(_ child: ChildProcess, endedWith ending: ProcessEnding) {
    lines.end { context.note($0) }
    self.ending = ending
    finishIfDone()
  }

  private func finishIfDone() {
    guard let ending, unsent.isEmpty else { return }
    self.ending = nil
    (child, place) = (nil, nil)
    // This call also counts the bytes that arrived last.
    sessionIsReadable(session)
    if unread > 0 { context.note("\(unread) bytes that arrived were not read by the program") }
    if unheard > 0 { context.note("\(unheard) bytes of the program's output arrived too late for its session") }
    if !session.isOpen, ending != .exited(0) { context.note("\(ending)") }
    context.programs.forget(self)
    session.close("\(ending)")
  }
}

/// Retains the programs that an accessory's sessions have started. Programs may exit long after their sessions end.
final class ProgramKeeper {
  private var programs: [ObjectIdentifier: AnyObject] = [:]

  var count: Int { programs.count }

  func keep(_ program: AnyObject) { programs[ObjectIdentifier(program)] = program }

  func forget(_ program: AnyObject) { programs[ObjectIdentifier(program)] = nil }

  func endAll() { programs = [:] }
}

/// Limits how many programs run at the same time, because a host can open any number of sessions.
public final class ProgramPlaces: Sendable {
  /// The limit that all accessories in this process share.
  public static let ofThisProcess = ProgramPlaces(64)

  /// The maximum number of programs that run at the same time.
  public let count: Int
  private let running = Locked(0)

  /// Creates a limit of `count` programs.
  public init(_ count: Int) {
    self.count = count
  }

  final class Place {
    private let places: ProgramPlaces

    fileprivate init(_ places: ProgramPlaces) { self.places = places }

    deinit { places.running.withLock { $0 -= 1 } }
  }

  func take() -> Place? {
    let isFree = running.withLock { running in
      guard running < count else { return false }
      running += 1
      return true
    }
    return isFree ? Place(self) : nil
  }
}
