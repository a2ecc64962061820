import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import Glibc
import LinuxIO

/// What a host command sends to accessories, and which data from accessories the command saves: `--device-profile` and
/// `--save-files`.
struct HostSettings: Sendable {
  var deviceProfile: String?
  var savedFiles: String?

  func apply(to settings: inout DeviceSettings, on loop: any EventLoop, _ console: Console) throws {
    if let path = deviceProfile {
      settings.profile = try DeviceProfile.read(file: path)
      if let artwork = settings.profile.nowPlaying.artwork {
        settings.artwork = try Self.artwork(artwork, of: path)
      }
    }
    settings.order = settings.profile.order
    settings.epoch = loop.systemEpoch
    settings.keepFile = try keeper(console)
  }

  private static func artwork(_ file: String, of profile: String) throws -> [UInt8] {
    let bytes = try InputFile.read(file, option: "nowPlaying.artwork of \(profile):")
    guard bytes.count <= artworkLimit else {
      throw UsageError("nowPlaying.artwork of \(profile): \(file) is larger than 1 MiB")
    }
    return bytes
  }

  /// The maximum size of artwork, which is limited because an accessory receives the whole image at once.
  private static let artworkLimit = 1 << 20

  /// Returns the function that stores received files, or nil if the options do not request it.
  func keeper(_ console: Console) throws -> FileTransfers.Keeper {
    guard let folder = savedFiles else { return { _, _ in "not kept (use --save-files DIR to keep files)" } }
    let files = try SavedFiles(in: folder)
    var isTold = false
    return { _, bytes in
      do throws(SavingError) { return "saved as \(try files.save(bytes))" } catch {
        if !isTold { console.lose(folder, error.reason) }
        isTold = true
        return "not saved: \(error.reason)"
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
  func save(_ contents: [UInt8]) throws(SavingError) -> String {
    guard count < countLimit, bytes + contents.count <= byteLimit else { throw .limit }
    do throws(SystemError) {
      let path = try reserve(".\(Self.ending(contents))")
      do throws(SystemError) { try WholeFile(path).write(contents) } catch {
        unlink(path)
        throw error
      }
      count += 1
      bytes += contents.count
      return path
    } catch { throw .system(error) }
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

enum SavingError: Error, Equatable {
  case limit
  case system(SystemError)

  var reason: String {
    switch self {
    case .limit: "one run saves at most \(SavedFiles.countLimit) files and 1 GiB"
    case .system(let error): error.reason
    }
  }
}
