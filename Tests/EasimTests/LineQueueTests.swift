import AccessoryCore
import Testing

@testable import easim

/// Checks that lines waiting for a reader stay in order, that their total size is limited, and that dropped lines are
/// reported.
@Suite struct LineQueueTests {
  private var queue = LineQueue(lineLimit: 30, keptLimit: 20)
  private let now = Instant(nanoseconds: 5)

  private mutating func add(_ text: String, _ kind: LineQueue.Kind = .line, to target: Int = 0, at time: Int64 = 5) {
    queue.add(Array(text.utf8), kind, to: target, at: Instant(nanoseconds: time))
  }

  private mutating func takeAll() -> [String] {
    var shown: [String] = []
    while let piece = queue.take() {
      switch piece {
      case .batch(let batch):
        shown.append("\(batch.target):\(batch.lines):\(String(decoding: batch.bytes, as: UTF8.self))")
      case .gap(let gap): shown.append("\(gap.target) lacks \(gap.lines) at \(gap.time.nanoseconds)")
      }
    }
    return shown
  }

  @Test mutating func linesOfOneFileGoOutTogetherAndInOrder() {
    add("a\n")
    add("b\nc\n")
    add("d\n", to: 1)
    add("e\n")
    #expect(takeAll() == ["0:3:a\nb\nc\n", "1:1:d\n", "0:1:e\n"])
    #expect(queue.isEmpty)
  }

  @Test mutating func theOldestLinesAreDroppedAndCounted() {
    for number in 0..<8 { add("line \(number)\n", at: Int64(number)) }
    // Four lines of 7 bytes fit into 30 bytes. Line 3 was dropped when the newest line was added.
    #expect(takeAll() == ["0 lacks 4 at 7", "0:4:line 4\nline 5\nline 6\nline 7\n"])
    add("again\n")
    #expect(takeAll() == ["0:1:again\n"])
  }

  @Test mutating func eachFileHasAGapOfItsOwn() {
    for number in 0..<4 {
      add("out \(number)\n", to: 0, at: 1)
      add("err \(number)\n", to: 1, at: 2)
    }
    add("two\nlines\n", to: 0, at: 3)
    add("0123456789\n", to: 0, at: 4)
    #expect(takeAll() == ["0 lacks 4 at 4", "1 lacks 3 at 4", "1:1:err 3\n", "0:3:two\nlines\n0123456789\n"])
  }

  @Test mutating func oneLineThatIsTooLongForTheBoundIsShownAllTheSame() {
    add("short\n")
    let long = String(repeating: "x", count: 99) + "\n"
    add(long)
    #expect(takeAll() == ["0 lacks 1 at 5", "0:1:\(long)"])
  }

  @Test mutating func keptLinesAreNeverDroppedAndAskForAPause() {
    #expect(queue.room == .some)
    for _ in 0..<3 { add("kept...\n", .kept) }
    #expect(queue.room == .full)
    for number in 0..<8 { add("line \(number)\n", to: 1) }
    let taken = queue.take()
    #expect(taken == .gap(LineQueue.Gap(target: 1, lines: 4, time: now)))
    #expect(!queue.hasRoom)
    #expect(takeAll().first == "0:3:kept...\nkept...\nkept...\n")
    #expect(queue.hasRoom && queue.room == .some)
  }

  @Test mutating func whoGoesOnAllTheSameHasTooMuch() {
    for _ in 0..<79 { add("kept...\n", .kept) }
    #expect(queue.room == .full)
    add("kept...\n", .kept)
    #expect(queue.room == .tooFull)
  }

  @Test mutating func keptLinesAndOthersKeepTheirOrder() {
    add("a\n", to: 0)
    add("B\n", .kept, to: 1)
    add("c\n", to: 0)
    add("D\n", .kept, to: 0)
    #expect(takeAll() == ["0:1:a\n", "1:1:B\n", "0:2:c\nD\n"])
  }

  @Test mutating func aDrawingTakesThePlaceOfTheOneBeforeIt() {
    add("[#  ]", .frame)
    add("[## ]", .frame)
    add("line\n")
    add("[###]", .frame)
    add("", .frame)
    #expect(takeAll() == ["0:1:[## ]line\n"])
  }

  @Test mutating func aDrawingThatIsDroppedIsNotMissed() {
    add("[#  ]", .frame)
    for number in 0..<5 { add("line \(number)\n") }
    #expect(takeAll() == ["0 lacks 1 at 5", "0:4:line 1\nline 2\nline 3\nline 4\n"])
  }

  @Test mutating func whatIsWrittenAtOnceFitsIntoAPipeWhole() {
    var queue = LineQueue()
    let line = String(repeating: "x", count: 999) + "\n"
    for _ in 0..<5 { queue.add(Array(line.utf8), .kept, to: 0, at: now) }
    guard case .batch(let first) = queue.take() else {
      Issue.record("there is a first batch")
      return
    }
    #expect(first.bytes.count == 4_000 && first.lines == 4)
  }

  @Test mutating func whatIsGivenUpIsCounted() {
    for number in 0..<8 { add("line \(number)\n") }
    add("kept\n", .kept)
    add("other\n", to: 1)
    #expect(queue.removeAll(for: 0) == 9)
    #expect(takeAll() == ["1:1:other\n"])
    #expect(queue.room == .some)
  }
}
