internal import AccessoryFormats
internal import AccessoryHost
internal import AccessoryProfiles
import CoreFoundation
import Foundation
import Glibc

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
