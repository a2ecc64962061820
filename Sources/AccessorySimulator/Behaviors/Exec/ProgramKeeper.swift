import Synchronization

/// Holds the programs that an accessory's sessions started, until each has ended: a session may be long over while its
/// program still takes its leave.
final class ProgramKeeper {
  private var programs: [ObjectIdentifier: AnyObject] = [:]

  /// How many have not ended.
  var count: Int { programs.count }

  func keep(_ program: AnyObject) { programs[ObjectIdentifier(program)] = program }

  func forget(_ program: AnyObject) { programs[ObjectIdentifier(program)] = nil }

  /// Ends all remaining programs at once.
  func endAll() { programs = [:] }
}

/// Limits how many programs run at a time, because a host can open any number of sessions.
public final class ProgramPlaces: Sendable {
  /// Those of all accessories of this process.
  public static let ofThisProcess = ProgramPlaces(64)

  /// How many may run at a time.
  public let count: Int
  private let free: Atomic<Int>

  /// A number of places, all free.
  public init(_ count: Int) {
    self.count = count
    free = Atomic(count)
  }

  /// One place, until it is dropped.
  final class Place {
    private let places: ProgramPlaces

    fileprivate init(_ places: ProgramPlaces) { self.places = places }

    deinit { places.free.add(1, ordering: .relaxed) }
  }

  /// Takes a place; nil when there is none.
  func take() -> Place? {
    var seen = free.load(ordering: .relaxed)
    while seen > 0 {
      let (exchanged, found) = free.compareExchange(expected: seen, desired: seen - 1, ordering: .relaxed)
      if exchanged { return Place(self) }
      seen = found
    }
    return nil
  }
}
