/// A folder in which a server keeps captures and the reports of runs: `easim serve --keep DIR`.
public protocol KeptFiles: AnyObject {
  /// The time now, as the beginning of names that sort by it.
  var stamp: String { get }

  /// Begins a file that must not be there yet; `name` is a path below the folder.
  func makeFile(_ name: String) throws -> any KeptFile

  /// Writes a whole file.
  func write(_ bytes: [UInt8], to name: String) throws

  /// The names in a folder below it, in order.
  func names(in folder: String) -> [String]

  /// A whole file; nil when there is none.
  func read(_ name: String) -> [UInt8]?
}

/// A file that is written piece by piece.
public protocol KeptFile: AnyObject {
  /// Writes a piece; a sentence when that fails, after which nothing more is written.
  func write(_ bytes: [UInt8]) -> String?

  /// Ends the file.
  func close()
}
