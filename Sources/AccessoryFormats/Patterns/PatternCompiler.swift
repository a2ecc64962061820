/// Makes the instructions of a pattern.
struct PatternCompiler {
  private(set) var program: [PatternInstruction] = []
  /// The repetition that was begun last.
  private var place = 0

  mutating func emit(_ node: PatternNode) throws(BytePatternError) {
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
        // Nothing, however often.
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

  private mutating func loop(_ inner: PatternNode, _ isLazy: Bool) throws(BytePatternError) {
    let split = try add(.match)
    try emit(inner)
    try add(.jump(split))
    program[split] = Self.split(split + 1, program.count, isLazy)
  }

  private static func split(_ into: Int, _ past: Int, _ isLazy: Bool) -> PatternInstruction {
    isLazy ? .split(past, into) : .split(into, past)
  }

  /// Returns the place of the instruction; `.match` keeps a place for a jump that is known later.
  @discardableResult
  private mutating func add(_ instruction: PatternInstruction) throws(BytePatternError) -> Int {
    if program.count >= BytePattern.mostInstructions {
      throw BytePatternError(
        "at character \(place + 1): the pattern has more than \(BytePattern.mostInstructions) steps: write smaller numbers, "
          + "because a repetition such as {1,500} counts once for each possible repetition")
    }
    program.append(instruction)
    return program.count - 1
  }
}
