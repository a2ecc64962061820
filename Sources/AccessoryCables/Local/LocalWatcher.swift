import AccessoryCore
import Glibc
import LinuxIO

/// Reports when accessories are plugged in or unplugged in a local directory. A watcher never claims cables.
///
/// If the local directory does not exist, the watcher watches the nearest existing directory above it. When a simulator
/// dies without unplugging its accessories, the watcher notices immediately and removes the stale files.
///
/// ```swift
/// let watcher = LocalWatcher(.standard(), on: loop) { change in print(change) }
/// try watcher.start()          // reports the existing accessories before it returns
/// ```
package final class LocalWatcher {
  package let directory: LocalDirectory
  private let loop: any PollingLoop
  private let onEvent: (AccessoryChange) -> Void
  private var watch: DirectoryWatch?
  private var state = State.idle

  private var attached: [String: FoundAccessory] = [:]
  /// The names of cards that disappeared before they could be read.
  private var missed: Set<String> = []
  /// The last state of accessories that have left, used when one reappears too briefly for its card to be read. The key
  /// is the part of the name that all attachments of an accessory share.
  private var departed: [Substring: FoundAccessory] = [:]
  /// How many departed accessories to remember, to limit memory.
  private static let mostDeparted = 1_000
  private var owners: OwnerWatch?

  private enum State {
    case idle
    /// The local directory does not exist, so the watch covers a directory above it.
    case waiting
    case watching
  }

  /// Creates a watcher without starting it. `onEvent` is called on the loop.
  package init(_ directory: LocalDirectory, on loop: any PollingLoop, onEvent: @escaping (AccessoryChange) -> Void) {
    self.directory = directory
    self.loop = loop
    self.onEvent = onEvent
  }

  deinit { stop() }

  /// The accessories that are currently plugged in, in order of arrival.
  package var accessories: [FoundAccessory] { attached.values.inOrderOfArrival }

  /// Starts watching, and reports all existing accessories.
  ///
  /// - Throws: An error if the local directory cannot be trusted, or if nothing can be watched.
  package func start() throws {
    _ = try directory.check()
    // The directory's watch reports the files that a sweep removes.
    owners = OwnerWatch(on: loop) { [unowned self] in directory.sweep() }
    let watch = try DirectoryWatch(on: loop) { [unowned self] event in happened(event) }
    self.watch = watch
    try settle()
  }

  package func stop() {
    watch?.close()
    watch = nil
    owners?.close()
    owners = nil
    state = .idle
  }

  // MARK: The directory

  /// Watches the local directory or, if it does not exist yet, the nearest existing directory above it.
  private func settle() throws {
    while let watch {
      if try directory.check() {
        state = .watching
        // The watch starts before the directory is read, so an accessory that arrives in between is seen twice. The
        // second sighting of an accessory is ignored.
        guard try Self.look(at: directory.path, for: .entries, watch) else { continue }
        directory.sweep()
        for entry in directory.entries() { read(entry) }
        return
      }
      state = .waiting
      let above = try watchAbove(watch)
      // The local directory may have been created just before the watch started.
      if try !directory.check(), access(above, F_OK) == 0 { return }
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

  private func settleLater() {
    do { try settle() } catch {
      onEvent(.warning("\(error)"))
      // If a new directory replaces this one, the new directory will be checked.
      state = .waiting
      do { if let watch { _ = try watchAbove(watch) } } catch { onEvent(.warning("\(error)")) }
    }
  }

  private func happened(_ event: DirectoryWatch.Event) {
    switch (state, event) {
    case (.idle, _): break
    case (.waiting, _): settleLater()
    case (.watching, .appeared(let file)):
      if let entry = LocalEntry(card: file, in: directory) { read(entry, isNew: true) }
    case (.watching, .vanished(let file)):
      if let entry = LocalEntry(card: file, in: directory) { vanished(entry) }
    case (.watching, .lost):
      for accessory in accessories { remove(accessory, "the local directory was removed") }
      settleLater()
    case (.watching, .overflow): lookAgain()
    }
  }

  /// Handles an overflow of the kernel's queue. Accessories that have appeared and disappeared since the overflow are
  /// not reported.
  private func lookAgain() {
    onEvent(.warning("the local directory \(directory) changed faster than easim could follow"))
    let names = Set(directory.entries().map(\.name))
    for accessory in accessories where !names.contains(accessory.key) { remove(accessory, Self.unplugged) }
    missed.removeAll()
    for entry in directory.entries() { read(entry) }
  }

  // MARK: Cards

  private func read(_ entry: LocalEntry, isNew: Bool = false) {
    do {
      guard let bytes = try entry.readCard() else {
        if isNew, attached[entry.name] == nil { missed.insert(entry.name) }
        return
      }
      note(FoundAccessory(try LocalCard(reading: bytes, of: entry), of: entry), entry)
    } catch {
      onEvent(.warning("ignoring a card: \(error)"))
    }
  }

  private func note(_ accessory: FoundAccessory, _ entry: LocalEntry) {
    let before = attached.updateValue(accessory, forKey: entry.name)
    if let before {
      if before != accessory { onEvent(.changed(accessory, from: before)) }
    } else {
      if let process = accessory.card?.process { owners?.add(process) }
      onEvent(.arrived(accessory))
    }
  }

  private static let unplugged = "removed from the local directory"

  private func vanished(_ entry: LocalEntry) {
    if let accessory = attached[entry.name] {
      let ended = accessory.card.flatMap { $0.process.isRunning ? nil : $0.process.pid }
      remove(accessory, ended.map { "its process \($0) has ended" } ?? Self.unplugged)
    } else if missed.remove(entry.name) != nil {
      onEvent(.passed(departed[LocalEntry.accessoryName(of: entry.name)]))
    }
  }

  private func remove(_ accessory: FoundAccessory, _ reason: String) {
    attached[accessory.key] = nil
    if departed.count >= Self.mostDeparted { departed.removeAll() }
    departed[LocalEntry.accessoryName(of: accessory.key)] = accessory
    if let process = accessory.card?.process { owners?.remove(process) }
    onEvent(.left(accessory, reason: reason))
  }
}

extension Collection<FoundAccessory> {
  fileprivate var inOrderOfArrival: [FoundAccessory] {
    sorted { ($0.card?.attachedAt ?? 0, $0.key) < ($1.card?.attachedAt ?? 0, $1.key) }
  }
}

extension LocalDirectory {
  /// Removes stale files and then lists the accessories that are plugged in, in order of arrival. Also lists what is
  /// wrong with cards that cannot be used.
  ///
  /// - Throws: An error if the local directory cannot be trusted. A directory that does not exist counts as empty.
  public func look() throws(LocalError) -> (accessories: [FoundAccessory], problems: [String]) {
    guard try check() else { return ([], []) }
    sweep()
    var found: [FoundAccessory] = []
    var problems: [String] = []
    for entry in entries() {
      do {
        guard let bytes = try entry.readCard() else { continue }
        found.append(FoundAccessory(try LocalCard(reading: bytes, of: entry), of: entry))
      } catch {
        problems.append("\(error)")
      }
    }
    return (found.inOrderOfArrival, problems)
  }
}

/// Notices when a process that owns a card in a local directory exits. The kernel normally reports the exit
/// immediately. On old kernels, and for processes that this process cannot see, the watch checks once a second.
final class OwnerWatch {
  /// How often to check processes whose exit the kernel cannot report.
  static let period = Duration.seconds(1)

  private struct Owner {
    var cards = 0
    var watch: ProcessWatch?
  }

  private let loop: any PollingLoop
  private let ended: () -> Void
  private var owners: [ProcessIdentity: Owner] = [:]
  private var timer: LoopTimer?

  init(on loop: any PollingLoop, ended: @escaping () -> Void) {
    self.loop = loop
    self.ended = ended
    timer = loop.makeTimer { [unowned self] in ask() }
  }

  func add(_ process: ProcessIdentity) {
    if owners[process] == nil {
      let watch = ProcessWatch(process, on: loop) { [unowned self] in ended() }
      owners[process] = Owner(watch: watch)
      if watch == nil { timer?.arm(at: loop.now) }
    }
    owners[process]?.cards += 1
  }

  func remove(_ process: ProcessIdentity) {
    guard let owner = owners[process] else { return }
    owners[process]?.cards -= 1
    guard owner.cards == 1 else { return }
    owner.watch?.cancel()
    owners[process] = nil
  }

  func close() {
    timer?.cancel()
    for owner in owners.values { owner.watch?.cancel() }
    owners.removeAll()
  }

  private func ask() {
    guard owners.values.contains(where: { $0.watch == nil }) else { return }
    timer?.arm(at: loop.now + Self.period)
    ended()
  }
}

/// Reports, in order, the files that appear in a directory or disappear from it. A watch covers one directory at a
/// time.
///
/// The kernel queues events until they are read. If the queue overflows (at 16,384 events on most systems), the watch
/// reports ``Event/overflow``.
package final class DirectoryWatch {
  package enum Event: Equatable, Sendable {
    /// A file was created, or a complete file was moved in.
    case appeared(String)
    case vanished(String)
    /// The watched directory was removed or replaced.
    case lost
    /// The kernel's queue overflowed, so the directory must be read again.
    case overflow
  }

  package enum Interest: Sendable {
    /// Files that are moved into the directory or removed from it.
    case entries
    /// Files of any kind that are created.
    case creations
  }

  private let onEvent: (Event) -> Void
  private let loop: any PollingLoop
  private let source: WatchedDescriptor
  /// The inotify watch descriptor for the directory, or -1 if no directory is being watched.
  private var directory: Int32 = -1

  package init(on loop: any PollingLoop, onEvent: @escaping (Event) -> Void) throws(SystemError) {
    let descriptor = try OwnedDescriptor(inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC)), "watch files")
    self.loop = loop
    self.onEvent = onEvent
    source = WatchedDescriptor(taking: descriptor.release())
    do { try source.watch(for: .readable, on: loop) { [unowned self] _ in readEvents() } } catch {
      throw error as? SystemError ?? SystemError("watch files", code: EINVAL)
    }
  }

  /// Watches this directory in place of any previous directory.
  package func look(at path: String, for interest: Interest) throws(SystemError) {
    lookAway()
    var mask = UInt32(IN_ONLYDIR) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_MOVED_TO)
    switch interest {
    case .entries: mask |= UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM)
    case .creations: mask |= UInt32(IN_CREATE)
    }
    directory = inotify_add_watch(source.number, path, mask)
    if directory < 0 { throw .last("watch the directory \(path)") }
  }

  package func lookAway() {
    if directory >= 0 { inotify_rm_watch(source.number, directory) }
    directory = -1
  }

  package func close() {
    source.close()
    directory = -1
  }

  private func readEvents() {
    while source.number >= 0 {
      // Each event is copied out of the loop's buffer first, because the handler may borrow the buffer.
      let events = loop.withReadBuffer { buffer -> [(directory: Int32, event: Event)]? in
        let count = read(source.number, buffer.baseAddress, buffer.count)
        return count > 0 ? Self.parse(UnsafeRawBufferPointer(rebasing: buffer[..<count])) : nil
      }
      guard let events else { return }
      for (source, event) in events where event == .overflow || source == directory {
        // The kernel has already removed the inotify watch.
        if event == .lost { lookAway() }
        onEvent(event)
      }
    }
  }

  private static func parse(_ bytes: UnsafeRawBufferPointer) -> [(directory: Int32, event: Event)] {
    let head = MemoryLayout<inotify_event>.size
    var events: [(directory: Int32, event: Event)] = []
    var offset = 0
    while offset + head <= bytes.count {
      let entry = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
      let name = bytes[(offset + head)..<min(bytes.count, offset + head + Int(entry.len))].prefix { $0 != 0 }
      if let event = event(entry.mask, String(decoding: name, as: UTF8.self)) { events.append((entry.wd, event)) }
      offset += head + Int(entry.len)
    }
    return events
  }

  private static func event(_ mask: UInt32, _ name: String) -> Event? {
    func has(_ flags: Int32...) -> Bool { flags.contains { mask & UInt32(bitPattern: $0) != 0 } }
    if has(IN_Q_OVERFLOW) { return .overflow }
    if has(IN_DELETE_SELF, IN_MOVE_SELF, IN_UNMOUNT) { return .lost }
    if has(IN_CREATE, IN_MOVED_TO) { return .appeared(name) }
    if has(IN_DELETE, IN_MOVED_FROM) { return .vanished(name) }
    return nil
  }
}
