internal import AccessoryHost
import CoreFoundation
import Foundation

/// The accessory settings in `Bundle.main.infoDictionary`. Clients read them themselves, so they must agree with the
/// declarations that the device uses.
///
/// On Linux the dictionary is empty unless there is an Info.plist beside the program. CoreFoundation creates it once,
/// mutable, and keeps it, so later calls of `Bundle.main.infoDictionary` and `object(forInfoDictionaryKey:)` return
/// the values that are set here.
package struct BundleDeclarations: Equatable, Sendable {
  private var protocols: [String]?
  private var modes: [String]?

  /// The declarations of an app.
  package init(protocols: [String], modes: [String]) {
    self.protocols = protocols
    self.modes = modes.isEmpty ? nil : modes
  }

  /// What the main bundle says now.
  package static var current: BundleDeclarations {
    let info = Bundle.main.infoDictionary
    var now = BundleDeclarations(protocols: [], modes: [])
    now.protocols = info?[AppManifest.protocolsKey] as? [String]
    now.modes = info?[AppManifest.modesKey] as? [String]
    return now
  }

  /// Makes the main bundle say this. Returns whether it does now.
  @discardableResult
  package func apply() -> Bool {
    guard let bundle = CFBundleGetMainBundle(), let info = CFBundleGetInfoDictionary(bundle) else { return false }
    // The object is mutable, although CoreFoundation's type for it is the immutable one.
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
