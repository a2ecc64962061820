/// Unpacks gzip (RFC 1951 and 1952) that arrives in parts, with several members.
///
/// Invariant: keeps the 32 KiB that deflate may refer to, what was not given yet, and less than one header of input.
struct Gunzip {
  /// The first bytes of a file.
  static let magic: [UInt8] = [0x1F, 0x8B, 0x08]

  private enum State {
    case header
    case block
    case stored(Int)
    case codes(HuffmanTable, HuffmanTable)
    case trailer
    case over
  }

  private enum Halt: Error {
    /// More input is needed.
    case starved
    case wrong(String)
  }

  private var input = ByteWindow()
  private var held: UInt64 = 0
  private var heldBits = 0
  private var state = State.header
  private var isLast = false
  private var output: [UInt8] = []
  /// How much of ``output`` was given.
  private var given = 0
  private var members = 0
  private var total: UInt32 = 0
  private var check = CRC32()

  /// Continues with `bytes`, and gives what is unpacked.
  mutating func append(_ bytes: [UInt8], _ give: ([UInt8]) -> Void) throws(CaptureProblem) {
    input.append(bytes)
    try run(give)
  }

  /// The end of the file.
  func finish() throws(CaptureProblem) {
    if case .over = state { return }
    if case .header = state, members > 0, input.count == 0 { return }
    throw CaptureProblem(offset: input.offset + input.count, message: "the gzip file is cut off", isFinal: true)
  }

  private mutating func run(_ give: ([UInt8]) -> Void) throws(CaptureProblem) {
    while true {
      let before = self.position
      do throws(Halt) { try step(give) } catch {
        flush(give)
        switch error {
        case .starved:
          // Codes are read symbol by symbol, and nothing is read twice.
          if case .codes = state { return }
          return restore(before)
        case .wrong(let message):
          throw CaptureProblem(offset: input.offset, message: message, isFinal: true)
        }
      }
      if case .over = state { return flush(give) }
    }
  }

  // MARK: Steps

  private mutating func step(_ give: ([UInt8]) -> Void) throws(Halt) {
    switch state {
    case .header: try readHeader()
    case .block: try readBlock()
    case .stored(let count):
      let part = min(count, input.count, 1 << 15)
      guard part > 0 || count == 0 else { throw .starved }
      emit(input.take(part))
      state = count > part ? .stored(count - part) : isLast ? .trailer : .block
    case .codes(let literals, let distances): try readCodes(literals, distances)
    case .trailer:
      flush(give)
      alignToByte()
      let (sum, count) = (try bits(32), try bits(32))
      if UInt32(truncatingIfNeeded: sum) != check.value || UInt32(truncatingIfNeeded: count) != total {
        throw .wrong("the gzip file is damaged: its checksum is wrong")
      }
      members += 1
      state = .header
    case .over: return
    }
    if output.count - given >= 1 << 16 { flush(give) }
  }

  private mutating func readHeader() throws(Halt) {
    let bytes = input.all
    let known = bytes.prefix(3)
    if members > 0, !known.isEmpty, !Self.magic.starts(with: known) {
      // What follows the last member is padding.
      state = .over
      return
    }
    guard bytes.count >= 10 else { throw .starved }
    guard bytes.starts(with: Self.magic) else { throw .wrong("not a gzip file") }
    let flags = bytes[bytes.startIndex + 3]
    var end = 10
    if flags & 4 != 0 {
      guard bytes.count >= end + 2 else { throw .starved }
      end += 2 + bytes.u16(at: end, .little)
    }
    for flag: UInt8 in [8, 16] where flags & flag != 0 {
      guard bytes.count > end else { throw .starved }
      guard let zero = bytes.dropFirst(end).firstIndex(of: 0) else {
        if bytes.count > 1 << 17 { throw .wrong("a name in the gzip file has no end") }
        throw .starved
      }
      end = zero - bytes.startIndex + 1
    }
    if flags & 2 != 0 { end += 2 }
    guard bytes.count >= end else { throw .starved }
    _ = input.take(end)
    (check, total, state) = (CRC32(), 0, .block)
    (output, given) = ([], 0)
  }

  private mutating func readBlock() throws(Halt) {
    let (last, type) = (try bits(1), try bits(2))
    switch type {
    case 0:
      alignToByte()
      let (count, inverse) = (try bits(16), try bits(16))
      guard count == ~inverse & 0xFFFF else { throw .wrong("the gzip file is damaged: a block with a wrong length") }
      // Bits are taken when they are needed, so none are held here.
      state = .stored(count)
    case 1:
      guard let literals = HuffmanTable.fixedLiterals, let distances = HuffmanTable.fixedDistances else { return }
      state = .codes(literals, distances)
    case 2:
      let tables = try readTables()
      state = .codes(tables.0, tables.1)
    default: throw .wrong("the gzip file is damaged: a block of no known type")
    }
    isLast = last == 1
  }

