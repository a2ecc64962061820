import AccessoryCore
import AccessoryRuns
import CPage

/// A file of the live page, which is at `/`. The files are part of the program; the page itself uses only the control
/// protocol.
public struct PageFile: Equatable, Sendable {
  /// The path in the address: `/`, `/main.js`.
  public let path: String
  /// The value of `Content-Type`.
  public let type: String
  /// The name of the file in `Sources/CPage/files`; empty for a generated file.
  public let name: String
  /// Its contents.
  public let bytes: [UInt8]

  private init(_ file: cpage_file) {
    path = String(cString: file.path)
    type = String(cString: file.type)
    name = String(cString: file.name)
    bytes = [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.count))
  }

  /// The style that the live page shares with reports.
  private init(look path: String) {
    (self.path, type, name) = (path, "text/css; charset=utf-8", "")
    bytes = Array(PageLook.style.utf8)
  }

  /// All files, by their paths.
  public static let all: [String: PageFile] = {
    var files: [String: PageFile] = [:]
    for index in 0..<cpage_file_count {
      let file = PageFile(cpage_file_at(index).pointee)
      files[file.path] = file
    }
    let look = PageFile(look: "/look.css")
    files[look.path] = look
    return files
  }()

  /// What the browser may do on the page: load files from this server and send requests to it, and nothing else. Markup
  /// in a name cannot become part of the page, because scripts may not create elements from text.
  public static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].joined(separator: "; ")
}
