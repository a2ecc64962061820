import AccessoryCore

/// One fault's place in a lane: its stage, what it passed on and nobody took yet, and its window of time.
///
/// ```
///   waiting ──`after` has passed──▶ open ──`for` has passed──▶ closed
/// ```
///
/// Outside its window a stage is not asked, unless it still holds bytes that others must not overtake. Where those go on
/// by themselves, what comes waits behind them here: a stage that is fed on a line that is always full would always hold
/// something, and never see its window end.
///
/// A class, because it is large and asked several things with every chunk; it belongs to its lane alone.
final class FaultSlot {
  private enum Window {
    case waiting(until: Instant)
    case open(until: Instant?)
    case closed
  }

  let fault: Fault
  var step: FaultStep
  private var stage: any FaultStage
  private var window = Window.closed
  private var isOpen = false
  /// How much the stage held when it was last asked to do something: asking it with every chunk that it has nothing to do
  /// with would cost more than all the rest.
  private var inStage = 0
  /// What came after the window and waits for what the stage holds.
  private var behind = ChunkQueue()
  private static let mostBehind = 65_536

  init(_ fault: Fault, unit: FaultUnit, random: SeededRandom) {
    self.fault = fault
    stage = fault.definition.makeStage(fault.arguments, unit)
    step = FaultStep(random: random)
  }

  /// Whether it has nothing to do with what comes by now: its time has not come or is over, and it holds nothing.
  var isIdle: Bool { !isOpen && inStage == 0 && step.output.isEmpty && behind.isEmpty }

  /// What it passed on waits to be taken: until then it takes nothing and does nothing.
  var isBlocked: Bool { !step.output.isEmpty }

  /// How many bytes are here.
  var held: Int { step.output.count + inStage + behind.count }

  /// Whether nothing will come of it any more without new bytes.
  var isClear: Bool { step.output.isEmpty && inStage == 0 && behind.isEmpty }

  /// The most it takes now.
  var room: Int {
    if isBlocked { return 0 }
    if isRunningDry { return max(0, Self.mostBehind - behind.count) }
    return isAsked ? min(stage.room, FaultStep.largestChunk) : FaultStep.largestChunk
  }

  /// The window is over, and what is held goes on when its time comes.
  private var isRunningDry: Bool { !isOpen && inStage > 0 && (stage.deadline != nil || !behind.isEmpty) }

  private var isAsked: Bool { isOpen || inStage > 0 }

  var deadline: Instant? {
    var next: Instant?
    switch window {
    case .waiting(let until): next = until
    case .open(let until): next = until
    case .closed: break
    }
    if !isBlocked, let due = stage.deadline { next = min(due, next ?? due) }
    return next
  }

  // MARK: Events

  func start(now: Instant) {
    window = .waiting(until: now + fault.after)
    handleTimeout(now: now)
  }

  func take(_ bytes: RawSpan, now: Instant) -> FaultPassage {
    guard isAsked else { return .whole }
    if isRunningDry {
      behind.append(bytes)
      return .changed
    }
    step.now = now
    defer { inStage = stage.held }
    return stage.take(bytes, &step)
  }

  func handleTimeout(now: Instant) {
    step.now = now
    if case .waiting(let until) = window, until <= now {
      window = .open(until: fault.length.map { until + $0 })
      isOpen = true
      stage.begin(&step)
    }
    if case .open(let until?) = window, until <= now {
      window = .closed
      isOpen = false
      stage.end(&step)
    }
    if !isBlocked, let due = stage.deadline, due <= now { stage.handleTimeout(&step) }
    inStage = stage.held
    letBehindGo()
  }

  func finish(now: Instant) {
    step.now = now
    stage.finish(&step)
    inStage = stage.held
    letBehindGo()
  }

  private func letBehindGo() {
    guard !behind.isEmpty, inStage == 0 || stage.deadline == nil else { return }
    var lent = ChunkQueue()
    swap(&lent, &behind)
    lent.drain { bytes in
      // A stage that holds something and has no time for it waits for the rest of a packet, which is here.
      if stage.held == 0 || stage.take(bytes, &step) == .whole { step.pass(bytes) }
      return bytes.byteCount
    }
  }
}
