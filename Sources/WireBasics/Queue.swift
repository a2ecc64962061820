/// A first-in, first-out queue: elements are appended at the end and removed from the front.
///
/// The queue is an array that reuses its memory. With steady traffic, a queue that becomes empty from time to time
/// allocates nothing. Removing an element from the front takes constant time. The front element has index 0.
///
/// ```swift
/// var queue = Queue<Int>()
/// queue.append(1)
/// queue.append(2)
/// queue.popFirst()   // 1
/// ```
///
/// A removed element is released only when its slot is reused.
public struct Queue<Element> {
  @usableFromInline var elements: [Element] = []
  /// The index of the front in `elements`. Invariant: the index is 0 when the queue is empty.
  @usableFromInline var head = 0

  /// Creates an empty queue.
  @inlinable
  public init() {}

  /// The number of elements.
  @inlinable public var count: Int { elements.count - head }

  /// Whether the queue is empty.
  @inlinable public var isEmpty: Bool { elements.isEmpty }

  /// The front element, or nil if the queue is empty.
  @inlinable public var first: Element? { isEmpty ? nil : elements[head] }

  /// The newest element, or nil if the queue is empty.
  @inlinable public var last: Element? { elements.last }

  /// The element at `index`, counted from the front.
  @inlinable
  public subscript(index: Int) -> Element {
    get { elements[head + index] }
    _modify { yield &elements[head + index] }
  }

  /// Adds an element at the end.
  @inlinable
  public mutating func append(_ element: consuming Element) {
    reclaim()
    elements.append(element)
  }

  /// Removes and returns the front element, or returns nil if the queue is empty.
  @inlinable
  public mutating func popFirst() -> Element? {
    if isEmpty { return nil }
    // In a queue that is drained after every event, this is the usual case: the element is moved out, and nothing is
    // copied.
    if elements.count == 1 { return elements.removeLast() }
    let front = elements[head]
    head += 1
    if head == elements.count { removeAll() }
    return front
  }

  /// Removes `count` elements from the front.
  @inlinable
  public mutating func removeFirst(_ count: Int) {
    precondition(count >= 0 && count <= self.count, "a queue cannot drop more than it holds")
    head += count
    if head == elements.count { removeAll() }
  }

  /// Removes all elements but keeps the allocated memory.
  @inlinable
  public mutating func removeAll() {
    elements.clear()
    head = 0
  }

  /// Makes room for `count` elements in a queue that has not allocated memory.
  @inlinable
  public mutating func reserveFirst(_ count: Int) {
    if elements.capacity == 0 { elements.reserveCapacity(count) }
  }

  /// Moves the elements to the start of the memory once at least half of it is unused. Each move involves no more
  /// elements than were removed since the last move, so appending stays cheap.
  @inlinable
  mutating func reclaim() {
    if head > 0, head * 2 >= elements.count {
      elements.removeSubrange(..<head)
      head = 0
    }
  }
}

extension Array {
  /// Removes all elements but keeps the allocated memory. `removeAll(keepingCapacity:)` takes much longer for no element
  /// and for one, which are usual in lists that are emptied after every event.
  @inlinable
  package mutating func clear() {
    if count == 1 { removeLast() } else if !isEmpty { removeAll(keepingCapacity: true) }
  }
}

extension Queue: Sendable where Element: Sendable {}
extension Queue: Equatable where Element: Equatable {
  /// Returns true if both queues contain the same elements.
  public static func == (left: Queue, right: Queue) -> Bool {
    left.elements[left.head...] == right.elements[right.head...]
  }
}

/// Bytes that are waiting to be sent or read.
public typealias ByteQueue = Queue<UInt8>

extension Queue where Element == UInt8 {
  /// Adds bytes at the end.
  @inlinable
  public mutating func append(_ bytes: RawSpan) {
    reclaim()
    bytes.withUnsafeBytes { elements.append(contentsOf: $0) }
  }

  /// Adds bytes at the end.
  @inlinable
  public mutating func append(contentsOf bytes: some Collection<UInt8>) {
    reclaim()
    elements.append(contentsOf: bytes)
  }

  /// Returns a copy of the bytes at `range`, counted from the front.
  @inlinable
  public func copy(_ range: Range<Int>) -> [UInt8] {
    withBytes { $0.extracting(range).withUnsafeBytes { [UInt8]($0) } }
  }

  /// Passes all bytes to `body`.
  @inlinable
  public func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result {
    body(elements.span.bytes.extracting(head..<elements.count))
  }

  /// Offers all bytes to `body`, which returns how many it used. Removes the used bytes, and returns how many there
  /// were.
  @inlinable
  @discardableResult
  public mutating func consume(_ body: (RawSpan) -> Int) -> Int {
    let count = withBytes(body)
    removeFirst(count)
    return count
  }

  /// Lets `body` replace the memory of an empty queue with an array of bytes, which becomes the queue's content.
  @inlinable
  public mutating func refill(_ body: (inout [UInt8]) -> Void) {
    precondition(isEmpty, "only an empty queue can be refilled")
    body(&elements)
  }

  /// Appends the bytes that `body` adds to an array.
  @inlinable
  public mutating func write(_ body: (inout [UInt8]) -> Void) {
    reclaim()
    body(&elements)
  }
}
