import AccessoryFormats
import AccessoryProfiles

/// Finds shipped scenarios by name and other scenarios by path.
public struct ScenarioLibrary: Sendable {
  package let profiles: ProfileLibrary

  private static let files = EmbeddedFiles.files(in: "scenarios", without: ".json5")

  /// Creates a library. The scenarios in the library look up the profiles of their accessories in `profiles`.
  public init(profiles: ProfileLibrary = ProfileLibrary()) {
    self.profiles = profiles
  }

  /// The names of the shipped scenarios.
  public var names: [String] { Self.files.map(\.name) }

  /// Returns the scenario with this name or path. A reference that contains a `/` or has an extension is a path.
  public func scenario(_ reference: String) throws(SourceProblems) -> Scenario {
    try Scenario(source(reference), profiles: profiles)
  }

  package func source(_ reference: String) throws(SourceProblems) -> ScenarioSource {
    if ProfileLibrary.isPath(reference) {
      let file = reference.split(separator: "/").last.map(String.init) ?? reference
      return ScenarioSource(
        name: file.split(separator: ".").first.map(String.init) ?? file, path: reference,
        bytes: try read(reference))
    }
    if let found = Self.files.first(where: { $0.name == reference }) {
      return ScenarioSource(name: found.name, path: "\(found.name).json5", bytes: found.bytes)
    }
    let near = Suggestion.nearHint(for: reference, in: names)
    let hint = near.isEmpty ? ": 'easim scenario list' prints the names" : near
    let message = "no scenario '\(reference)'\(hint)\(TextFile.hint(forFileNamed: reference))"
    throw SourceProblems([SourceProblem(at: nil, message)])
  }

  /// Returns the original text of a scenario, including comments. The scenario is given by its name or path.
  public func text(_ reference: String) throws(SourceProblems) -> String {
    String(decoding: try source(reference).bytes, as: UTF8.self)
  }

  private static let sizeLimit = 1 << 20

  private func read(_ path: String) throws(SourceProblems) -> [UInt8] {
    do { return try profiles.readFile(path, Self.sizeLimit) } catch {
      throw SourceProblems([SourceProblem(at: nil, error.description)])
    }
  }
}

/// A scenario file that has not been parsed yet.
package struct ScenarioSource {
  package let name: String
  /// The name used for the file in messages.
  package let path: String
  package let bytes: [UInt8]

  package init(name: String, path: String, bytes: [UInt8]) {
    (self.name, self.path, self.bytes) = (name, path, bytes)
  }
}
