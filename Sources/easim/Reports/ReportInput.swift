import AccessoryCore
import AccessoryFormats
import AccessoryLoad
import AccessoryRuns
import Glibc

struct ReportInput {
  let path: String
  private let bytes: [UInt8]

  init(_ path: String) throws {
    self.path = path
    bytes = try InputFile.read(path)
  }

  var kind: String? {
    // Reports begin with their kind, so that a large file need not be read twice.
    let head = bytes.prefix(60)
    let begin = Array(#"{"easim":""#.utf8)
    if head.starts(with: begin) {
      let name = head.dropFirst(begin.count).prefix { $0 != UInt8(ascii: "\"") }
      return String(decoding: name, as: UTF8.self)
    }
    let limits = JSON5.Limits(bytes: 16 << 20, depth: 16)
    return (try? JSON5.read(bytes, file: path, limits: limits)).flatMap { ReportHeader.kind(of: $0) }
  }

  /// Returns the report; an error lists everything that is wrong with the file.
  func report<Result: Report>(_ type: Result.Type) throws -> Result { try Result(json: bytes, file: path) }

  /// Returns the files that the command-line words refer to; a folder means all .json files in it, sorted by name.
  static func paths(_ words: [String]) throws -> [String] {
    try words.flatMap { word -> [String] in
      guard isFolder(word) else { return [word] }
      guard let all = Folder.names(in: word) else {
        throw UsageError("\(word): \(String(cString: strerror(errno)))")
      }
      let names = all.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }
      if names.isEmpty { throw UsageError("\(word): there is no file that ends in .json in this folder") }
      return names.map { "\(word.hasSuffix("/") ? word : word + "/")\($0)" }
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
