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
    if let first = bytes.first(where: { !" \t\r\n".utf8.contains($0) }), !"{/".utf8.contains(first) {
      throw UsageError("\(path) is not a JSON report, and easim reads reports in no other form")
    }
  }

  var kind: String? {
    // The kind is at the beginning of a report, so there is no need to read a large file twice.
    let head = bytes.prefix(60)
    let begin = Array(#"{"easim":""#.utf8)
    if head.starts(with: begin) {
      let name = head.dropFirst(begin.count).prefix { $0 != UInt8(ascii: "\"") }
      return String(decoding: name, as: UTF8.self)
    }
    let limits = JSON5.Limits(bytes: 16 << 20, depth: 16)
    return (try? JSON5.read(bytes, file: path, limits: limits)).flatMap { ReportHeader.kind(of: $0) }
  }

  /// Returns the report. If the file is invalid, throws an error that lists every mistake.
  func report<Result: Report>(_ type: Result.Type) throws -> Result { try Result(json: bytes, file: path) }

  /// Returns the files that the user's words refer to. A folder stands for all the .json files in it, sorted by name.
  static func paths(_ words: [String]) throws -> [String] {
    try words.flatMap { word -> [String] in
      guard isFolder(word) else { return [word] }
      guard let all = Folder.names(in: word) else {
        throw UsageError("\(word): \(String(cString: strerror(errno)))")
      }
      let names = all.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }
      if names.isEmpty { throw UsageError("\(word): this folder contains no .json file") }
      return names.map { "\(word.hasSuffix("/") ? word : word + "/")\($0)" }
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}

/// Adds up the reports of shards as they are read, so that memory never holds more than one report and the sum.
struct ReportSum<Result: Report> {
  var report: Result
  /// Messages about incomplete shards, which are left out of the sum.
  private(set) var unfinished: [String] = []

  init(_ first: ReportInput, _ others: some Collection<String>, _ console: Console) throws {
    var sum = try first.report(Result.self)
    var lastUnfinished = sum.unfinished.map { "\(first.path): \($0)" }
    let progress = ReadingProgress(files: others.count + 1, console)
    defer { progress.end() }
    progress.add(1)
    for path in others {
      defer { progress.add(1) }
      let next = try ReportInput(path).report(Result.self)
      if let reason = next.unfinished {
        unfinished.append("\(path): \(reason)")
        continue
      }
      if let reason = lastUnfinished {
        // All earlier reports are incomplete, so the sum starts with this one.
        unfinished.append(reason)
        lastUnfinished = nil
        sum = next
        continue
      }
      let differences = next.differences(from: sum)
      if !differences.isEmpty {
        console.err(
          "easim: warning: the reports have different plans: \(path) has \(differences.joined(separator: "; "))")
      }
      if let caution = sum.caution(adding: next) { console.err("easim: warning: \(path) \(caution)") }
      do { try sum.add(next) } catch { throw UsageError("\(path): with this report, \(error)") }
    }
    if let lastUnfinished { unfinished.insert(lastUnfinished, at: 0) }
    report = sum
  }

  /// Prints which shards are missing. Returns true if no shards are missing.
  func reportMissing(_ console: Console) -> Bool {
    for line in unfinished { console.err("easim: \(line): run it again") }
    if let missing = report.shards.missingText { console.err("easim: \(missing)") }
    return unfinished.isEmpty && report.shards.isComplete
  }
}
