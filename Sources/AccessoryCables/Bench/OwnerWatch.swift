import AccessoryCore
import AccessoryTransports

/// Notices that the processes behind the cards on a bench end: at once by the kernel's word, and by asking once a
/// second where the kernel does not tell (an old one, or a process that cannot be seen from here).
final class OwnerWatch {
  /// How often to ask where asking is all there is.
  static let period = Duration.seconds(1)

  private struct Owner {
    var cards = 0
    var watch: ProcessWatch?
  }

  private let loop: any PollingLoop
  private let ended: (ProcessIdentity) -> Void
  private var owners: [ProcessIdentity: Owner] = [:]
  private var timer: LoopTimer?

  init(on loop: any PollingLoop, ended: @escaping (ProcessIdentity) -> Void) {
    self.loop = loop
    self.ended = ended
    timer = loop.makeTimer { [unowned self] in ask() }
  }

  /// One more card of this process.
  func add(_ process: ProcessIdentity) {
    if owners[process] == nil {
      let watch = ProcessWatch(process, on: loop) { [unowned self] in ended(process) }
      owners[process] = Owner(watch: watch)
      if watch == nil { timer?.arm(at: loop.now) }
    }
    owners[process]?.cards += 1
  }

  /// One card of this process less.
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
    let unseen = owners.filter { $0.value.watch == nil }.map(\.key)
    guard !unseen.isEmpty else { return }
    timer?.arm(at: loop.now + Self.period)
    for process in unseen { ended(process) }
  }
}
