import AccessoryCore
import AccessoryTransports
import Glibc

/// Tells what is plugged in and out on a bench, from its cards, without taking a cable.
///
/// The bench may not be there yet, and may go and come again: then the nearest directory above it is watched. An owner
/// that dies without detaching is noticed at once, by its process, and what it left is swept.
///
/// ```swift
/// let watcher = BenchWatcher(.standard(), on: loop) { change in print(change) }
/// try watcher.start()          // what is there already is told of before this returns
/// ```
public final class BenchWatcher {
  /// What happened on the bench.
  public enum Change: Equatable, Sendable {
    /// An accessory is plugged in.
    case arrived(BenchAccessory)
    /// Its card says something else now; as it was before.
    case changed(BenchAccessory, from: BenchAccessory)
    /// It is plugged out.
    case left(BenchAccessory, reason: String)
    /// An accessory came and went faster than its card could be read; as it was at another attachment, if it is known.
    case passed(name: String, BenchAccessory?)
    /// Something is not as it should be.
    case warning(String)
  }

  /// The bench that is watched.
  public let directory: BenchDirectory
  private let loop: any PollingLoop
  private let hear: (Change) -> Void
  private var watch: DirectoryWatch?
  private var state = State.idle

  private var attached: [String: BenchAccessory] = [:]
  /// Names whose card was gone when it was to be read.
  private var missed: Set<String> = []
  /// How each accessory last looked, by the letters of its names.
  private var recentCards = RecentCards<BenchAccessory>()
  private var owners: OwnerWatch?

  private enum State {
    case idle
    /// The bench is not there; a directory above it is watched.
    case waiting
    case watching
  }

  /// A watcher that has not begun. `hear` is called on the loop.
  public init(_ directory: BenchDirectory, on loop: any PollingLoop, hear: @escaping (Change) -> Void) {
    self.directory = directory
    self.loop = loop
    self.hear = hear
  }

  deinit { stop() }

  /// What is plugged in now, the longest-attached first.
  public var accessories: [BenchAccessory] {
    attached.values.sorted { ($0.card.attachedAt, $0.entry.name) < ($1.card.attachedAt, $1.entry.name) }
  }

  /// Begins, and tells of everything that is there already.
  ///
  /// - Throws: when the bench cannot be trusted, or nothing can be watched.
  public func start() throws {
    _ = try directory.check()
    owners = OwnerWatch(on: loop) { [unowned self] process in ownerIsGone(process) }
    let watch = try DirectoryWatch(on: loop) { [unowned self] event in happened(event) }
    self.watch = watch
    try settle()
  }

  /// Ends; nothing more is told.
  public func stop() {
    watch?.close()
    watch = nil
    owners?.close()
    owners = nil
    state = .idle
  }

  // MARK: The directory

  /// Watches the bench, or what is above it until it is there.
  private func settle() throws {
    while let watch {
      if try directory.check() {
        state = .watching
        // Watched first and read after: what comes in between is told of twice, and the second time is not news.
        guard try Self.look(at: directory.path, for: .entries, watch) else { continue }
        directory.sweep()
        for entry in directory.entries() { read(entry) }
        return
      }
      state = .waiting
      let above = try watchAbove(watch)
      // It may have come just before the watch began.
      if try !directory.check(), Self.exists(above) { return }
    }
  }

  private func watchAbove(_ watch: DirectoryWatch) throws(SystemError) -> String {
    var path = directory.path[...]
    while let slash = path.lastIndex(of: "/") {
      path = slash == path.startIndex ? "/" : path[..<slash]
      if try Self.look(at: String(path), for: .creations, watch) { return String(path) }
      if path == "/" { break }
    }
    throw SystemError("watch \(directory.path)", code: ENOENT)
  }

  /// Whether the directory was there to be looked at.
  private static func look(
    at path: String, for interest: DirectoryWatch.Interest, _ watch: DirectoryWatch
  ) throws(SystemError) -> Bool {
    do {
      try watch.look(at: path, for: interest)
      return true
    } catch {
      if error.code == ENOENT { return false }
      throw error
    }
  }

  private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  private func settleLater() {
    do { try settle() } catch {
      tell(.warning("\(error)"))
      // Whatever replaces it is looked at again.
      state = .waiting
      if let watch, let problem = failure(of: { _ = try watchAbove(watch) }) { tell(.warning("\(problem)")) }
    }
  }

