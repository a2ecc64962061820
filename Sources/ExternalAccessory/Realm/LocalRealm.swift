internal import AccessoryCables
internal import AccessoryCore
internal import AccessoryFormats
internal import AccessoryHost
internal import AccessoryProfiles
internal import AccessorySessions
internal import Certificates
import CoreFoundation
import Foundation
import Glibc
internal import LinuxIO

/// The realm of a program that is not controlled by a test. This realm contains the local accessories and those at the
/// addresses in `EASIM_ENDPOINTS`, and runs in real time on its own thread.
///
/// | variable | meaning |
/// |---|---|
/// | `EASIM_ENDPOINTS` | more addresses to connect to, separated by commas |
/// | `EASIM_ALLOW_REMOTE` | `1` allows `tcp:` addresses on other machines |
/// | `EASIM_LOCAL` | the path of another local directory |
/// | `EASIM_INFO_PLIST` | the path of the Info.plist; by default the one next to the program |
/// | `EASIM_ORDER` | `authentication`, `identification` or `auto`: which of these steps comes first |
/// | `EASIM_AUTH` | `verify`, `accept` or `skip`: what happens to an accessory that fails to authenticate |
/// | `EASIM_ALL_PROTOCOLS` | `1` ignores the protocols that the Info.plist declares |
///
/// Standard error shows the reason whenever the list of accessories is empty, a session is nil or an alert is shown.
enum LocalRealm {
  /// How long the first use of the manager waits for accessories that are already plugged in. Accessories that are
  /// plugged in during this time are in the list from the start and, as on Apple's systems, cause no notification.
  private static let patience = Duration.seconds(1)
  private static let period = Duration.milliseconds(5)

  private final class Holder {
    let device: Device
    var dialers: [Dialer] = []
    var timer: LoopTimer?

    init(_ device: Device) { self.device = device }

    /// Whether all accessories that could be connected right away have been published.
    var isSettled: Bool { device.published.count >= dialers.reduce(0) { $0 + $1.openLines } }
  }

  private static let loop = Result { try EpollLoop() }

  static func make() -> AccessoryRealm {
    do {
      let loop = try Self.loop.get()
      let realm = AccessoryRealm(try ThreadEntrance(loop), settings: FrameworkSettings())
      // When a program calls exit(), its libraries are torn down while other threads are still running. Before the
      // libraries are torn down, the loop's thread must stop using them.
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

  private static func start(
    _ realm: AccessoryRealm, _ loop: EpollLoop, _ app: AppSettings, settled: @escaping () -> Void
  ) {
    var settings = DeviceSettings(authenticator: AccessoryVerifier())
    settings.authentication = choice("EASIM_AUTH", else: AuthenticationMode.verify)
    settings.order = choice("EASIM_ORDER", else: HostOrder.auto)
    settings.epoch = loop.systemEpoch
    let device = Device(settings: settings, on: loop) { event in
      switch event.kind {
      case .warning(let text), .alert(let text): log(text)
      case .refused(let refusal) where refusal.name == "authentication":
        log("\(refusal.sentence); EASIM_AUTH=accept uses the accessory anyway")
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
        // Connects only to accessories that the app can see. Other accessories remain available to other hosts.
        wanted: .every { accessory in
          app.rules.visibility == .all
            || accessory.protocols.map { offered in
              offered.isEmpty || offered.contains(where: app.manifest.declares)
            } ?? true
        })
      try dialer.start()
      holder.dialers.append(dialer)
    } catch TransportError.remoteNotAllowed(let address) {
      log("\(TransportError.remoteNotAllowed(address)): EASIM_ALLOW_REMOTE=1")
    } catch {
      log((error as? TransportError)?.description ?? "\(address): \(error)")
    }
  }

  // MARK: Environment variables

  private static func addresses() -> [Address] {
    let words = variable("EASIM_ENDPOINTS")?.split(separator: ",") ?? []
    return [.local(directory: nil, serial: nil)]
      + words.compactMap { word in
        let text = word.trimmingCharacters(in: .whitespaces)
        do throws(AddressError) { return try Address(parsing: text) } catch {
          log("EASIM_ENDPOINTS: \(error)")
          return nil
        }
      }
  }

  private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, else standard: Choice
  ) -> Choice {
    guard let word = variable(name) else { return standard }
    if let choice = Choice(rawValue: word) { return choice }
    let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    log("\(name)=\(word): expected \(choices); \(standard.rawValue) is used")
    return standard
  }

  private static func appSettings() -> AppSettings {
    var settings = AppSettings()
    settings.filterSwitch = "EASIM_ALL_PROTOCOLS=1"
    if isOn("EASIM_ALL_PROTOCOLS") {
      settings.rules.ignoreInfoPlist()
    }
    if let named = NamedInfoPlist.manifest {
      settings.manifest = named
      return settings
    }
    do throws(SourceProblem) { settings.manifest = try AppManifest.find(among: places) } catch {
      settings.manifest = NamedInfoPlist.nothing(error)
    }
    return settings
  }

  /// The paths where Info.plist may be: next to the program or, in bundles with `Contents/Linux/`, in the folder above
  /// the program's folder.
  private static var places: [String] {
    guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return [] }
    let folder = URL(fileURLWithPath: program).deletingLastPathComponent()
    return [folder, folder.deletingLastPathComponent()].map { $0.appendingPathComponent("Info.plist").path }
  }

