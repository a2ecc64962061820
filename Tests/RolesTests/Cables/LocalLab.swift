import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Certificates
import Glibc
import LinuxIO
import TestSupport
import Testing

let hangLimit = Duration.seconds(30)

/// A separate local directory for one test, and a loop that runs both roles.
final class LocalLab {
  private let folder = TemporaryFolder()
  let directory: LocalDirectory
  let loop: EpollLoop
  var changes: [String] = []

  /// Creates a lab whose directory has `depth` parent directories that do not exist yet.
  init(depth: Int = 0) throws {
    directory = LocalDirectory(folder.path + String(repeating: "/d", count: depth) + "/local")
    loop = try EpollLoop(seed: 7)
  }

  var root: String { folder.path }

  var files: [String] { folder.names(String(directory.path.dropFirst(root.utf8.count + 1))) }

  /// Returns a watcher whose changes are recorded as text, such as "arrived S1 [p]".
  func watcher() -> LocalWatcher {
    LocalWatcher(directory, on: loop) { [unowned self] change in
      switch change {
      case .arrived(let it): changes.append("arrived \(it.identity) \(it.protocols ?? [])")
      case .changed(let it, let before):
        changes.append("changed \(it.identity) \(before.protocols ?? []) \(it.protocols ?? [])")
      case .left(let it, let reason): changes.append("left \(it.identity): \(reason)")
      case .passed(let it): changes.append("passed \(it?.identity ?? "?")")
      case .warning(let text): changes.append("warning \(text)")
      }
    }
  }

  /// Creates ports in the directory. The first of them creates the directory.
  private(set) lazy var ports = PortMaker(.standard, PortContext(on: loop))

  var address: Address { .local(directory: directory.path, serial: nil) }

  func accessory(
    _ profile: Profile, report: @escaping (TimelineEvent) -> Void = { _ in }
  ) throws -> SimulatedAccessory {
    SimulatedAccessory(
      profile, at: try ports.makePort(at: address, for: profile),
      authenticator: StubAuthenticator(seed: 1, generation: .current), on: loop,
      report: report)
  }

  func profile(_ name: String = "echo", serial: String, quirks: String...) throws -> Profile {
    var profile = try ProfileLibrary().profile(name)
    profile.identity.serialNumber = serial
    for quirk in quirks { profile.apply(try Quirk(quirk)) }
    return profile
  }

  /// Runs until a condition holds. If the condition does not hold in time, the test fails and reports all events.
  func run(until condition: () -> Bool, _ place: SourceLocation = #_sourceLocation) {
    let came = loop.run(until: condition, limit: hangLimit)
    #expect(came, "\(changes)", sourceLocation: place)
  }

  func settle() { loop.run(limit: .milliseconds(2)) }
}
