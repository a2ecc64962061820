import AccessoryFormats
import AccessoryProfiles
import AccessorySimulator
import ExternalAccessory
import ExternalAccessorySimulation
import TestSupport
import Testing

/// Repeatedly plugs in and unplugs accessories, while eight of the app's threads open sessions, write to them and close
/// them at random. The soak runs in real time and uses only the public API. The soak runs in a separate process, so
/// that all descriptors and memory of that process belong to the soak.
///
/// `EASIM_SOAK_PLUGS` is the number of times to plug in an accessory. The default is small, and `.ci/nightly` uses a
/// larger number. easim must pass with 10,000.
@Suite struct AppSoakTests {
  @Test func everyByteIsAccountedForAndNothingIsLeftOfThePlugs() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let findings = try await Soak.play()
      FileHandle.standardError.write(Data(findings.joined(separator: "\n").utf8))
      exit(EXIT_SUCCESS)
    }
    // The findings or, if there are none, a line that summarizes the run.
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      // Threads that take sessions from each other cause these messages.
      .split(separator: "\n").filter { !$0.hasPrefix("ExternalAccessory: ") }.joined(separator: "\n")
    print(said)
    #expect(said.hasPrefix("soak:") && !said.contains("\n"), "\(said)")
  }
}

enum Soak {
  /// Returns the findings, one sentence each, followed by a summary that begins with `soak:`.
  static func play() async throws -> [String] {
    let plugs = ProcessInfo.processInfo.environment["EASIM_SOAK_PLUGS"].flatMap(Int.init) ?? 8
    let roundSize = max(8, plugs / 20)
    var (done, written, echoed) = (0, 0, 0)
    // The first worlds open descriptors that the process keeps permanently.
    var findings = try await SoakRound(plugs: 4).play()
    let descriptors = SoakRound.descriptors()
    while done < plugs, findings.isEmpty {
      let round = SoakRound(plugs: min(roundSize, plugs - done))
      findings += try await round.play()
      done += round.plugs
      written += round.ledger.balance.written
      echoed += round.ledger.balance.echoed
    }
    // Most bytes must come back; otherwise, the soak would barely exercise data transfer.
    if echoed * 2 < written { findings.append("of \(written) bytes only \(echoed) came back") }
    // When the descriptors were counted, the loop of one of the first worlds may still have been shutting down.
    await SoakRound.until { SoakRound.descriptors(beside: descriptors).isEmpty }
    let left = SoakRound.descriptors(beside: descriptors)
    if !left.isEmpty { findings.append("descriptors that are left: \(left)") }
    return findings + ["soak: \(done) plugs, \(echoed) of \(written) bytes came back"]
  }
}

/// A world in a soak test, along with the threads of the app in this world.
final class SoakRound: @unchecked Sendable {
  let plugs: Int
  let ledger = SoakLedger()
  private let watch = SoakWatch()
  static let protocols = ["com.example.control", "com.example.stream", "com.example.mirror"]

  init(plugs: Int) { self.plugs = plugs }

  static func until(_ condition: () -> Bool) async {
    let limit = Date(timeIntervalSinceNow: 30)
    while !condition(), Date() < limit {
      await withCheckedContinuation { turn in
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.0005) { turn.resume() }
      }
    }
  }

  /// Returns the open descriptors, except those of timers, which the Dispatch library creates when it first needs them.
  /// These descriptors reveal run loops and worlds that were not released.
  static func descriptors() -> [String] {
    OpenDescriptors.targets.values.filter { !$0.hasPrefix("/proc/") && $0 != "anon_inode:[timerfd]" }.sorted()
  }

  /// Returns the descriptors that are open now but are not in `others`. If a descriptor occurs n more times than in
  /// `others`, it is listed n times.
  static func descriptors(beside others: [String]) -> [String] {
    var rest = others
    return descriptors().filter { descriptor in
      guard let place = rest.firstIndex(of: descriptor) else { return true }
      rest.remove(at: place)
      return false
    }
  }

  func play() async throws -> [String] {
    var settings = SimulatedWorld.Settings()
    settings.clock = .real
    var findings = try await withSimulatedWorld(settings) { [self] world in
      var findings: [String] = []
      let recorder = EventRecorder.registered()
      let accessories = try (0..<4).map { number in
        var profile = try ProfileLibrary().profile("multi")
        profile.identity.serialNumber = "SOAK-\(number)"
        let made = world.add(profile)
        made.behave(EchoBehavior())
        made.plugIn()
        return made
      }
      let threads = (0..<8).map { SoakThread($0, ledger, watch) }
      var random = SeededRandom(seed: 99)
      var openAtThePull = 0
      for number in 0..<plugs {
        let accessory = accessories[random.below(accessories.count)]
        let serial = accessory.profile.identity.serialNumber
        // Waits for up to three more sessions to complete and for a session with the accessory to open. Then pulls the
        // accessory's cable.
        let through = ledger.balance.undisturbed + random.below(4)
        await Self.until { ledger.balance.undisturbed >= through }
        var id: Int?
        await Self.until {
          id = manager.connectedAccessories.first { $0.serialNumber == serial }?.connectionID
          return id.map { ledger.openCount($0) > 0 } ?? false
        }
        guard let id else {
          ledger.find("plug \(number) was never seen")
          break
        }
        // The session may just have been closed. A check below ensures that in most cases a session is open when the
        // cable is pulled.
        if ledger.openCount(id) > 0 { openAtThePull += 1 }
        ledger.cableGoes(id)
        if random.below(2) == 0 { accessory.unplug() } else { accessory.pull() }
        await Self.until { !manager.connectedAccessories.contains { $0.connectionID == id } }
        accessory.plugIn()
      }
      for thread in threads { thread.stop() }
      for accessory in accessories where accessory.isPluggedIn { accessory.unplug() }
      let count = { name in recorder.heard.count { $0.name == name } }
      await world.run(limit: .seconds(30)) {
        count("connect") == count("disconnect") && world.openSessions.isEmpty
      }
      // Two kinds of misuse are expected, because some clients release everything without closing it, and some threads
      // take sessions from each other.
      let misuses = world.misuses
      if !misuses.contains(where: { $0.hasSuffix("Close both streams first") }) {
        findings.append("nothing was recorded of sessions that were never closed")
      }
      findings += world.openSessions
      findings += misuses.filter {
        !$0.hasSuffix("Close both streams first") && !$0.hasSuffix("more, which were not kept")
          && !$0.contains("a second session closes the first")
      }
      let (connects, disconnects) = (count("connect"), count("disconnect"))
      if connects != disconnects || connects < plugs {
        findings.append("\(connects) connects and \(disconnects) disconnects of \(plugs) plugs")
      }
      if openAtThePull < plugs * 3 / 4 {
        findings.append("only \(openAtThePull) of \(plugs) cables went with a session open")
      }
      recorder.stop()
      return findings
    }
    await Self.until { watch.left.isEmpty }
    if !watch.left.isEmpty { findings.append("of \(watch.count) objects there are left: \(watch.left)") }
    return findings + ledger.findings
  }
}