  private static let lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  private mutating func readTables() throws(Halt) -> (HuffmanTable, HuffmanTable) {
    let (literals, distances, count) = (try bits(5) + 257, try bits(5) + 1, try bits(4) + 4)
    var codeLengths = [UInt8](repeating: 0, count: 19)
    for index in Self.lengthOrder.prefix(count) { codeLengths[index] = UInt8(try bits(3)) }
    guard let table = HuffmanTable(lengths: codeLengths) else { throw .wrong(Self.wrongCode) }
    var lengths: [UInt8] = []
    while lengths.count < literals + distances {
      let symbol = try symbol(table)
      switch symbol {
      case ..<16: lengths.append(UInt8(symbol))
      case 16:
        guard let last = lengths.last else { throw .wrong(Self.wrongCode) }
        lengths += [UInt8](repeating: last, count: try bits(2) + 3)
      case 17: lengths += [UInt8](repeating: 0, count: try bits(3) + 3)
      default: lengths += [UInt8](repeating: 0, count: try bits(7) + 11)
      }
    }
    guard lengths.count == literals + distances,
      let literalTable = HuffmanTable(lengths: lengths[..<literals]),
      let distanceTable = HuffmanTable(lengths: lengths[literals...])
    else { throw .wrong(Self.wrongCode) }
    return (literalTable, distanceTable)
  }

  private static let wrongCode = "the gzip file is damaged: a block with an impossible code"
  private static let lengthBases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
  ]
  private static let lengthBits = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
  ]
  private static let distanceBases = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577,
  ]
  private static let distanceBits = [
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
  ]

  /// Symbols until there is something to give, or the input is used up.
  private mutating func readCodes(_ literals: HuffmanTable, _ distances: HuffmanTable) throws(Halt) {
    while output.count - given < 1 << 16 {
      let before = position
      do throws(Halt) {
        let symbol = try symbol(literals)
        if symbol < 256 {
          output.append(UInt8(symbol))
          continue
        }
        if symbol == 256 {
          state = isLast ? .trailer : .block
          return
        }
        guard symbol - 257 < Self.lengthBases.count else { throw .wrong(Self.wrongCode) }
        let length = Self.lengthBases[symbol - 257] + (try bits(Self.lengthBits[symbol - 257]))
        let code = try self.symbol(distances)
        guard code < Self.distanceBases.count else { throw .wrong(Self.wrongCode) }
        let distance = Self.distanceBases[code] + (try bits(Self.distanceBits[code]))
        guard distance <= output.count else {
          throw .wrong("the gzip file is damaged: it refers to bytes before its beginning")
        }
        let start = output.count - distance
        for index in start..<start + length { output.append(output[index]) }
      } catch {
        // A symbol is read whole or not at all.
        if case .starved = error { restore(before) }
        throw error
      }
    }
  }

  // MARK: Bits

  private struct Position {
    var input: ByteWindow
    var held: UInt64
    var heldBits: Int
  }

  private var position: Position { Position(input: input, held: held, heldBits: heldBits) }

  private mutating func restore(_ position: Position) {
    (input, held, heldBits) = (position.input, position.held, position.heldBits)
  }

  private mutating func bits(_ count: Int) throws(Halt) -> Int {
    while heldBits < count {
      guard let byte = input.takeByte() else { throw .starved }
      held |= UInt64(byte) << UInt64(heldBits)
      heldBits += 8
    }
    defer {
      held >>= UInt64(count)
      heldBits -= count
    }
    return Int(held & (1 << UInt64(count) - 1))
  }

  private mutating func symbol(_ table: HuffmanTable) throws(Halt) -> Int {
    while heldBits < table.width, let byte = input.takeByte() {
      held |= UInt64(byte) << UInt64(heldBits)
      heldBits += 8
    }
    let entry = table.entries[Int(held & (1 << UInt64(table.width) - 1))]
    let length = Int(entry & 15)
    if length > heldBits { throw .starved }
    guard length > 0 else {
      if heldBits < table.width { throw .starved }
      throw .wrong(Self.wrongCode)
    }
    held >>= UInt64(length)
    heldBits -= length
    return Int(entry >> 4)
  }

  private mutating func alignToByte() {
    held >>= UInt64(heldBits % 8)
    heldBits -= heldBits % 8
  }

  // MARK: Output

  private mutating func emit(_ bytes: ArraySlice<UInt8>) { output += bytes }

  private mutating func flush(_ give: ([UInt8]) -> Void) {
    guard given < output.count else { return }
    let fresh = Array(output[given...])
    check.add(fresh)
    total &+= UInt32(truncatingIfNeeded: fresh.count)
    // Only the last 32 KiB can be referred to.
    if output.count > 1 << 15 { output.removeFirst(output.count - 1 << 15) }
    given = output.count
    give(fresh)
  }
}

/// The checksum of gzip.
struct CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
  }
  private var state: UInt32 = .max

  var value: UInt32 { ~state }

  mutating func add(_ bytes: [UInt8]) {
    let table = Self.table
    var state = self.state
    for byte in bytes { state = state >> 8 ^ table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] }
    self.state = state
  }
}
