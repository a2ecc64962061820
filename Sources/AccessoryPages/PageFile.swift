import AccessoryFormats
import AccessoryProfiles

/// A file of the live page. The live page is served at `/`. The files are embedded in the program. The page talks to
/// the server only through the control protocol.
public struct PageFile: Equatable, Sendable {
  /// The path in the URL, such as `/` or `/main.js`.
  public let path: String
  /// The value of `Content-Type`.
  public let type: String
  /// The file's name in `Sources/AccessoryPages/files`, or an empty string if the file is generated.
  public let name: String
  /// The contents of the file.
  public let bytes: [UInt8]

  /// All files, keyed by path.
  public static let all: [String: PageFile] = {
    var files: [String: PageFile] = [:]
    for file in EmbeddedFiles.files(in: "page").map(PageFile.init) { files[file.path] = file }
    // Reports contain the same style sheet.
    files["/look.css"] = PageFile(
      path: "/look.css", type: "text/css; charset=utf-8", name: "", bytes: Array(PageLook.style.utf8))
    return files
  }()

  /// The page's content security policy: the browser may load files only from this server, and send requests only to
  /// it. Scripts cannot create elements from text, so a name that contains markup cannot change the page.
  public static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].joined(separator: "; ")
}

extension PageFile {
  private init(_ file: (name: String, bytes: [UInt8])) {
    (name, bytes) = file
    path = name == "index.html" ? "/" : "/\(name)"
    type =
      switch name.split(separator: ".").last {
      case "html": "text/html; charset=utf-8"
      case "css": "text/css; charset=utf-8"
      case "svg": "image/svg+xml"
      default: "text/javascript; charset=utf-8"
      }
  }
}