  private func failure(of work: () throws -> Void) -> (any Error)? {
    do { try work() } catch { return error }
    return nil
  }

  private func happened(_ event: DirectoryWatch.Event) {
    switch (state, event) {
    case (.idle, _): break
    case (.waiting, _): settleLater()
    case (.watching, .appeared(let file)):
      if let entry = BenchEntry(card: file, in: directory) { read(entry, isNew: true) }
    case (.watching, .vanished(let file)):
      if let entry = BenchEntry(card: file, in: directory) { vanished(entry) }
    case (.watching, .lost):
      for accessory in accessories { remove(accessory, "the bench was removed") }
      settleLater()
    case (.watching, .overflow): lookAgain()
    }
  }

  /// The kernel kept less than what happened: whoever came and went meanwhile is not known.
  private func lookAgain() {
    tell(.warning("more happened on the bench \(directory) than could be followed"))
    let names = Set(directory.entries().map(\.name))
    for accessory in accessories where !names.contains(accessory.entry.name) { remove(accessory, Self.unplugged) }
    missed.removeAll()
    for entry in directory.entries() { read(entry) }
  }

  // MARK: Cards

  private func read(_ entry: BenchEntry, isNew: Bool = false) {
    do {
      guard let bytes = try entry.readCard() else {
        if isNew, attached[entry.name] == nil { missed.insert(entry.name) }
        return
      }
      note(BenchAccessory(entry: entry, card: try BenchCard(reading: bytes, of: entry)))
    } catch {
      tell(.warning("a card is left aside: \(error)"))
    }
  }

  private func note(_ accessory: BenchAccessory) {
    let before = attached.updateValue(accessory, forKey: accessory.entry.name)
    recentCards.note(accessory, as: accessory.entry.accessoryName, room: max(1_000, attached.count))
    if before == nil { owners?.add(accessory.card.process) }
    if let before {
      if before != accessory { tell(.changed(accessory, from: before)) }
    } else {
      tell(.arrived(accessory))
    }
  }

  private static let unplugged = "taken from the bench"

  private func vanished(_ entry: BenchEntry) {
    if let accessory = attached[entry.name] {
      let isOrphan = !accessory.card.process.isRunning
      remove(accessory, isOrphan ? "its process \(accessory.card.process.pid) is gone" : Self.unplugged)
    } else if missed.remove(entry.name) != nil {
      tell(.passed(name: entry.name, recentCards[entry.accessoryName]))
    }
  }

  private func remove(_ accessory: BenchAccessory, _ reason: String) {
    attached[accessory.entry.name] = nil
    owners?.remove(accessory.card.process)
    tell(.left(accessory, reason: reason))
  }

  private func ownerIsGone(_ process: ProcessIdentity) {
    // The removal is told of like any other.
    directory.sweep()
  }

  private func tell(_ change: Change) { hear(change) }
}

/// An accessory that is plugged in on a bench, as its card says.
public struct BenchAccessory: Equatable, Sendable {
  /// Where on the bench.
  public let entry: BenchEntry
  /// What it says of itself.
  public let card: BenchCard

  /// An accessory as it was found.
  public init(entry: BenchEntry, card: BenchCard) {
    self.entry = entry
    self.card = card
  }

  /// How it is addressed.
  public var address: Address { entry.directory.address(of: card.serial) }
}

extension BenchDirectory {
  /// What is plugged in now, the longest-attached first, and what is wrong with the cards that cannot be used. What
  /// dead processes left is swept first.
  ///
  /// - Throws: when the bench cannot be trusted. One that is not there is empty.
  public func look() throws(BenchError) -> (accessories: [BenchAccessory], problems: [String]) {
    guard try check() else { return ([], []) }
    sweep()
    var found: [BenchAccessory] = []
    var problems: [String] = []
    for entry in entries() {
      do {
        guard let bytes = try entry.readCard() else { continue }
        found.append(BenchAccessory(entry: entry, card: try BenchCard(reading: bytes, of: entry)))
      } catch {
        problems.append("\(error)")
      }
    }
    return (found.sorted { ($0.card.attachedAt, $0.entry.name) < ($1.card.attachedAt, $1.entry.name) }, problems)
  }
}
