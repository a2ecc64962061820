import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySimulator

/// An action in a simulated world that affects an accessory, a cable, the device or an app.
///
/// ``kinds(_:for:)`` returns the table of actions. Scenarios, `easim soak`, the control protocol and the keys of
/// `easim run` are all derived from this table. To add an action, add a case, a row in the table, and the code in
/// ``ActionPlayer`` that performs the action.
public enum WorldAction: Equatable, Sendable {
  case accessory(AccessoryAction, of: String)
  /// An accessory's cable is unplugged abruptly, so bytes in transit are lost. If `unnoticed` is set, the device does
  /// not notice the unplug, and bytes that it sends afterwards are also lost.
  case pull(String, unnoticed: Bool = false)
  case faults([CableFault], of: String)
  case resetLink(String)
  /// Whether the device will notice cables that are plugged in after this action.
  case noticeCables(Bool)
  /// The device sends a control message to an accessory, or the action changes what the device's rules send.
  case deviceMessage(MessageRuleEntry, to: String)
  case app(AppAction, of: Role = .tested)

  /// The app on the device that an action affects.
  public enum Role: Equatable, Sendable {
    case tested
    /// Another SDK in the process of the app under test. The system considers the SDK part of that app.
    case sdk
    /// Another app, which does not run until it is launched.
    case other
    case named(String)
  }
}

/// An action that affects an app.
public enum AppAction: Equatable, Sendable {
  /// The app is launched in a new process, which has no state from any earlier process. An app runs from the start of
  /// the scenario unless its first step launches it.
  case launches
  case quits
  /// The app's process ends. The system closes the app's sessions. If `leavesSessions` is set, the system instead
  /// leaves the app's sessions open until the accessory is unplugged.
  case ends(Ending, leavesSessions: Bool)
  case registers
  case unregisters
  case moves(AppState)
  /// The app opens a session with this accessory because the user requested it.
  case opensSession(String)
  case closesSession
  /// The app checks that its list contains exactly these accessories, in the order of publication.
  case looks(sees: [String])

  /// How an app's process can end without the app's consent.
  public enum Ending: String, Equatable, Sendable {
    case kill
    case crash

    package var past: String { self == .kill ? "was killed" : "crashed" }
  }

  /// What happens to the sessions of an app when it is killed or crashes.
  public enum Sessions: String, CaseIterable, Sendable {
    case closed
    case left
  }
}

// MARK: - The table

extension WorldAction {
  /// Returns one row for each action. The row gives the kinds of files that may contain the action, and its method and
  /// key. `names` contains the accessories and apps that actions can name.
  package static func kinds(_ names: ScenarioNames = ScenarioNames(), for tool: ActionKind.Tool? = nil) -> [ActionKind]
  {
    let all: [ActionKind.Tool] = [.scenarios, .plans]
    let row = ActionRows(names)
    return [
      row("accessory.plugIn", "Plug an accessory in.", all, "accessory.plug", key: "p") { .accessory(.plugIn, of: $0) },
      row(
        "accessory.unplug", "Unplug an accessory; bytes in flight are still delivered.", all, "accessory.unplug",
        key: "u"
      ) { .accessory(.unplug(), of: $0) },
      row("cable.pull", "Pull an accessory's cable; bytes in flight are lost.", all, "accessory.pull") {
        .pull($0)
      },
      row("cable.pullUnnoticed", "Pull an accessory's cable without the device noticing.") {
        .pull($0, unnoticed: true)
      },
      row(
        "accessory.flicker",
        "Unplug an accessory and plug it in again with a flicker: the accessory connects without protocols, "
          + "disconnects, then connects with all of its protocols. If the accessory has the `flicker` quirk, that "
          + "quirk defines the flicker.",
        [], "accessory.flicker",
        key: "f"
      ) { .accessory(.flicker, of: $0) },
      row(
        "accessory.restart",
        "Make an accessory restart, as after a crash or a firmware update: it disappears without closing its sessions, "
          + "and comes back two seconds later.",
        [.scenarios], "accessory.restart", key: "r"
      ) { .accessory(.restart, of: $0) },
      row(
        "device.resetLink",
        "Make the device reset the link: the accessory disconnects and connects again without being unplugged.", all,
        "accessory.resetLink"
      ) { .resetLink($0) },
      row("device.ignoreCables", "Make the device ignore cables that are plugged in.", keys: []) { _, _ in
        .noticeCables(false)
      },
      row("device.heedCables", "Make the device notice cables again.", keys: []) { _, _ in .noticeCables(true) },
      row(
        "accessory.closeSessions", "Make an accessory close its sessions and stay connected.", all,
        "accessory.closeSessions"
      ) { .accessory(.closeSessions, of: $0) },
      row(
        "accessory.forgetSessions",
        "Make an accessory forget its sessions without closing them: the sessions stay open in the app, but the "
          + "accessory no longer answers.",
        [.scenarios], "accessory.forgetSessions"
      ) { .accessory(.forgetSessions, of: $0) },
      row("accessory.quirk", "Give an accessory a quirk.", [], keys: [.of, .quirk]) {
        .accessory(.quirk($1.quirk), of: $0)
      },
      row("cable.faults", "Replace the faults of an accessory's cables.", [], keys: [.of, .faults]) {
        .faults($1.faults, of: $0)
      },
    ] + apps("app", .tested, row, hasName: tool != .scenarios)
      + apps("sdk", .sdk, row).filter { ["sdk.openSession", "sdk.closeSession"].contains($0.name) }
      + apps("otherApp", .other, row).filter {
        !["otherApp.register", "otherApp.unregister", "otherApp.look"].contains($0.name)
      } + [
        row("accessory.message", "Make an accessory send a control message.", keys: [.of, .message]) {
          .accessory(.message($1.message), of: $0)
        },
        row("device.message", "Make the device send a control message.", keys: [.of, .message]) {
          .deviceMessage($1.message, to: $0)
        },
      ]
  }

