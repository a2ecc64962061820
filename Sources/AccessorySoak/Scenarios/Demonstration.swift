import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds

/// The demonstration for `easim demo`. An accessory connects twice, and an app handles both connections correctly.
///
/// The app waits for its protocol, opens a session, sends a string and 10 KB of data (as Apple's EADemo does), and
/// verifies both echoes. The accessory is then unplugged. Users see the demonstration in real time, but tests use
/// virtual time.
public final class Demonstration: AppHandler {
  /// The world in which the demonstration runs.
  public let world: World
  /// Whether everything went as expected, or nil while the demonstration is running.
  public private(set) var passed: Bool?

  private let accessory: SimulatedAccessory
  private let protocolName: String
  private let report: (TimelineEvent) -> Void
  private var app: AppView?
  private var conversation: Conversation?
  private var appearances: [Bool] = []

  /// Creates a demonstration of `profile`. The accessory flickers as the profile specifies or, if the profile has no
  /// flicker, with the default flicker.
  public init(_ profile: Profile, settings: World.Settings, on loop: any EventLoop) throws(OptionError) {
    guard let first = profile.protocols.first else {
      throw OptionError("profile '\(profile.name)' offers no protocol, so there is no session to show")
    }
    protocolName = first.name
    report = settings.report
    var profile = profile
    if profile.quirks.flicker == nil { profile.apply(.flicker(Flicker())) }
    world = World(settings, on: loop)
    accessory = world.add(profile)
    app = world.device.makeApp(self)
  }

  /// Plugs in the accessory, which starts everything else.
  public func start() {
    do { try accessory.plugIn() } catch { finish(false, "the accessory cannot be plugged in: \(error)") }
  }

  /// Opens a session when the accessory offers the app's protocol.
  public func accessoryDidConnect(_ shown: PublishedAccessory, _ app: AppView) {
    appearances.append(!shown.protocols.isEmpty)
    guard shown.protocols.contains(protocolName) else {
      log(.note("no protocols yet: the app waits, as Apple's EADemo README advises"))
      return
    }
    do {
      let session = try app.openSession(with: shown, protocolName: protocolName)
      send("a string", Array("Hello, \(shown.name)!".utf8), on: session) { [unowned self] in
        send("EADemo's 10K", CountingPattern.bytes(10_000), on: session) { [unowned self] in
          session.close()
          // The delay gives the accessory time to notice the closed session, and makes the order of events clear to
          // readers.
          world.loop.schedule(after: .milliseconds(100)) { [unowned self] in accessory.unplug() }
        }
      }
    } catch {
      finish(false, error.description)
    }
  }

  private func send(_ what: String, _ payload: [UInt8], on session: Session, then next: @escaping () -> Void) {
    log(.note("the app sends \(what): \(payload.count) bytes"))
    let conversation = Conversation([.init(echo: payload)], on: world.loop) { [unowned self] event in
      let text = self.conversation?.sentence(event) ?? ""
      log(.result(passed: event == .done, "\(what): \(text)"))
      // The next step is deferred to a later turn of the loop, because the session is still in use.
      if event == .done { world.loop.schedule(after: .zero, next) } else { finish(false, text) }
    }
    self.conversation = conversation
    conversation.start(on: session)
  }

  /// Ends the demonstration after the last disconnect.
  public func accessoryDidDisconnect(_ shown: PublishedAccessory, _ app: AppView) {
    guard !shown.protocols.isEmpty else { return }
    let sawFlicker = appearances.first == false && appearances.last == true
    finish(sawFlicker, sawFlicker ? "flicker seen, session opened, both echoes verified" : "the flicker was not seen")
  }

  private func finish(_ passed: Bool, _ text: String) {
    guard self.passed == nil else { return }
    self.passed = passed
    log(.result(passed: passed, text))
    app?.close()
    app = nil
  }

  private func log(_ kind: TimelineEvent.Kind) {
    report(TimelineEvent(time: world.loop.now, side: .app, kind: kind))
  }
}
