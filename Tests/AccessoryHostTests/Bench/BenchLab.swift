import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryTransports
import Certificates
import Glibc
import Testing

/// How long a test waits before it calls a thing hung.
let hangLimit = Duration.seconds(30)

/// A bench of its own for one test, with a loop that both roles run on.
final class BenchLab {
  let root: String
  let directory: BenchDirectory
  let loop: EpollLoop
  var changes: [String] = []

  /// `depth` directories above the bench are not there yet.
  init(depth: Int = 0) throws {
    var template = Array("/tmp/easim-host-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    directory = BenchDirectory(root + String(repeating: "/d", count: depth) + "/bench")
    loop = try EpollLoop(seed: 7)
  }

  deinit {
    for name in names(directory.path) { unlink("\(directory.path)/\(name)") }
    var path = directory.path[...]
    while path.count >= root.count {
      rmdir(String(path))
      path = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
    }
  }

  func names(_ path: String) -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// The files on the bench.
  var files: [String] { names(directory.path) }

  /// A watcher whose changes are kept as words: "arrived S1 [p]".
  func watcher() -> BenchWatcher {
    BenchWatcher(directory, on: loop) { [unowned self] change in
      switch change {
      case .arrived(let it): changes.append("arrived \(it.card.serial) \(it.card.protocols)")
      case .changed(let it, let before):
        changes.append("changed \(it.card.serial) \(before.card.protocols) \(it.card.protocols)")
      case .left(let it, let reason): changes.append("left \(it.card.serial): \(reason)")
      case .passed(_, let it): changes.append("passed \(it?.card.serial ?? "?")")
      case .warning(let text): changes.append("warning \(text)")
      }
    }
  }

  /// A simulated accessory on the bench, with stubbed authentication.
  func accessory(
    _ profile: Profile, on bench: Bench, report: @escaping (TimelineEvent) -> Void = { _ in }
  ) -> SimulatedAccessory {
    SimulatedAccessory(
      profile, at: bench.makePort(on: loop), authenticator: StubAuthenticator(seed: 1, generation: .current), on: loop,
      report: report)
  }

  func profile(_ name: String = "echo", serial: String, quirks: String...) throws -> Profile {
    var profile = try ProfileLibrary().profile(name)
    profile.identity.serialNumber = serial
    for quirk in quirks { profile.apply(try Quirk(quirk)) }
    return profile
  }

  /// Runs until a condition holds; a test that waits in vain says what it has seen.
  func run(until condition: () -> Bool, _ place: SourceLocation = #_sourceLocation) {
    let came = loop.run(until: condition, limit: hangLimit)
    #expect(came, "\(changes)", sourceLocation: place)
  }

  /// Lets what has already happened be told.
  func settle() { loop.run(limit: .milliseconds(2)) }
}