  private static func apps(
    _ side: String, _ role: Role, _ row: ActionRows, hasName: Bool = false
  ) -> [ActionKind] {
    /// Only actions on the app under test have methods in the control protocol.
    func method(_ word: String) -> String? { role == .tested ? "app.\(word)" : nil }
    func plain(_ word: String, _ summary: String, _ action: AppAction, by method: String? = nil) -> ActionKind {
      row("\(side).\(word)", summary, method: method, keys: []) { _, _ in .app(action, of: role) }
    }
    func ending(_ ending: AppAction.Ending, _ summary: String) -> ActionKind {
      row("\(side).\(ending)", summary, method: method(ending.rawValue), keys: [.sessions]) {
        .app(.ends(ending, leavesSessions: $1.sessions == .left), of: role)
      }
    }
    // In soak plans, every app has a name.
    let quit = row(
      "\(side).quit", "Make an app quit.", role == .tested ? [.scenarios, .plans] : [.scenarios],
      keys: hasName ? [.ofApp] : []
    ) { name, _ in
      .app(.quits, of: name.isEmpty ? role : .named(name))
    }
    return [
      plain("launch", "Launch an app.", .launches), quit,
      ending(.kill, "Kill an app, as the system or the user would."),
      ending(.crash, "End an app as if it had crashed."),
      plain(
        "register", "Register for notifications; balance each call with `app.unregister`.", .registers,
        by: method("register")),
      plain(
        "unregister",
        "Undo one registration for notifications. Undoing more registrations than were made is a misuse, which "
          + "`app.list` reports.",
        .unregisters,
        by: method("unregister")),
      plain("foreground", "Bring an app to the foreground.", .moves(.foreground), by: method("foreground")),
      plain(
        "background", "Put an app into the background, where it keeps running.", .moves(.background),
        by: method("background")),
      plain(
        "suspend",
        "Suspend an app: it receives nothing and cannot make calls. If the app has the background mode, its "
          + "notifications are held until it runs again.",
        .moves(.suspended), by: method("suspend")),
      plain("resume", "Let a suspended app run in the background.", .moves(.background)),
      row("\(side).openSession", "Make an app open a session.", keys: [.of]) { name, _ in
        .app(.opensSession(name), of: role)
      },
      plain("closeSession", "Make an app close its session.", .closesSession),
      row("\(side).look", "Make an app look at its list of accessories.", keys: [.sees]) {
        .app(.looks(sees: $1.sees), of: role)
      },
    ]
  }
}

/// Performs all actions.
///
/// The caller provides the objects that actions name. A process that handles only one side of a scenario has only some
/// of the objects. The other process performs the actions on all other objects.
package struct ActionPlayer {
  /// Returns the accessory with this name, or nil if the accessory is in another process.
  package var accessory: (String) -> SimulatedAccessory? = { _ in nil }
  var device: Device?
  package var serial: (String) -> String? = { _ in nil }
  package var pull: (_ name: String, _ unnoticed: Bool) -> Void = { _, _ in }
  var change: ([CableFault], String) -> Void = { _, _ in }
  var app: (AppAction, WorldAction.Role) -> Void = { _, _ in }

  package init() {}

  /// Creates a player for a world. If `pull` is given, it unplugs cables in place of the world.
  package init(
    in world: World, accessory: @escaping (String) -> SimulatedAccessory?,
    pull: ((_ name: String, _ unnoticed: Bool) -> Void)? = nil,
    app: @escaping (AppAction, WorldAction.Role) -> Void = { _, _ in }
  ) {
    (self.accessory, self.app, device) = (accessory, app, world.device)
    serial = { accessory($0)?.profile.identity.serialNumber }
    self.pull =
      pull
      ?? { [unowned world] name, unnoticed in
        if let found = accessory(name) { world.pull(found, unnoticed: unnoticed) }
      }
    change = { [unowned world] faults, name in
      if let found = accessory(name) { world.change(faults: faults, of: found) }
    }
  }

  package func perform(_ action: WorldAction, _ reason: String = "unplugged") throws {
    switch action {
    case .accessory(let action, let name): try accessory(name)?.perform(action, reason)
    case .pull(let name, let unnoticed): pull(name, unnoticed)
    case .faults(let faults, let name): change(faults, name)
    case .resetLink(let name): if let serial = serial(name) { device?.resetLinks(serial: serial) }
    case .noticeCables(let notices): device?.noticesCables = notices
    case .deviceMessage(let sent, let name):
      if let serial = serial(name), let message = sent.send.messageID {
        device?.send(message, sent.elements, toSerial: serial)
      }
    case .app(let action, let role): app(action, role)
    }
  }
}