  private static func isOn(_ name: String) -> Bool { variable(name) == "1" }

  static func variable(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  static func log(_ text: String) {
    FileHandle.standardError.write(Data("ExternalAccessory: \(text)\n".utf8))
  }
}

/// The Info.plist named by `EASIM_INFO_PLIST`. Apps may read `Bundle.main` at any time, and many do so before they use
/// the manager, so the file's contents are added to `Bundle.main` before `main` runs.
enum NamedInfoPlist {
  /// The file's declarations, or nil if the variable is not set. The first use of this property, when the program is
  /// loaded, adds the file's contents to `Bundle.main`.
  static let manifest: AppManifest? = {
    guard let path = LocalRealm.variable("EASIM_INFO_PLIST") else { return nil }
    do throws(SourceProblem) {
      let read = try AppManifest.read(file: path)
      BundleDeclarations.show(file: path)
      return read
    } catch {
      BundleDeclarations(protocols: [], modes: []).apply()
      return nothing(error)
    }
  }()

  static func nothing(_ problem: SourceProblem) -> AppManifest {
    LocalRealm.log("\(problem); so the app declares no protocols")
    return AppManifest(declaredProtocols: [])
  }
}

/// Runs when the program is loaded. If Foundation is linked statically (`-static-stdlib`), it may not be initialized
/// yet, because load-time functions run in an unspecified order. In that case, the Info.plist is read when the manager
/// is first used.
@section(".init_array") @used
private let atLoad: @convention(c) () -> Void = {
  if dlsym(nil, "CFBundleGetMainBundle") != nil { _ = NamedInfoPlist.manifest }
}

/// The accessory settings in `Bundle.main.infoDictionary`. Apps read these settings themselves, so the settings must
/// match the declarations that the device uses.
///
/// On Linux the dictionary is empty unless there is an Info.plist next to the program. CoreFoundation creates this
/// dictionary once, as a mutable object, and keeps it. Later calls to `Bundle.main.infoDictionary` and
/// `object(forInfoDictionaryKey:)` therefore return the values set here.
package struct BundleDeclarations: Sendable {
  private var protocols: [String]?
  private var modes: [String]?

  package init(protocols: [String], modes: [String]) {
    self.protocols = protocols
    self.modes = modes.isEmpty ? nil : modes
  }

  package static var current: BundleDeclarations {
    let info = Bundle.main.infoDictionary
    var now = BundleDeclarations(protocols: [], modes: [])
    now.protocols = info?[AppManifest.protocolsKey] as? [String]
    now.modes = info?[AppManifest.modesKey] as? [String]
    return now
  }

  /// The main bundle's dictionary. It is in fact mutable, although CoreFoundation declares it as immutable.
  private static var dictionary: CFMutableDictionary? {
    CFBundleGetMainBundle().flatMap { CFBundleGetInfoDictionary($0) }.map { info in
      Unmanaged<CFMutableDictionary>.fromOpaque(Unmanaged.passUnretained(info).toOpaque()).takeUnretainedValue()
    }
  }

  /// Makes the main bundle declare these values, if the bundle can be changed.
  package func apply() {
    guard let dictionary = Self.dictionary else { return }
    Self.set(AppManifest.protocolsKey, protocols, in: dictionary)
    Self.set(AppManifest.modesKey, modes, in: dictionary)
  }

  /// Adds all entries of an Info.plist to the main bundle.
  static func show(file path: String) {
    guard let bytes = FileManager.default.contents(atPath: path), let dictionary else { return }
    let data = bytes.withUnsafeBytes { CFDataCreate(nil, $0.baseAddress, $0.count) }
    guard let list = CFPropertyListCreateWithData(nil, data, 0, nil, nil)?.takeRetainedValue(),
      CFGetTypeID(list) == CFDictionaryGetTypeID()
    else { return }
    let shown = Unmanaged<CFDictionary>.fromOpaque(Unmanaged.passUnretained(list).toOpaque()).takeUnretainedValue()
    let add: CFDictionaryApplierFunction = { key, value, target in
      guard let target else { return }
      CFDictionarySetValue(Unmanaged<CFMutableDictionary>.fromOpaque(target).takeUnretainedValue(), key, value)
    }
    CFDictionaryApplyFunction(shown, add, Unmanaged.passUnretained(dictionary).toOpaque())
  }

  private static func set(_ key: String, _ texts: [String]?, in dictionary: CFMutableDictionary) {
    let (key, list) = (key as NSString, texts.map { $0 as NSArray })
    // CoreFoundation retains what it keeps.
    withExtendedLifetime((key, list)) {
      let key = UnsafeRawPointer(Unmanaged.passUnretained(key).toOpaque())
      guard let list else { return CFDictionaryRemoveValue(dictionary, key) }
      CFDictionarySetValue(dictionary, key, UnsafeRawPointer(Unmanaged.passUnretained(list).toOpaque()))
    }
  }
}
