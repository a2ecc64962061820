/// A folder in which a server keeps captures and the reports of runs; see `easim serve --keep DIR`.
public protocol KeptFiles: AnyObject {
  /// The current time, as a prefix that sorts file names by time.
  var stamp: String { get }

  /// Creates a file, which must not exist yet; `name` is a path relative to the folder.
  func makeFile(_ name: String) throws -> any KeptFile

  /// Writes a complete file.
  func write(_ bytes: [UInt8], to name: String) throws

  /// Returns the sorted names in a subfolder.
  func names(in folder: String) -> [String]

  /// Returns the contents of a file; nil if the file does not exist.
  func read(_ name: String) -> [UInt8]?
}

/// A file that is written piece by piece.
public protocol KeptFile: AnyObject {
  /// Writes a piece. If writing fails, returns a sentence that explains why, and nothing more is written.
  func write(_ bytes: [UInt8]) -> String?

  /// Closes the file.
  func close()
}
