import AccessoryCore

/// One descriptor that an ``EpollLoop`` watches.
final class EpollWatch: DescriptorWatch {
  /// How the kernel was asked to watch it.
  enum Means {
    /// By epoll, under this token.
    case epoll(token: WatchTable.Token)
    /// epoll refuses the descriptor; it is asked again and again.
    case polling
  }

  let descriptor: Int32
  let means: Means
  // Not checked for overlapping access: a watch belongs to one loop, and calls nobody while these change.
  @exclusivity(unchecked) private(set) var interest: Readiness
  /// Nil after the cancellation, so that an event which is already on its way finds nobody.
  @exclusivity(unchecked) fileprivate(set) var handler: (any DescriptorHandler)?
  private weak var registry: EpollRegistry?

  init(
    descriptor: Int32, interest: Readiness, means: Means, handler: any DescriptorHandler, registry: EpollRegistry
  ) {
    self.descriptor = descriptor
    self.interest = interest
    self.means = means
    self.handler = handler
    self.registry = registry
  }

  func change(to interest: Readiness) {
    guard handler != nil else { return }
    self.interest = interest
    registry?.interestChanged(self)
  }

  func cancel() {
    guard handler != nil else { return }
    handler = nil
    registry?.remove(self)
  }
}

extension EpollWatch {
  /// Lets the handler go when the loop goes: it may hold this watch, and then nobody else would ever free the two.
  func loopIsGone() {
    handler = nil
  }
}

/// The watches of one loop by small numbers, which is what epoll hands back with an event.
///
/// A number is used again, so each carries how often it was: an event that the kernel reported before its watch was
/// cancelled, and that is handled after another watch took the number (or even the descriptor), does not fit and is
/// dropped.
struct WatchTable {
  typealias Token = UInt64

  private struct Slot {
    var generation: UInt32 = 0
    var watch: EpollWatch?
  }

  private var slots: [Slot] = []
  private var free: [Int] = []

  /// Takes a number. The watch follows with ``put(_:at:)``, because it needs to know its number.
  mutating func reserve() -> Token {
    let index = free.popLast() ?? slots.endIndex
    if index == slots.endIndex { slots.append(Slot()) }
    slots[index].generation &+= 1
    return Token(slots[index].generation) << 32 | Token(index)
  }

  mutating func put(_ watch: EpollWatch, at token: Token) {
    slots[Self.index(token)].watch = watch
  }

  mutating func release(_ token: Token) {
    slots[Self.index(token)].watch = nil
    free.append(Self.index(token))
  }

  /// The watch that the token was given to, unless it is over.
  subscript(token: Token) -> EpollWatch? {
    let slot = slots[Self.index(token)]
    return slot.generation == UInt32(token >> 32) ? slot.watch : nil
  }

  /// All watches that are not over.
  var watches: [EpollWatch] { slots.compactMap(\.watch) }

  private static func index(_ token: Token) -> Int { Int(token & 0xFFFF_FFFF) }
}
