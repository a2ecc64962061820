import AccessoryCore
import AccessoryLoad
import Glibc

/// A file of a report that was read, and not yet looked into.
struct ReportInput {
  let path: String
  private let bytes: [UInt8]

  init(_ path: String) throws {
    self.path = path
    bytes = try InputFile.read(path)
  }

  /// The kind that the file says it is; nil when it says none.
  var kind: String? {
    // Reports begin with their kind, so that a large file needs not be read twice.
    let head = bytes.prefix(60)
    let begin = Array(#"{"easim":""#.utf8)
    if head.starts(with: begin) {
      let name = head.dropFirst(begin.count).prefix { $0 != UInt8(ascii: "\"") }
      return String(decoding: name, as: UTF8.self)
    }
    let limits = JSON5.Limits(bytes: 16 << 20, depth: 16)
    return (try? JSON5.read(bytes, file: path, limits: limits)).flatMap { ReportHeader.kind(of: $0) }
  }

  /// The report; the error has everything that is wrong with the file.
  func report<Report: ShardedReport>(_ type: Report.Type) throws -> Report {
    let tree: JSON5Value
    do { tree = try JSON5.read(bytes, file: path, limits: Report.limits) } catch { throw SourceProblems([error]) }
    return try Report(tree: tree)
  }

  /// The report of a load test.
  func burst() throws -> BurstReport { try BurstReport(json: bytes, file: path) }

  /// The files that the words of a command line stand for: of a folder, all that end in .json, by their names.
  static func paths(_ words: [String]) throws -> [String] {
    try words.flatMap { word -> [String] in
      guard isFolder(word) else { return [word] }
      let names = try names(in: word).filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
      if names.isEmpty { throw UsageError("\(word): there is no file that ends in .json in this folder") }
      return names.map { "\(word.hasSuffix("/") ? word : word + "/")\($0)" }
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private static func names(in folder: String) throws -> [String] {
    guard let stream = opendir(folder) else { throw UsageError("\(folder): \(String(cString: strerror(errno)))") }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    return names
  }
}
