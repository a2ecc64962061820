import AccessoryCore
import Glibc
import LinuxIO

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
