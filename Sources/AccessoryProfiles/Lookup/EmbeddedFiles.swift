// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Glibc

/// The files that are embedded in the program, so that it needs no other files: the live page, and the shipped profiles
/// and scenarios. `Sources/CLinux/embedded.c` lists them.
package enum EmbeddedFiles {
  /// Returns the files in a folder (`page`, `profiles` or `scenarios`), with their names in it without `ending`.
  package static func files(in folder: String, without ending: String = "") -> [(name: String, bytes: [UInt8])] {
    var files: [(name: String, bytes: [UInt8])] = []
    var path: UnsafePointer<CChar>?
    var index: UInt32 = 0
    while let text = clinux_embedded(index, &path), let place = path {
      let parts = String(cString: place).split(separator: "/", maxSplits: 1)
      if parts[0] == folder {
        let bytes = [UInt8](UnsafeRawBufferPointer(start: text, count: strlen(text)))
        files.append((String(parts[1].dropLast(ending.count)), bytes))
      }
      index += 1
    }
    return files
  }
}

// Apps use this module but must not depend on a C module, so the function is declared here.
@_extern(c) private func clinux_embedded(
  _ index: UInt32, _ path: UnsafeMutablePointer<UnsafePointer<CChar>?>
) -> UnsafePointer<CChar>?
