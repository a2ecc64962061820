internal import AccessoryCables
internal import AccessoryCore
internal import AccessoryFormats
internal import AccessoryHost
internal import AccessoryProfiles
internal import AccessorySessions
internal import Certificates
import CoreFoundation
import Foundation
internal import LinuxIO

/// The realm of a program that no test controls: the local accessories, and those at the addresses in
/// `EASIM_ENDPOINTS`, in real time on a separate thread.
///
/// | variable | meaning |
/// |---|---|
/// | `EASIM_ENDPOINTS` | more addresses to connect to, separated by commas |
/// | `EASIM_ALLOW_REMOTE` | `1` allows `tcp:` addresses of other machines |
/// | `EASIM_LOCAL` | the path of another local directory |
/// | `EASIM_INFO_PLIST` | the path of the Info.plist; by default the one beside the program |
/// | `EASIM_AUTH` | `verify`, `accept` or `skip`: what becomes of an accessory that does not authenticate |
/// | `EASIM_ALL_PROTOCOLS` | `1` ignores the protocols that the Info.plist declares |
///
/// The reasons for an empty list, for a nil session, and for an alert are printed to stderr.
enum LocalRealm {
  /// How long a program waits, when it first uses the manager, for the accessories that are already plugged in. As at
  /// the launch of an app, these are in the list from the start, and no notification is posted for them.
  private static let patience = Duration.seconds(1)
  private static let period = Duration.milliseconds(5)

  /// The device and what keeps it connected.
  private final class Holder {
    let device: Device
    var dialers: [Dialer] = []
    var timer: LoopTimer?

    init(_ device: Device) { self.device = device }

    /// Whether every accessory that could be connected immediately has been published.
    var isSettled: Bool { device.published.count >= dialers.reduce(0) { $0 + $1.openLines } }
  }

  /// The loop of the local accessories' realm.
  private static let loop = Result { try EpollLoop() }

  static func make() -> AccessoryRealm {
    do {
      try LocalDirectory.refuseOldVariable()
      let loop = try Self.loop.get()
      let realm = AccessoryRealm(try ThreadEntrance(loop), settings: FrameworkSettings())
      // A program that calls exit() tears down its libraries while its other threads run, so this thread must not be
      // using them.
      atexit { LocalRealm.stop() }
      let isSettled = DispatchSemaphore(value: 0)
      let settings = appSettings()
      realm.entrance.sync { start(realm, loop, settings) { isSettled.signal() } }
      isSettled.wait()
      return realm
    } catch {
      fatalError("ExternalAccessory cannot use the local accessories: \(error)")
    }
  }

  private static func stop() {
    if case .success(let loop) = loop { loop.stop() }
  }

  /// On the loop.
  private static func start(
    _ realm: AccessoryRealm, _ loop: EpollLoop, _ app: AppSettings, settled: @escaping () -> Void
  ) {
    var settings = DeviceSettings(authenticator: AccessoryVerifier())
    settings.authentication = authentication()
    settings.epoch = loop.systemEpoch
    let device = Device(settings: settings, on: loop) { event in
      switch event.kind {
      case .warning(let text), .alert(let text): say(text)
      case .refused(let refusal) where refusal.name == "authentication":
        say("\(refusal.sentence); EASIM_AUTH=accept uses the accessory anyway")
      default: break
      }
    }
    let holder = Holder(device)
    realm.holder = holder
    for address in addresses() { connect(address, holder, loop, app) }
    let end = loop.now + patience
    holder.timer = loop.makeTimer { [unowned holder] in
      guard holder.isSettled || loop.now >= end else { return holder.timer?.arm(at: loop.now + period) ?? () }
      holder.timer = nil
      realm.look(at: device, as: app)
      settled()
    }
    holder.timer?.arm(at: loop.now)
  }

  private static func connect(_ address: Address, _ holder: Holder, _ loop: EpollLoop, _ app: AppSettings) {
    var options = TransportOptions()
    options.allowsRemote = isOn("EASIM_ALLOW_REMOTE")
    do {
      let dialer = try MediumTable.linked.makeDialer(
        to: address, for: holder.device, on: loop, options: options,
        // Connects only to accessories that the app can see, and leaves the others to other hosts.
        wanted: .every { accessory in
          app.rules.visibility == .all
            || accessory.protocols.map { offered in
              offered.isEmpty || offered.contains(where: app.manifest.declares)
            } ?? true
        })
      try dialer.start()
      holder.dialers.append(dialer)
    } catch TransportError.remoteNotAllowed(let address) {
      say("\(TransportError.remoteNotAllowed(address)): EASIM_ALLOW_REMOTE=1")
    } catch {
      say((error as? TransportError)?.description ?? "\(address): \(error)")
    }
  }

  // MARK: The environment

