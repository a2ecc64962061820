import AccessoryFormats
import AccessoryProfiles
import Glibc

/// The accessory settings in an app's Info.plist: the protocols that the app declares, and whether the app keeps its
/// accessories in the background. The manifest also records where the settings came from, because a wrong Info.plist is
/// the usual reason why an app's list of accessories is empty.
///
/// ```swift
/// let manifest = try AppManifest.read(file: "Info.plist")
/// manifest.declares("com.lawaken.iap2")
/// ```
public struct AppManifest: Equatable, Sendable {
  /// The Info.plist key for the declared protocols.
  public static let protocolsKey = "UISupportedExternalAccessoryProtocols"
  /// The Info.plist key for the background modes.
  public static let modesKey = "UIBackgroundModes"
  /// The background mode that lets an app keep its accessories.
  public static let mode = "external-accessory"

  /// Where the settings come from.
  public enum Origin: Equatable, Sendable {
    /// The program did not search for an Info.plist.
    case none
    /// There is no Info.plist at any of these paths.
    case sought([String])
    case file(String)
  }

  /// Where the settings come from.
  public let origin: Origin
  /// The declared protocols. Nil if there is no Info.plist, in which case the app may use every protocol.
  public var declaredProtocols: [String]?
  /// The background modes.
  public var backgroundModes: [String]

  /// Creates a manifest from given settings.
  public init(origin: Origin = .none, declaredProtocols: [String]?, backgroundModes: [String] = []) {
    self.origin = origin
    self.declaredProtocols = declaredProtocols
    self.backgroundModes = backgroundModes
  }

  /// The manifest for a program that did not search for an Info.plist.
  public static let none = AppManifest(declaredProtocols: nil)

  /// Reads an Info.plist in XML or binary form.
  public static func read(file path: String) throws(SourceProblem) -> AppManifest {
    let plist = try PropertyList(path: path)
    guard case .dictionary = plist else {
      throw SourceProblem(at: nil, "\(path): an Info.plist must be a dictionary, found \(plist.summary)")
    }
    return AppManifest(
      origin: .file(path), declaredProtocols: try plist[protocolsKey]?.texts(of: "\(path): \(protocolsKey)") ?? [],
      backgroundModes: try plist[modesKey]?.texts(of: "\(path): \(modesKey)") ?? [])
  }

  /// Reads the first Info.plist that exists at these paths. If there is none, the manifest records the paths.
  public static func find(among paths: [String]) throws(SourceProblem) -> AppManifest {
    guard let path = paths.first(where: { access($0, F_OK) == 0 }) else {
      return AppManifest(origin: .sought(paths), declaredProtocols: nil)
    }
    return try read(file: path)
  }

  /// Returns true if the app declares a protocol.
  public func declares(_ protocolName: String) -> Bool {
    declaredProtocols?.contains(protocolName) ?? true
  }

  /// Whether the app keeps accessories and sessions in the background.
  public var keepsAccessoriesInBackground: Bool { backgroundModes.contains(Self.mode) }

  // MARK: Messages

  /// The file that was read or the paths that were searched, as shown in messages.
  public var provenance: String {
    switch origin {
    case .none: return "no Info.plist was read"
    case .sought(let paths): return "no Info.plist was found (looked for \(paths.joined(separator: ", ")))"
    case .file(let path):
      let declared = declaredProtocols ?? []
      return declared.isEmpty
        ? "\(path) declares no protocols under \(Self.protocolsKey)"
        : "\(path) declares \(declared.joined(separator: ", ")) under \(Self.protocolsKey)"
    }
  }

  func explainHidden(_ accessory: PublishedAccessory, switch name: String) -> String {
    "the app does not see \(accessory.name): it offers \(accessory.protocols.joined(separator: ", ")), and "
      + "\(provenance); declare one of them there, or turn the filter off with \(name)"
  }

  func explainUndeclared(_ protocolName: String, switch name: String) -> String {
    "the protocol \(protocolName) is not declared: \(provenance); declare it there, or turn the check off with \(name)"
  }

  var explainLoss: String {
    let place: String
    switch origin {
    case .none, .sought: place = provenance
    case .file(let path): place = "\(path) lists " + (backgroundModes.isEmpty ? "none" : "\(backgroundModes)")
    }
    return "the app loses its accessories in the background: \(Self.mode) is not among its \(Self.modesKey) (\(place))"
  }
}
