import AccessoryCore
import AccessoryFormats
import Glibc

/// Finds profiles by name in the user's folder and among the shipped profiles, or by path.
///
/// A reference that contains a `/` or ends in `.json5` or `.json` is a path. Anything else is a name: `NAME.json5` in
/// the user's folder if that file exists, otherwise the shipped profile with that name. A profile in the user's folder
/// may extend the shipped profile that has the same name.
///
/// ```swift
/// let library = ProfileLibrary(userFolder: "my-profiles")
/// let accessory = try library.profile("lawk-view")
/// let three = try library.template("sensor").instances(3)
/// ```
public struct ProfileLibrary: Sendable {
  /// The folder that contains the user's own profiles, or nil if there is none.
  public let userFolder: String?
  package var readFile: @Sendable (_ path: String, _ limit: Int) throws(TextFileError) -> [UInt8] = {
    path, limit throws(TextFileError) in try TextFile.read(path, limit: limit)
  }

  /// Creates a library of the shipped profiles and, if `userFolder` is given, the profiles in that folder.
  public init(userFolder: String? = nil) {
    self.userFolder = userFolder
  }

  /// The names of all profiles, sorted. `isUsers` is true for profiles in the user's folder.
  public var names: [(name: String, isUsers: Bool)] {
    let own = ownNames
    let shipped = Self.shippedFiles.map(\.name).filter { !own.contains($0) }
    return (own.map { ($0, true) } + shipped.map { ($0, false) }).sorted { $0.0 < $1.0 }
  }

  /// Returns the profile that a reference names. The result is the first instance of the profile's template.
  public func profile(_ reference: String) throws(SourceProblems) -> Profile {
    try template(reference).instance()
  }

  /// Returns the template that a reference names, without numbering any instances.
  public func template(_ reference: String) throws(SourceProblems) -> ProfileTemplate {
    let source = try find(reference)
    if source.isShipped, let known = Self.shipped.withLock({ $0[source.name] }) { return known }
    let tree = try wholeTree(source, chain: [])
    let template = try made(tree, name: source.name)
    // A profile that extends another is not cached, because it may extend a user's file, which can change.
    if source.isShipped, tree["extends"] == nil { Self.shipped.withLock { $0[source.name] = template } }
    return template
  }

  static let shippedFiles = EmbeddedFiles.files(in: "profiles", without: ".json5")

  private static let shipped = Locked<[String: ProfileTemplate]>([:])

  /// Reads a profile from text outside a file, such as standard input. The profile may extend other profiles by name.
  public func template(text: [UInt8], file: String, name: String) throws(SourceProblems) -> ProfileTemplate {
    let source = Source(name: name, label: file, origin: .text, bytes: text)
    return try made(wholeTree(source, chain: []), name: name)
  }

  /// Reads a profile from a JSON tree that is part of another document. The profile may extend other profiles by name.
  public func template(tree: JSON5Value, name: String) throws(SourceProblems) -> ProfileTemplate {
    let source = Source(name: name, label: name, origin: .text, bytes: [])
    return try made(laid(tree, of: source, chain: []), name: name)
  }

  private func made(_ tree: JSON5Value, name: String) throws(SourceProblems) -> ProfileTemplate {
    let problems = ProblemCollector()
    let base = Profile(name: name, identity: Profile.Identity.format.base)
    let read = Profile.format.read(tree, onto: base, at: Place(problems))
    try problems.throwErrors()
    guard var profile = read else { preconditionFailure("a profile that was not read has no reported problem") }
    profile.placePrograms(in: tree)
    return ProfileTemplate(profile, warnings: problems.problems)
  }

  /// Returns the unchanged text of a profile's file, including comments.
  public func text(_ reference: String) throws(SourceProblems) -> String {
    String(decoding: try find(reference).bytes, as: UTF8.self)
  }

  // MARK: Finding

  private struct Source {
    enum Origin: Equatable {
      case shipped(String)
      /// The resolved path of the file, so that two paths to the same file are equal.
      case file(String)
      case text
    }

    var name: String
    var label: String
    var origin: Origin
    var bytes: [UInt8]

    var isShipped: Bool { if case .shipped = origin { true } else { false } }
  }

  private var ownNames: [String] {
    guard let userFolder else { return [] }
    return (Folder.names(in: userFolder) ?? []).filter { $0.hasSuffix(".json5") }.map {
      String($0.dropLast(".json5".count))
    }
    .filter { !$0.isEmpty && !Self.isPath($0) }
  }

  package static func isPath(_ reference: String) -> Bool {
    reference.contains("/") || reference.hasSuffix(".json5") || reference.hasSuffix(".json")
  }