  private static func addresses() -> [Address] {
    let words = variable("EASIM_ENDPOINTS")?.split(separator: ",") ?? []
    return [.local(directory: nil, serial: nil)]
      + words.compactMap { word in
        let text = word.trimmingCharacters(in: .whitespaces)
        do throws(AddressError) { return try Address(parsing: text) } catch {
          say("EASIM_ENDPOINTS: \(error)")
          return nil
        }
      }
  }

  private static func authentication() -> AuthenticationMode {
    guard let word = variable("EASIM_AUTH") else { return .verify }
    if let mode = AuthenticationMode(rawValue: word) { return mode }
    say(
      "EASIM_AUTH=\(word): expected \(AuthenticationMode.allCases.map(\.rawValue).joined(separator: ", ")); verify is used"
    )
    return .verify
  }

  private static func appSettings() -> AppSettings {
    var settings = AppSettings()
    settings.filterSwitch = "EASIM_ALL_PROTOCOLS=1"
    if isOn("EASIM_ALL_PROTOCOLS") {
      settings.rules.visibility = .all
      settings.rules.undeclaredSessions = .allowed
    }
    defer {
      // Only for a named file: the file next to the program is already in the bundle.
      if variable("EASIM_INFO_PLIST") != nil, let declared = settings.manifest.declaredProtocols {
        BundleDeclarations(protocols: declared, modes: settings.manifest.backgroundModes).apply()
      }
    }
    do throws(SourceProblem) {
      if let path = variable("EASIM_INFO_PLIST") {
        settings.manifest = try AppManifest.read(file: path)
      } else {
        settings.manifest = try AppManifest.find(among: places)
      }
    } catch {
      say("\(error); so the app declares no protocols")
      settings.manifest = AppManifest(declaredProtocols: [])
    }
    return settings
  }

  /// Next to the program or, for a program in `X.app/Contents/Linux/`, in its bundle.
  private static var places: [String] {
    guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return [] }
    let folder = URL(fileURLWithPath: program).deletingLastPathComponent()
    return [folder, folder.deletingLastPathComponent()].map { $0.appendingPathComponent("Info.plist").path }
  }

  private static func isOn(_ name: String) -> Bool { variable(name) == "1" }

  private static func variable(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func say(_ text: String) {
    FileHandle.standardError.write(Data("ExternalAccessory: \(text)\n".utf8))
  }
}

/// The accessory settings in `Bundle.main.infoDictionary`. Clients read them themselves, so they must agree with the
/// declarations that the device uses.
///
/// On Linux the dictionary is empty unless there is an Info.plist next to the program. CoreFoundation creates it once,
/// mutable, and keeps it, so later calls of `Bundle.main.infoDictionary` and `object(forInfoDictionaryKey:)` return the
/// values that are set here.
package struct BundleDeclarations: Equatable, Sendable {
  private var protocols: [String]?
  private var modes: [String]?

  /// The declarations of an app.
  package init(protocols: [String], modes: [String]) {
    self.protocols = protocols
    self.modes = modes.isEmpty ? nil : modes
  }

  /// What the main bundle currently declares.
  package static var current: BundleDeclarations {
    let info = Bundle.main.infoDictionary
    var now = BundleDeclarations(protocols: [], modes: [])
    now.protocols = info?[AppManifest.protocolsKey] as? [String]
    now.modes = info?[AppManifest.modesKey] as? [String]
    return now
  }

  /// Makes the main bundle declare this. Returns whether it does now.
  @discardableResult
  package func apply() -> Bool {
    guard let bundle = CFBundleGetMainBundle(), let info = CFBundleGetInfoDictionary(bundle) else { return false }
    // The object is mutable, although CoreFoundation declares it as the immutable type.
    let dictionary = Unmanaged<CFMutableDictionary>.fromOpaque(Unmanaged.passUnretained(info).toOpaque())
      .takeUnretainedValue()
    Self.set(AppManifest.protocolsKey, protocols, in: dictionary)
    Self.set(AppManifest.modesKey, modes, in: dictionary)
    return Self.current == self
  }

  private static func set(_ key: String, _ texts: [String]?, in dictionary: CFMutableDictionary) {
    guard let key = string(key) else { return }
    guard let texts else {
      return with(key) { CFDictionaryRemoveValue(dictionary, $0) }
    }
    var callbacks = kCFTypeArrayCallBacks
    guard let array = CFArrayCreateMutable(nil, 0, &callbacks) else { return }
    for text in texts.compactMap(string) { with(text) { CFArrayAppendValue(array, $0) } }
    with(key) { key in with(array) { CFDictionarySetValue(dictionary, key, $0) } }
  }

  private static func string(_ text: String) -> CFString? { CFStringCreateWithCString(nil, text, 0x0800_0100) }

  /// Lends an object to CoreFoundation, which retains what it keeps.
  private static func with(_ object: AnyObject, _ body: (UnsafeRawPointer) -> Void) {
    withExtendedLifetime(object) { body(UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())) }
  }
}
