import AccessoryCore
import Glibc
import LinuxIO

/// A host's claim on a cable in the local directory: a locked file that contains the host's process ID.
///
/// The kernel releases the lock when the host process ends, for whatever reason.
public final class LocalClaim {
  /// The result of a request for a cable.
  public enum Outcome {
    /// This host may use the cable until the host releases the claim.
    case granted(LocalClaim)
    /// Another host is using the cable. The value is the host's process ID, if known.
    case inUse(pid: Int32?)
    case gone
  }

  private var descriptor: Int32

  private init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit { release() }

  /// Requests the cable.
  public static func make(for entry: LocalEntry) throws(SystemError) -> Outcome {
    let number = open(entry.lockPath, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    if number < 0, errno == ENOENT { return .gone }
    let file = try OwnedDescriptor(number, "open \(entry.lockPath)")
    guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw .last("lock \(entry.lockPath)") }
      let holder = SmallFile.read(entry.lockPath).map { String(decoding: $0.dropLast(), as: UTF8.self) }
      return .inUse(pid: holder.flatMap { Int32($0) })
    }
    let text = Array("\(getpid())\n".utf8)
    ftruncate(file.number, 0)
    // If the write fails, other hosts' messages merely lack the process ID.
    _ = text.withUnsafeBytes { pwrite(file.number, $0.baseAddress, $0.count, 0) }
    return .granted(LocalClaim(file.release()))
  }

  /// Releases the cable, so that other hosts can claim it.
  public func release() {
    guard descriptor >= 0 else { return }
    close(descriptor)
    descriptor = -1
  }
}

extension LocalEntry {
  /// Creates the file that hosts lock. Accessories create the socket first, then the lock file, then the card.
  public func makeLock() throws(SystemError) {
    _ = try OwnedDescriptor(open(lockPath, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600), "make \(lockPath)")
  }
}