  private func find(_ reference: String, asking: Source? = nil) throws(SourceProblems) -> Source {
    if Self.isPath(reference) {
      var path = reference
      if !reference.hasPrefix("/"), let asking, case .file = asking.origin, let slash = asking.label.lastIndex(of: "/")
      {
        path = asking.label[...slash] + reference
      }
      return try read(path)
    }
    if let userFolder {
      let path = "\(userFolder)/\(reference).json5"
      if ownNames.contains(reference), asking?.origin != .file(TextFile.realPath(path)) { return try read(path) }
    }
    if let shipped = Self.shippedFiles.first(where: { $0.name == reference }) {
      return Source(
        name: shipped.name, label: "\(shipped.name).json5", origin: .shipped(shipped.name), bytes: shipped.bytes)
    }
    let known = names.map(\.name)
    let hint = Suggestion.nearHint(for: reference, in: known)
    let folder = userFolder.map { "\($0) and " } ?? ""
    let looked = hint.isEmpty ? ": looked" : "\(hint) Looked"
    let message =
      "no profile '\(Excerpt.of(reference))'\(looked) in \(folder)the shipped profiles "
      + Self.shippedFiles.map(\.name).joined(separator: ", ") + TextFile.hint(forFileNamed: reference)
    throw SourceProblems([SourceProblem(at: nil, message)])
  }

  private func read(_ path: String) throws(SourceProblems) -> Source {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    let name = file.hasSuffix(".json5") ? file.dropLast(6) : file.hasSuffix(".json") ? file.dropLast(5) : file[...]
    do {
      let bytes = try readFile(path, JSON5.Limits().bytes)
      return Source(name: String(name), label: path, origin: .file(TextFile.realPath(path)), bytes: bytes)
    } catch {
      throw SourceProblems([SourceProblem(at: nil, error.description)])
    }
  }

  // MARK: Extending

  private static let longestChain = 32

  /// Returns the JSON tree of a file, merged with the files that it extends. `chain` contains the files read so far.
  private func wholeTree(_ source: Source, chain: [Source]) throws(SourceProblems) -> JSON5Value {
    let tree: JSON5Value
    do {
      tree = try JSON5.read(source.bytes, file: source.label)
    } catch {
      throw SourceProblems([error])
    }
    return try laid(tree, of: source, chain: chain)
  }

  private func laid(_ tree: JSON5Value, of source: Source, chain: [Source]) throws(SourceProblems) -> JSON5Value {
    try checkVersion(of: tree)
    guard let base = tree["extends"] else { return tree }
    guard case .text(let reference) = base.content else {
      let found = "expected a profile's name or path, found \(base.summary)"
      throw SourceProblems([SourceProblem(at: base.position, path: "extends", found)])
    }
    let below: Source
    do {
      below = try find(reference, asking: source)
    } catch {
      let moved = error.problems.map { SourceProblem(at: base.position, path: "extends", $0.message) }
      throw SourceProblems(moved)
    }
    let links = chain + [source]
    if links.contains(where: { $0.origin == below.origin }) {
      let names = (links + [below]).map(\.label).joined(separator: " → ")
      throw SourceProblems([
        SourceProblem(at: base.position, path: "extends", "profiles extend each other in a cycle: \(names)")
      ])
    }
    guard links.count < Self.longestChain else {
      let message = "the chain of 'extends' has more than \(Self.longestChain) profiles"
      throw SourceProblems([SourceProblem(at: base.position, path: "extends", message)])
    }
    return Profile.format.laid(tree, over: try wholeTree(below, chain: links))
  }

  /// Rejects a file that has a different format version. The version of each file in a chain is checked first, because
  /// other problems in a file with an unknown format would be meaningless.
  private func checkVersion(of tree: JSON5Value) throws(SourceProblems) {
    guard case .object = tree.content else { return }
    guard let version = tree["version"] else {
      let message = "the key 'version' is missing: write 'version: \(Profile.formatVersion)'"
      throw SourceProblems([SourceProblem(at: tree.position, message)])
    }
    if case .number(let number) = version.content, number.integer == Int64(Profile.formatVersion) { return }
    let message = "expected \(Profile.formatVersion), the format this program reads, found \(version.summary)"
    throw SourceProblems([SourceProblem(at: version.position, path: "version", message)])
  }
}

/// The files that are embedded in the program, so that it needs no other files: the live page, and the shipped profiles
/// and scenarios. `Sources/CLinux/embedded.c` lists them.
package enum EmbeddedFiles {
  /// Returns the files in a folder (`page`, `profiles` or `scenarios`), with their names in it without `ending`.
  package static func files(in folder: String, without ending: String = "") -> [(name: String, bytes: [UInt8])] {
    var files: [(name: String, bytes: [UInt8])] = []
    var path: UnsafePointer<CChar>?
    var index: UInt32 = 0
    while let text = clinux_embedded(index, &path), let place = path {
      let parts = String(cString: place).split(separator: "/", maxSplits: 1)
      if parts[0] == folder {
        let bytes = [UInt8](UnsafeRawBufferPointer(start: text, count: strlen(text)))
        files.append((String(parts[1].dropLast(ending.count)), bytes))
      }
      index += 1
    }
    return files
  }
}

// Apps use this module but must not depend on a C module, so the function is declared here.
// swift-format-ignore: AlwaysUseLowerCamelCase
@_extern(c) private func clinux_embedded(
  _ index: UInt32, _ path: UnsafeMutablePointer<UnsafePointer<CChar>?>
) -> UnsafePointer<CChar>?
