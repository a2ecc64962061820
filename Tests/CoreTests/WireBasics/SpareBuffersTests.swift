import Testing
import WireBasics

@Suite struct SpareBuffersTests {
  private func made(_ capacity: Int) -> [UInt8] {
    var array: [UInt8] = []
    array.reserveCapacity(capacity)
    return array
  }

  @Test func theMemoryThatWasReturnedLastIsLentFirst() {
    let spares = SpareBuffers()
    for size in [5_000, 9_000] {
      var array = made(size)
      spares.collect(&array)
      #expect(array.capacity == 0)
    }
    var arrays: [[UInt8]] = [[], [], []]
    for index in arrays.indices { spares.lend(to: &arrays[index], room: 1) }
    #expect(arrays.map { $0.capacity >= 9_000 } == [true, false, false])
    #expect(arrays.map { $0.capacity >= 5_000 } == [true, true, false])
    #expect(arrays.allSatisfy(\.isEmpty) && spares.heldBytes == 0)
  }

  @Test func anArrayWithBytesOrRoomKeepsItsMemory() {
    let spares = SpareBuffers()
    var (spare, own) = (made(5_000), made(10))
    spares.collect(&spare)
    spares.lend(to: &own, room: 10)
    own.append(7)
    spares.lend(to: &own, room: 1_000)
    #expect(own == [7] && own.capacity < 5_000)
    #expect(spares.heldBytes >= 5_000)
  }

  @Test func arraysWithElementsAreLentWithTheirElements() {
    let spares = SpareBuffers()
    var (spare, other) = ([UInt8](repeating: 1, count: 3_000), [UInt8]())
    spares.lend(to: &other, room: 1)
    spares.collectFilled(&spare)
    #expect(spare.isEmpty && spares.heldBytes == 3_000)
    spares.lendFilled(to: &other)
    #expect(other.count == 3_000 && spares.heldBytes == 0)
    spares.lendFilled(to: &spare)
    #expect(spare.isEmpty)
  }

  @Test func littleMemoryStaysWithItsOwner() {
    let spares = SpareBuffers()
    var (empty, filled) = (made(500), [UInt8](repeating: 0, count: SpareBuffers.smallest))
    spares.collect(&empty)
    spares.collectFilled(&filled)
    #expect(empty.capacity >= 500 && filled.count == SpareBuffers.smallest && spares.heldBytes == 0)
  }

  @Test func aBlockThatIsTooSmallIsReplaced() {
    let spares = SpareBuffers()
    let small = spares.borrowBlock(atLeast: 10, preferred: 100)
    #expect(small.count == 100)
    spares.returnBlock(small)
    #expect(spares.borrowBlock(atLeast: 100, preferred: 0).baseAddress == small.baseAddress)
    spares.returnBlock(small)
    let large = spares.borrowBlock(atLeast: 101, preferred: 0)
    #expect(large.count == 101 && spares.heldBytes == 0)
    spares.returnBlock(large)
    #expect(spares.heldBytes == 101)
  }

  @Test func onlySoMuchIsKept() {
    let spares = SpareBuffers()
    for _ in 0..<100 {
      var (empty, filled) = (made(100_000), [UInt8](repeating: 0, count: 100_000))
      spares.collect(&empty)
      spares.collectFilled(&filled)
      spares.returnBlock(.allocate(capacity: 100_000))
    }
    #expect(2_700_000...3 << 20 ~= spares.heldBytes)
  }
}
