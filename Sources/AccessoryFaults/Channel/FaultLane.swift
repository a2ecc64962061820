import AccessoryCore
import AccessoryFormats

/// One direction of a channel: the faults in order, and the bytes waiting between them.
///
/// ```
///   bytes ──▶ entry ──▶ slot 0 ──▶ slot 1 ──▶ … ──▶ sink
/// ```
///
/// A chunk that no fault changes passes through the lane without being copied. If a fault or the sink accepts only part
/// of a chunk, the preceding fault keeps the rest and accepts no more bytes until the rest is accepted. In this way,
/// back-pressure reaches the sender. A lane therefore never holds more bytes than its faults are allowed to hold.
final class FaultLane {
  let direction: Fault.Direction
  // Exclusivity checking is off, because each chunk causes several accesses and every check takes time. No outside code
  // runs while one of these properties is being changed, because the sink receives bytes that have already been moved
  // out of them.
  @exclusivity(unchecked) private var slots: [FaultSlot]
  private let unit: FaultUnit
  private var hasStarted = false
  /// Received bytes, queued until the faults have room, because a channel cannot refuse received bytes.
  @exclusivity(unchecked) private var entry = ChunkQueue()
  /// Accepts bytes from the start of the buffer, and returns how many it accepted. The owner sets this closure once.
  @exclusivity(unchecked) var sink: (RawSpan) -> Int = { _ in 0 }
  @exclusivity(unchecked) private var isFinishing = false
  @exclusivity(unchecked) private var finished = 0
  @exclusivity(unchecked) private var isDiscarded = false
  /// Whether the sink accepted only part of a chunk and has not yet reported that it has room again.
  @exclusivity(unchecked) private(set) var isSinkFull = false
  /// The index of the fault that cut the channel and the reason, or nil if the channel has not been cut.
  @exclusivity(unchecked) private(set) var cut: (place: Int, why: String)?
  /// Whether a deadline may have moved or bytes may have been left over since the owner last checked.
  @exclusivity(unchecked) private var isTouched = false

  /// Whether to keep the packets that faults act on, so that ``takeStruck()`` can return them.
  private let keepsStruck: Bool

  init(
    _ direction: Fault.Direction, _ faults: [(fault: Fault, random: SeededRandom)], unit: FaultUnit, keepsStruck: Bool
  ) {
    self.direction = direction
    self.unit = unit
    self.keepsStruck = keepsStruck
    slots = []
    slots = faults.filter { $0.fault.directions.contains(direction) }.map(makeSlot)
  }

  private func makeSlot(_ fault: Fault, _ random: SeededRandom) -> FaultSlot {
    let slot = FaultSlot(fault, unit: unit, random: random)
    slot.step.keepsStruck = keepsStruck
    return slot
  }

  var isOpen: Bool { !isDiscarded && !isSinkFull && entry.isEmpty && (slots.isEmpty || slots[0].room > 0) }

  var isClear: Bool {
    entry.isEmpty && (!isFinishing || finished == slots.count) && slots.allSatisfy { $0.isClear }
  }

  var held: Int { slots.reduce(entry.count) { $0 + $1.held } }

  /// Whether the lane is fully drained or permanently stuck, for example in an endless stall.
  var isDone: Bool { isClear || (!isSinkFull && deadline == nil) }

  var deadline: Instant? {
    if isDiscarded { return nil }
    var earliest: Instant?
    for slot in slots {
      if let deadline = slot.deadline { earliest = min(deadline, earliest ?? deadline) }
    }
    return earliest
  }

  var counts: [(fault: Fault, count: FaultCount)] { slots.map { ($0.fault, $0.step.count) } }

  func takeTouched() -> Bool {
    defer { isTouched = false }
    return isTouched
  }

  /// Returns the events that faults have reported since the last call.
  func takeNews() -> [(fault: Fault, text: String)] {
    var news: [(fault: Fault, text: String)] = []
    for index in slots.indices where !slots[index].step.news.isEmpty {
      news += slots[index].step.takeNews().map { (slots[index].fault, $0) }
    }
    return news
  }

  func takeStruck() -> [(fault: Fault, packet: [UInt8])] {
    slots.flatMap { slot in slot.step.takeStruck().map { (slot.fault, $0) } }
  }

  // MARK: Changing the faults

