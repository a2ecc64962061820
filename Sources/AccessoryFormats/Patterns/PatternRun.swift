/// A condition on the position between two bytes. A condition consumes no bytes.
enum PatternAssertion: Equatable, Sendable {
  case start
  case end
  case lineStart
  case lineEnd
  case wordEdge
  case noWordEdge

  /// Returns true if the condition holds between two bytes. A nil byte stands for the start or the end of the input.
  func holds(after previous: UInt8?, before next: UInt8?) -> Bool {
    switch self {
    case .start: previous == nil
    case .end: next == nil
    case .lineStart: previous == nil || previous == 0x0A
    case .lineEnd: next == nil || next == 0x0A
    case .wordEdge: Self.isWord(previous) != Self.isWord(next)
    case .noWordEdge: Self.isWord(previous) == Self.isWord(next)
    }
  }

  private static func isWord(_ byte: UInt8?) -> Bool { byte.map(ByteSet.letters.contains) ?? false }
}

enum PatternInstruction: Equatable, Sendable {
  case byte(ByteSet)
  case assertion(PatternAssertion)
  /// The run continues at both instructions. The first instruction takes precedence.
  case split(Int, Int)
  case jump(Int)
  case save(Int)
  case match
}

/// The threads that match a pattern. All threads advance over the input together.
struct PatternRun: Equatable, Sendable {
  private struct Thread: Equatable {
    var place: Int
    var saved: [Int]
  }

  private let program: [PatternInstruction]
  private let groups: Int
  /// The threads that are waiting for the next byte, in order of precedence.
  private var threads: [Thread] = []
  private var next: [Thread] = []
  private var waiting: [Thread] = []
  private var seen: [Int]
  private var index = 0
  private var previous: UInt8?

  init(_ program: [PatternInstruction], groups: Int) {
    (self.program, self.groups) = (program, groups)
    seen = [Int](repeating: -1, count: program.count)
  }

  var isOver: Bool { threads.isEmpty }

  mutating func begin() { threads.append(Thread(place: 0, saved: [Int](repeating: -1, count: groups * 2))) }

  /// Moves all threads past a byte. A nil byte stands for the end of the input. Returns the captures of the preferred
  /// match that ends before that byte, or nil if no match ends there.
  mutating func advance(over byte: UInt8?) -> [Int]? {
    var found: [Int]?
    next.removeAll(keepingCapacity: true)
    for thread in threads {
      waiting.append(thread)
      while let thread = waiting.popLast() { follow(thread, byte, &found) }
    }
    swap(&threads, &next)
    previous = byte
    index += 1
    return found
  }

  /// Follows a thread through instructions that consume no bytes. Each instruction is visited at most once per byte.
  private mutating func follow(_ thread: Thread, _ byte: UInt8?, _ found: inout [Int]?) {
    guard seen[thread.place] != index else { return }
    seen[thread.place] = index
    var thread = thread
    switch program[thread.place] {
    case .byte(let set):
      guard let byte, set.contains(byte) else { return }
      thread.place += 1
      return next.append(thread)
    case .match:
      found = found ?? thread.saved
      return
    case .assertion(let assertion):
      guard assertion.holds(after: previous, before: byte) else { return }
      thread.place += 1
    case .jump(let place): thread.place = place
    case .split(let first, let second):
      waiting.append(Thread(place: second, saved: thread.saved))
      thread.place = first
    case .save(let slot):
      if groups > 0 { thread.saved[slot] = index }
      thread.place += 1
    }
    waiting.append(thread)
  }
}

/// Searches bytes that arrive in chunks for a match at any position. Each byte is examined once.
///
/// ```swift
/// var search = PatternSearch(try BytePattern("OK\\d$"))
/// search.take(bytes)
/// search.isFound    // whether there is a match if the input ends here
/// ```
public struct PatternSearch: Equatable, Sendable {
  private var run: PatternRun
  private var isCertain = false

  /// Starts a search.
  public init(_ pattern: BytePattern) { run = PatternRun(pattern.program, groups: 0) }

  /// Searches the next bytes.
  public mutating func take(_ bytes: RawSpan) {
    var offset = 0
    while offset < bytes.byteCount, !isCertain {
      run.begin()
      isCertain = run.advance(over: bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)) != nil
      offset += 1
    }
  }

  /// Whether the pattern matches if the input ends here.
  public var isFound: Bool {
    if isCertain { return true }
    var end = run
    end.begin()
    return end.advance(over: nil) != nil
  }
}

struct PatternCompiler {
  private(set) var program: [PatternInstruction] = []
  /// The position in the pattern of the most recently started repetition, for use in error messages.
  private var place = 0

  mutating func emit(_ node: PatternNode) throws(OptionError) {
    switch node {
    case .byte(let set): try add(.byte(set))
    case .assertion(let assertion): try add(.assertion(assertion))
    case .match: try add(.match)
    case .sequence(let nodes): for node in nodes { try emit(node) }
    case .group(let inner, let number):
      try add(.save(number * 2))
      try emit(inner)
      try add(.save(number * 2 + 1))
    case .choice(let nodes):
      var ends: [Int] = []
      for node in nodes.dropLast() {
        let split = try add(.match)
        try emit(node)
        ends.append(try add(.match))
        program[split] = .split(split + 1, program.count)
      }
      if let last = nodes.last { try emit(last) }
      for end in ends { program[end] = .jump(program.count) }
    case .repeated(let inner, let least, let most, let isLazy, let place):
      self.place = place
      let begun = program.count
      for _ in 0..<least {
        try emit(inner)
        // Repeating an expression that matches nothing adds no instructions.
        if program.count == begun { break }
      }
      guard let most else { return try loop(inner, isLazy) }
      var splits: [Int] = []
      for _ in least..<most {
        splits.append(try add(.match))
        try emit(inner)
      }
      for split in splits { program[split] = Self.split(split + 1, program.count, isLazy) }
    }
  }

  private mutating func loop(_ inner: PatternNode, _ isLazy: Bool) throws(OptionError) {
    let split = try add(.match)
    try emit(inner)
    try add(.jump(split))
    program[split] = Self.split(split + 1, program.count, isLazy)
  }

  private static func split(_ into: Int, _ past: Int, _ isLazy: Bool) -> PatternInstruction {
    isLazy ? .split(past, into) : .split(into, past)
  }

  /// Adds an instruction and returns its index. `.match` is a placeholder for a jump whose target is not known yet.
  @discardableResult
  private mutating func add(_ instruction: PatternInstruction) throws(OptionError) -> Int {
    if program.count >= BytePattern.mostInstructions {
      throw OptionError(
        "at character \(place + 1): the pattern has more than \(BytePattern.mostInstructions) steps: use smaller "
          + "numbers, because a repetition such as {1,500} counts once for each possible repetition")
    }
    program.append(instruction)
    return program.count - 1
  }
}
