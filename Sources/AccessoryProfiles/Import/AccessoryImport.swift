import AccessoryFormats

/// Turns pasted `EAAccessory` debug descriptions into profiles.
///
/// It reads all three generations of the layout and any number of accessories in one text. Log prefixes before each
/// line, both kinds of line ends, missing trailing spaces, and elements of an array (one line, with `\n` escaped) are
/// accepted. Text between accessories is skipped; an unknown line inside an accessory is reported.
///
/// ```swift
/// let imported = AccessoryImport.read(bytes, file: "standard input")
/// imported.accessories.first?.profile.identity.serialNumber
/// imported.problems.map(\.description)
/// ```
public struct AccessoryImport: Equatable, Sendable {
  /// One accessory of the text.
  public struct Accessory: Equatable, Sendable {
    /// The profile, named after the model. What a dump does not show has the defaults.
    public var profile: Profile
    /// The line of the text where it begins.
    public var line: Int
    /// The layout it was printed in.
    public var generation: AccessoryDescription.Generation
    /// The object's address, as printed.
    public var address: UInt64
    /// Whether it was attached.
    public var isConnected: Bool
    /// The id of the connection, if the dump has one.
    public var connectionID: UInt64?
  }

  /// The accessories that could be read, in their order.
  public let accessories: [Accessory]
  /// What could not be understood, by line; a text without an accessory is such a problem too.
  public let problems: [SourceProblem]

  /// Reads a text.
  public static func read(_ bytes: [UInt8], file: String) -> AccessoryImport {
    let problems = ProblemCollector()
    var reader = DumpReader(file: file, problems)
    for line in DumpLines.split(bytes, file: file, problems) { reader.read(line) }
    reader.finish()
    return AccessoryImport(accessories: reader.accessories, problems: problems.problems)
  }
}
