import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds
import BenchmarkFloors
import IAP2
import LinuxIO

extension Figure {
  static var flickers: [Figure] { [publicationFlicker, wireFlicker, authenticatedFlicker] }

  /// Measures only the publication machine: connect without protocols, disconnect, connect with all protocols,
  /// disconnect.
  private static var publicationFlicker: Figure {
    Figure(
      name: "flicker.machine", summary: "flickers made by the publication machine alone", unit: "flickers/s",
      floor: "none: the number itself is asked for", target: .valueAtLeast(100_000)
    ) { plan in
      try rate(plan) { count in
        var random = SeededRandom(seed: 7)
        var ids = ConnectionIDs(using: &random)
        var now = Instant.origin
        var shown = 0
        let identification = JudgedIdentification(.echo)
        for _ in 0..<count {
          var machine = PublicationMachine(flicker: Flicker(.device))
          if machine.identified(identification, now: now, ids: &ids) != nil { shown += 1 }
          shown += machine.ready(now: now, ids: &ids, random: &random).count
          while let deadline = machine.deadline {
            now = deadline
            shown += machine.handleTimeout(now: now, ids: &ids, random: &random).count
          }
          if machine.gone() != nil { shown += 1 }
        }
        return shown
      }
    }
  }

  /// Both ends in virtual time, with the stub authenticator.
  private static var wireFlicker: Figure {
    Figure(
      name: "flicker.wire.stub",
      summary: "whole wire flickers of lawk-view in virtual time, stub authenticator: two attachments, each identified "
        + "and authenticated",
      unit: "flickers/s", floor: "none: the number itself is asked for", target: .valueAtLeast(20_000)
    ) { plan in
      try rate(plan) { try playFlickers($0, .stub) }
    }
  }

  /// Both ends in virtual time, with libcrypto at both ends.
  private static var authenticatedFlicker: Figure {
    Figure(
      name: "flicker.wire.real",
      summary: "whole wire flickers of lawk-view in virtual time, P-256 on both sides", unit: "flickers/s",
      floor: "two signatures and two verifications by libcrypto, called from C", target: .valueAtLeast(3_000)
    ) { plan in
      let count = try Stopwatch.repetitions(for: plan.seconds) { _ = try playFlickers($0, .real) }
      return Measurement(
        try plan.pairs(
          { try perSecond(count) { try playFlickers(count, .real) / 4 } },
          { try perSecond(count) { floor_signatures(2 * count) / 2 } }))
    }
  }

  private static func rate(_ plan: MeasuringPlan, _ play: (Int) throws -> Int) throws -> Measurement {
    let count = try Stopwatch.repetitions(for: plan.seconds) { _ = try play($0) }
    // A flicker is two connections and two disconnections.
    return Measurement(try (0..<plan.pairs).map { _ in try perSecond(count) { try play(count) / 4 } })
  }

  private static func perSecond(_ count: Int, _ work: () throws -> Int) throws -> Double {
    var done = 0
    let seconds = try Stopwatch.busyTime { done = try work() }
    guard done == count else { throw MeasuringError.failed("\(done) of \(count) flickers were seen") }
    return Double(count) / seconds
  }

  /// Plays the given number of flickers. Returns how many notifications the app received.
  static func playFlickers(_ count: Int, _ authentication: World.Settings.Authentication) throws -> Int {
    // A world keeps every event, so a new world is created from time to time; otherwise the figure would mostly measure
    // memory.
    let perWorld = 100
    var profile = try ProfileLibrary().profile("lawk-view")
    profile.apply(.flicker(Flicker()))
    var told = 0
    for start in stride(from: 0, to: count, by: perWorld) {
      let loop = VirtualLoop(seed: 7)
      var settings = World.Settings()
      settings.authentication = authentication
      let world = World(settings, on: loop)
      let app = Onlooker()
      let view = world.device.makeApp(app)
      let glasses = world.add(profile)
      for _ in start..<min(start + perWorld, count) {
        try glasses.plugIn()
        try loop.runUntilQuiet()
        glasses.unplug()
        try loop.runUntilQuiet()
      }
      view.close()
      told += app.told
    }
    return told
  }
}

/// An app that only counts its notifications.
private final class Onlooker: AppHandler {
  private(set) var told = 0

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) { told += 1 }
  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) { told += 1 }
}
