import AccessoryCore
import AccessoryFormats

/// One fault in a lane: its stage, the output that has not been accepted yet, and the time window.
///
/// ```
///   waiting ──`after` has passed──▶ open ──`for` has passed──▶ closed
/// ```
///
/// Outside its window, a stage is called only if it still holds bytes, because later bytes must not overtake them. If
/// the stage will pass on the held bytes without further input, later bytes wait in the slot. If later bytes went to
/// the stage instead, a stage on a busy line would always hold bytes, and its window would never close.
///
/// A slot is a class because it is large and is used several times for every chunk. Only the slot's lane uses the slot.
final class FaultSlot {
  private enum Window {
    case waiting(until: Instant)
    case open(until: Instant?)
    case closed
  }

  let fault: Fault
  // Exclusivity checking is off, because each chunk causes several accesses and every check takes time. A stage
  // receives the step as an argument and does not call any other code. The lane moves the output out of the step before
  // it passes the output on.
  @exclusivity(unchecked) var step: FaultStep
  @exclusivity(unchecked) private var stage: any FaultStage
  @exclusivity(unchecked) private var window = Window.closed
  @exclusivity(unchecked) private var isOpen = false
  @exclusivity(unchecked) private(set) var isEnded = false
  /// The stage's state after its last call. It is cached because asking the stage for every chunk would dominate the
  /// cost of an idle fault.
  @exclusivity(unchecked) private var state: FaultStageState
  /// Bytes that arrived after the window closed and are waiting for the bytes that the stage still holds.
  @exclusivity(unchecked) private var waiting = ChunkQueue()
  private static let mostWaiting = 65_536

  init(_ fault: Fault, unit: FaultUnit, random: SeededRandom) {
    self.fault = fault
    stage = fault.effect.kind.makeStage(unit)
    state = stage.state
    step = FaultStep(random: random)
  }

  var isIdle: Bool { !isOpen && state.held == 0 && step.output.isEmpty && waiting.isEmpty }

  /// Whether the fault has output that has not been accepted yet. A blocked fault accepts nothing and does nothing.
  var isBlocked: Bool { !step.output.isEmpty }

  var held: Int { step.output.count + state.held + waiting.count }

  var isClear: Bool { step.output.isEmpty && state.held == 0 && waiting.isEmpty }

  var room: Int {
    if isBlocked { return 0 }
    if isRunningDry { return max(0, Self.mostWaiting - waiting.count) }
    return isAsked ? min(state.room, FaultStep.largestChunk) : FaultStep.largestChunk
  }

  /// Whether the window is closed but the stage still holds bytes, which it will pass on when they are due.
  private var isRunningDry: Bool { !isOpen && state.held > 0 && (state.deadline != nil || !waiting.isEmpty) }

  private var isAsked: Bool { isOpen || state.held > 0 }

  var deadline: Instant? {
    var next: Instant?
    switch window {
    case .waiting(let until): next = until
    case .open(let until): next = until
    case .closed: break
    }
    if !isBlocked, let due = state.deadline { next = min(due, next ?? due) }
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
      waiting.append(bytes)
      return .changed
    }
    step.now = now
    defer { state = stage.state }
    return stage.take(bytes, &step)
  }

  func handleTimeout(now: Instant) {
    step.now = now
    if case .waiting(let until) = window, until <= now {
      window = .open(until: fault.length.map { until + $0 })
      isOpen = true
      stage.begin(&step)
      state = stage.state
    }
    if case .open(let until?) = window, until <= now {
      window = .closed
      isOpen = false
      stage.end(&step)
      state = stage.state
    }
    if !isBlocked, let due = state.deadline, due <= now { stage.handleTimeout(&step) }
    state = stage.state
    releaseWaiting()
  }

  /// Ends the fault early. The fault still passes on the bytes that it holds, at its usual speed, but does not affect
  /// any more bytes.
  func end(now: Instant) {
    step.now = now
    let wasOpen = isOpen
    isEnded = true
    window = .closed
    isOpen = false
    if wasOpen { stage.end(&step) }
    state = stage.state
    releaseWaiting()
  }

  func finish(now: Instant) {
    step.now = now
    stage.finish(&step)
    state = stage.state
    releaseWaiting()
  }

  private func releaseWaiting() {
    guard !waiting.isEmpty, state.held == 0 || state.deadline == nil else { return }
    var lent = ChunkQueue()
    swap(&lent, &waiting)
    lent.drain { bytes in
      // A stage that holds bytes but has no deadline is waiting for the rest of a possible packet.
      if state.held == 0 || stage.take(bytes, &step) == .whole { step.pass(bytes) }
      state = stage.state
      return bytes.byteCount
    }
  }
}
