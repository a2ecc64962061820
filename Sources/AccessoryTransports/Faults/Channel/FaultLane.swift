import AccessoryCore

/// One direction of a channel: its faults in order, and what lies between them.
///
/// ```
///   bytes ──▶ entry ──▶ slot 0 ──▶ slot 1 ──▶ … ──▶ sink
/// ```
///
/// A chunk that no fault changes goes from one end to the other as it is. Where something takes less than it is given,
/// the rest stays with the one before, which then takes nothing, and so on back to the sender: what a lane holds is
/// bounded by what its faults may hold.
final class FaultLane {
  let direction: Fault.Direction
  private let slots: [FaultSlot]
  /// What came although there was no room: a channel's reception cannot be refused.
  private var entry = ChunkQueue()
  private let sink: (RawSpan) -> Int
  private var isFinishing = false
  private var finished = 0
  private var isDiscarded = false
  /// The sink took less than it was given, and has not said since that it has room.
  private var isSinkFull = false
  /// The place of the fault that cut the channel, and why it did.
  private(set) var cut: (place: Int, why: String)?
  /// Whether anything happened since the owner last asked that may have moved a deadline or left bytes behind.
  private var isTouched = false

  /// The faults that act in this direction, each with its chance. `sink` takes bytes from the front and says how many.
  init(
    _ direction: Fault.Direction, _ faults: [(fault: Fault, random: SeededRandom)], unit: FaultUnit,
    sink: @escaping (RawSpan) -> Int
  ) {
    self.direction = direction
    self.sink = sink
    slots = faults.filter { $0.fault.directions.contains(direction) }.map {
      FaultSlot($0.fault, unit: unit, random: $0.random)
    }
  }

  /// Whether it takes a byte now.
  var isOpen: Bool { !isDiscarded && !isSinkFull && entry.isEmpty && (slots.isEmpty || slots[0].room > 0) }

  /// Whether everything that came has gone on.
  var isClear: Bool {
    entry.isEmpty && (!isFinishing || finished == slots.count) && slots.allSatisfy { $0.isClear }
  }

  /// How many bytes came and have not gone on.
  var held: Int { slots.reduce(entry.count) { $0 + $1.held } }

  /// Whether what it holds waits for nothing that will ever come, such as the end of a stall without one.
  var isStuck: Bool { !isClear && !isSinkFull && deadline == nil }

  /// Whether the sink took less than it was given and has not reported room since.
  var waitsForSink: Bool { isSinkFull }

  /// When ``advance(now:)`` wants to be called.
  var deadline: Instant? {
    if isDiscarded { return nil }
    var earliest: Instant?
    for slot in slots {
      if let deadline = slot.deadline { earliest = min(deadline, earliest ?? deadline) }
    }
    return earliest
  }

  /// What each fault has done.
  var counts: [(fault: Fault, count: FaultCount)] { slots.map { ($0.fault, $0.step.count) } }

  func takeTouched() -> Bool {
    defer { isTouched = false }
    return isTouched
  }

  /// What the faults have to tell since the last time.
  func takeNews() -> [(fault: Fault, text: String)] {
    var news: [(fault: Fault, text: String)] = []
    for index in slots.indices where !slots[index].step.news.isEmpty {
      news += slots[index].step.takeNews().map { (slots[index].fault, $0) }
    }
    return news
  }

  // MARK: Bytes

  func start(now: Instant) {
    for index in slots.indices {
      slots[index].start(now: now)
      noteCut(index)
    }
    isTouched = true
  }

  /// The sink takes bytes again; ``advance(now:)`` follows.
  func sinkHasRoom() {
    isSinkFull = false
  }

  /// Takes from the front what there is room for, and says how much.
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

  /// Takes everything; what there is no room for waits.
  func takeAll(_ bytes: RawSpan, now: Instant) {
    let taken = take(bytes, now: now)
    if taken < bytes.byteCount, !isDiscarded {
      entry.append(bytes.extracting(taken..<bytes.byteCount))
      isTouched = true
    }
  }

  private func push(_ bytes: RawSpan, to first: Int, _ now: Instant) -> Int {
    // Behind a cut there is nothing.
    if let cut, first <= cut.place { return bytes.byteCount }
    // Those that have nothing to do with it cost a look each.
    var index = first
    while index < slots.count, slots[index].isIdle { index += 1 }
    if index == slots.count {
      let taken = sink(bytes)
      if taken < bytes.byteCount { isSinkFull = true }
      return taken
    }
    let count = min(bytes.byteCount, slots[index].room)
    if count == 0 { return 0 }
    let chunk = bytes.extracting(0..<count)
    switch slots[index].take(chunk, now: now) {
    case .whole:
      let taken = push(chunk, to: index + 1, now)
      if taken < count, !isDiscarded {
        // Nothing was taken before this chunk was asked for, so the fault has seen it and must not see it again.
        slots[index].step.output.append(chunk.extracting(taken..<count))
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

  /// Hands on what a fault has passed.
  private func drain(_ index: Int, _ now: Instant) {
    guard slots[index].isBlocked else { return }
    // Lent for the time, because the sink may lead to anything, this lane's end included.
    var lent = ChunkQueue()
    swap(&lent, &slots[index].step.output)
    lent.drain { isDiscarded ? $0.byteCount : push($0, to: index + 1, now) }
    swap(&lent, &slots[index].step.output)
    if isDiscarded { slots[index].step.output.removeAll() }
  }

  // MARK: Time

  /// Does what is due, and lets everything go on that can.
  func advance(now: Instant) {
    guard !isDiscarded else { return }
    isTouched = true
    // From the far end, so that what makes room there is used by those before.
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

  /// The stream ends behind what came so far.
  func finish(now: Instant) {
    isFinishing = true
    advance(now: now)
  }

  /// One fault after the other, each when all before it is through.
  private func finishNext(_ now: Instant) {
    while entry.isEmpty, finished < slots.count, !isDiscarded {
      slots[finished].finish(now: now)
      drain(finished, now)
      guard slots[finished].isClear else { return }
      finished += 1
    }
  }

  /// Drops everything: the channel is over.
  func discard() {
    isDiscarded = true
    entry.removeAll()
    for index in slots.indices { slots[index].step.output.removeAll() }
  }
}
