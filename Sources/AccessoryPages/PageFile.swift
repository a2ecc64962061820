// swift-format-ignore-file: AlwaysUseLowerCamelCase

import AccessoryFormats

/// A file of the live page. The live page is served at `/`. The files are embedded in the program. The page talks to
/// the server only through the control protocol.
public struct PageFile: Equatable, Sendable {
  /// The path in the URL, such as `/` or `/main.js`.
  public let path: String
  /// The value of `Content-Type`.
  public let type: String
  /// The file's name in `Sources/CPage/files`, or an empty string if the file is generated.
  public let name: String
  /// The contents of the file.
  public let bytes: [UInt8]

  private init(_ index: Int32) {
    path = String(cString: cpage_path(index))
    type = String(cString: cpage_type(index))
    name = String(cString: cpage_name(index))
    bytes = [UInt8](UnsafeBufferPointer(start: cpage_bytes(index), count: cpage_size(index)))
  }

  /// Creates the style sheet that the live page and reports share.
  private init(look path: String) {
    (self.path, type, name) = (path, "text/css; charset=utf-8", "")
    bytes = Array(PageLook.style.utf8)
  }

  /// All files, keyed by path.
  public static let all: [String: PageFile] = {
    var files: [String: PageFile] = [:]
    for index in 0..<cpage_count() {
      let file = PageFile(index)
      files[file.path] = file
    }
    let look = PageFile(look: "/look.css")
    files[look.path] = look
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

// ExternalAccessorySimulation uses this module but must not depend on a C module, so the functions are declared here.
@_extern(c) private func cpage_count() -> Int32
@_extern(c) private func cpage_path(_ index: Int32) -> UnsafePointer<CChar>
@_extern(c) private func cpage_type(_ index: Int32) -> UnsafePointer<CChar>
@_extern(c) private func cpage_name(_ index: Int32) -> UnsafePointer<CChar>
@_extern(c) private func cpage_bytes(_ index: Int32) -> UnsafePointer<UInt8>
@_extern(c) private func cpage_size(_ index: Int32) -> Int
