import AccessoryCore
import AccessoryFormats
import TestSupport
import Testing
import WireBasics

@Suite struct QueueTests {
  @Test func elementsComeOutInTheOrderInWhichTheyWentIn() {
    var queue = Queue<Int>()
    #expect(queue.popFirst() == nil)
    for number in 1...3 { queue.append(number) }
    #expect(queue.first == 1 && queue.last == 3 && queue[1] == 2 && queue.count == 3)
    #expect(queue.popFirst() == 1)
    queue[0] = 20
    queue.append(4)
    #expect([queue.popFirst(), queue.popFirst(), queue.popFirst(), queue.popFirst()] == [20, 3, 4, nil])
    #expect(queue.isEmpty)
  }

  @Test func itBehavesLikeAnArray() {
    var random = SeededRandom(seed: 7)
    var queue = ByteQueue()
    var model: [UInt8] = []
    for step in 0..<1_000 {
      switch random.below(4) {
      case 0, 1:
        let bytes = (0..<random.below(50)).map { UInt8(truncatingIfNeeded: step + $0) }
        queue.append(bytes.span.bytes)
        model += bytes
      case 2:
        let count = random.below(model.count + 1)
        let taken = queue.consume { bytes in
          #expect(bytes.byteCount == model.count)
          return count
        }
        #expect(taken == count)
        model.removeFirst(count)
      default:
        let count = random.below(model.count + 1)
        #expect(queue.copy(0..<count) == Array(model.prefix(count)))
        queue.removeFirst(count)
        model.removeFirst(count)
      }
      #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
      #expect(queue.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } } == model)
    }
  }

  @Test func anEmptyQueueCanBeRefilledWithAnArray() {
    var queue = ByteQueue()
    queue.append(contentsOf: [1, 2])
    queue.removeFirst(2)
    queue.refill { $0 = [3, 4] }
    queue.write { $0.append(5) }
    #expect(queue.copy(0..<3) == [3, 4, 5])
  }
}
