import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import Certificates
import Glibc
import IAP2
import LinuxIO

extension DeviceSettings {
  /// The maximum size of artwork, which is limited because an accessory receives the whole image at once.
  private static let artworkLimit = 1 << 20

  init(
    _ shared: SharedOptions, at address: Address, timeout: Duration?, on loop: any EventLoop, _ console: Console
  ) throws {
    self.init(authenticator: AccessoryVerifier())
    (reportsMessages, watchesLines) = (true, true)
    if let path = shared.deviceProfile {
      profile = try DeviceProfile.read(file: path)
      if let file = profile.nowPlaying.artwork {
        let image = try InputFile.read(file, option: "nowPlaying.artwork of \(path):")
        if image.count > Self.artworkLimit {
          throw UsageError("nowPlaying.artwork of \(path): \(file) is larger than 1 MiB")
        }
        artwork = image
      }
    }
    order = shared.order ?? profile.order
    epoch = loop.systemEpoch
    keepFile = try shared.makeFileKeeper(console)
    authentication = shared.authentication
    peer.judge = shared.identification == .lenient ? .lenient : .strict
    peer.firstWriteDelay = Milliseconds(shared.firstWriteDelay.inWholeMilliseconds)
    peer.link.lineRate = shared.faults.lineRate
    peer.link.interByteTimeout = address.interByteTimeout
    // The limit is shorter than that of the whole command, so that the command can report the missing answer.
    if let timeout, timeout > .zero {
      let limit = max(1, timeout.inWholeMilliseconds * 3 / 4)
      peer.answerTimeout = Milliseconds(min(peer.answerTimeout.count, limit))
      let share = min(HandshakeTimeouts.usual, .milliseconds(limit))
      (handshakeTimeouts.detection, handshakeTimeouts.link) = (share, share)
      handshakeTimeouts.coversDedicated = true
    }
  }
}

extension Address {
  /// The longest pause allowed between the bytes of a packet on a serial line, where the kernel may delay bytes by 16
  /// ms. On other media, the value is nil, because only serial lines lose bytes.
  var interByteTimeout: Milliseconds? {
    if case .serial = self { 500 } else { nil }
  }
}

extension Duration {
  fileprivate var inWholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}

extension SharedOptions {
  /// Returns the function that stores files from accessories, or refuses them if `--save-files` is not given.
  func makeFileKeeper(_ console: Console) throws -> FileTransfers.Keeper {
    guard let folder = savedFiles else { return { _, _ in "not kept (use --save-files DIR to keep files)" } }
    let files = try SavedFiles(in: folder)
    var isTold = false
    return { _, bytes in
      do throws(UsageError) { return "saved as \(try files.save(bytes))" } catch {
        if !isTold { console.lose(folder, error.message) }
        isTold = true
        return "not saved: \(error.message)"
      }
    }
  }
}

/// The folder given by `--save-files`. easim chooses the file names and never overwrites an existing file.
final class SavedFiles {
  /// The maximum number of files per run, which is limited because the accessory decides how many files to send.
  static let countLimit = 1_000
  static let byteLimit = 1 << 30

  private let folder: String
  private let countLimit: Int
  private let byteLimit: Int
  private var next = 1
  private var count = 0
  private var bytes = 0

  init(
    in folder: String, countLimit: Int = SavedFiles.countLimit, byteLimit: Int = SavedFiles.byteLimit
  ) throws(UsageError) {
    (self.folder, self.countLimit, self.byteLimit) = (folder, countLimit, byteLimit)
    try PatientFile.makeFolder(folder, named: "--save-files \(folder)")
  }

  /// Writes a file completely or not at all, and returns the path.
  func save(_ contents: [UInt8]) throws(UsageError) -> String {
    guard count < countLimit, bytes + contents.count <= byteLimit else {
      throw UsageError("one run saves at most \(Self.countLimit) files and 1 GiB")
    }
    do throws(SystemError) {
      let path = try reserve(".\(Self.ending(contents))")
      do throws(SystemError) { try WholeFile(path).write(contents) } catch {
        unlink(path)
        throw error
      }
      count += 1
      bytes += contents.count
      return path
    } catch { throw UsageError(error.reason) }
  }

  private func reserve(_ ending: String) throws(SystemError) -> String {
    while true {
      let path = "\(folder)/file-\("\(next)".zeroPadded(to: 4))\(ending)"
      next += 1
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
      if descriptor >= 0 {
        close(descriptor)
        return path
      }
      if errno != EEXIST { throw SystemError("write \(path)", code: errno) }
    }
  }

  private static func ending(_ bytes: [UInt8]) -> String {
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "jpg" }
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "png" }
    return "bin"
  }
}