  /// Replaces the faults while the channel is in use. Faults that are in both the old and the new list keep their
  /// state. A removed fault does not affect any more bytes, but it stays in the lane until it has passed on the bytes
  /// that it holds, at its usual speed. The times in new faults are measured from this call.
  func change(to faults: [(fault: Fault, random: SeededRandom)], now: Instant) {
    guard !isFinishing, !isDiscarded, cut == nil else { return }
    var goes = Set(slots.indices.filter { !slots[$0].isEnded })
    var new: [FaultSlot] = []
    for (fault, random) in faults where fault.directions.contains(direction) {
      if let index = slots.indices.first(where: { goes.contains($0) && slots[$0].fault == fault }) {
        goes.remove(index)
      } else {
        let slot = makeSlot(fault, random)
        new.append(slot)
        if hasStarted { slot.start(now: now) }
      }
    }
    for index in goes { slots[index].end(now: now) }
    // New faults come first, because the bytes that existing faults hold are older and must not be overtaken.
    slots = new + slots.filter { !$0.isEnded || !$0.isClear }
    for index in slots.indices { noteCut(index) }
    isTouched = true
  }

  // MARK: Bytes

  func start(now: Instant) {
    hasStarted = true
    for index in slots.indices {
      slots[index].start(now: now)
      noteCut(index)
    }
    isTouched = true
  }

  /// Called when the sink accepts bytes again. The caller then calls ``advance(now:)``.
  func sinkHasRoom() {
    isSinkFull = false
  }

  /// Accepts as many bytes as fit, and returns how many it accepted.
  func take(_ bytes: RawSpan, now: Instant) -> Int {
    guard entry.isEmpty, !isSinkFull else { return 0 }
    var taken = 0
    while taken < bytes.byteCount, !isDiscarded {
      let count = push(bytes.extracting(taken..<bytes.byteCount), to: 0, now)
      if count == 0 { break }
      taken += count
    }
    return taken
  }

  /// Accepts all bytes, and queues the bytes for which there is no room.
  func takeAll(_ bytes: RawSpan, now: Instant) {
    let taken = take(bytes, now: now)
    if taken < bytes.byteCount, !isDiscarded {
      entry.append(bytes.extracting(taken..<bytes.byteCount))
      isTouched = true
    }
  }

  private func push(_ bytes: RawSpan, to first: Int, _ now: Instant) -> Int {
    // After a cut, bytes are accepted and dropped.
    if let cut, first <= cut.place { return bytes.byteCount }
    // This check is the only cost of an idle fault.
    var index = first
    while index < slots.count, slots[index].isIdle { index += 1 }
    if index == slots.count {
      let taken = sink(bytes)
      if taken < bytes.byteCount { isSinkFull = true }
      return taken
    }
    let slot = slots[index]
    let count = min(bytes.byteCount, slot.room)
    if count == 0 { return 0 }
    let chunk = bytes.extracting(0..<count)
    switch slot.take(chunk, now: now) {
    case .whole:
      let taken = push(chunk, to: index + 1, now)
      if taken < count, !isDiscarded {
        // The fault has already processed this chunk, so the rest of the chunk is stored as the fault's output.
        slot.step.output.append(chunk.extracting(taken..<count))
        isTouched = true
      }
    case .changed:
      isTouched = true
      noteCut(index)
      drain(index, now)
    }
    return count
  }

  private func noteCut(_ index: Int) {
    if cut == nil, let why = slots[index].step.cut { cut = (index, why) }
  }

  private func drain(_ index: Int, _ now: Instant) {
    let slot = slots[index]
    guard slot.isBlocked else { return }
    // The output is moved out of its property because the sink may call this lane, and even end it.
    var lent = ChunkQueue()
    swap(&lent, &slot.step.output)
    lent.drain { isDiscarded ? $0.byteCount : push($0, to: index + 1, now) }
    swap(&lent, &slot.step.output)
    if isDiscarded { slot.step.output.removeAll() }
  }

  // MARK: Time

  /// Does everything that is due, and passes on as many bytes as possible.
  func advance(now: Instant) {
    guard !isDiscarded else { return }
    isTouched = true
    // The loop starts with the last fault so that earlier faults can use the room that later faults free.
    for index in slots.indices.reversed() {
      drain(index, now)
      slots[index].handleTimeout(now: now)
      noteCut(index)
      drain(index, now)
    }
    var lent = ChunkQueue()
    swap(&lent, &entry)
    lent.drain { isDiscarded ? $0.byteCount : push($0, to: 0, now) }
    swap(&lent, &entry)
    if isFinishing { finishNext(now) }
  }

  /// Ends the stream after the bytes received so far.
  func finish(now: Instant) {
    isFinishing = true
    advance(now: now)
  }

  /// Finishes the faults in order, each one after the faults before it have drained.
  private func finishNext(_ now: Instant) {
    while entry.isEmpty, finished < slots.count, !isDiscarded {
      slots[finished].finish(now: now)
      drain(finished, now)
      guard slots[finished].isClear else { return }
      finished += 1
    }
  }

  func discard() {
    isDiscarded = true
    entry.removeAll()
    for index in slots.indices { slots[index].step.output.removeAll() }
  }
}
