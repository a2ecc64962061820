import AccessoryControl
import AccessoryCore
import AccessoryPages
import CEasim
import Glibc

/// Serves the files of the live page from the program or, for development, from the folder named by `EASIM_PAGE`.
extension HTTPDoor {
  /// Answers with one of the page's files. No token is required, because the files are the same for everyone and
  /// contain no secrets.
  static func answerPage(_ connection: OpaquePointer, _ path: String) -> MHD_Result {
    guard let file = PageFile.all[path] else { return cmicrohttpd_result(0) }
    let bytes =
      getenv("EASIM_PAGE").flatMap { try? InputFile.read("\(String(cString: $0))/\(file.name)") } ?? file.bytes
    guard let response = bytes.withUnsafeBytes({ cmicrohttpd_response($0.baseAddress, $0.count) }) else {
      return cmicrohttpd_result(0)
    }
    defer { MHD_destroy_response(response) }
    for (name, value) in [
      ("Content-Type", file.type), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
      ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"), ("Content-Security-Policy", PageFile.policy),
    ] { MHD_add_response_header(response, name, value) }
    return MHD_queue_response(connection, 200, response)
  }
}
