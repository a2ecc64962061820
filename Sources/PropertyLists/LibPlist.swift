import AccessoryCore
import AccessoryProfiles
import CPlist
import Glibc

/// Property lists, XML and binary, by libplist.
///
/// ```swift
/// let list = try LibPlist.read(PropertyListFile(path: "Info.plist"))
/// ```
public enum LibPlist {
  /// Reads a file.
  public static func read(_ file: PropertyListFile) throws(SourceProblem) -> PropertyList {
    let root = file.bytes.withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        switch file.form {
        case .xml: easim_plist_from_xml($0.baseAddress, UInt32($0.count))
        case .binary: easim_plist_from_bin($0.baseAddress, UInt32($0.count))
        }
      }
    }
    guard let root else {
      throw SourceProblem(
        at: nil,
        "\(file.path) is not a valid property list: libplist cannot read it; 'plutil -lint' on a Mac shows where")
    }
    defer { plist_free(root) }
    return value(root)
  }

  /// The depth is bounded by ``PropertyListFile``.
  private static func value(_ node: plist_t) -> PropertyList {
    switch plist_get_node_type(node) {
    case PLIST_STRING:
      var length: UInt64 = 0
      let text = plist_get_string_ptr(node, &length)
      return .text(
        text.map { String(decoding: UnsafeRawBufferPointer(start: $0, count: Int(length)), as: UTF8.self) } ?? "")
    case PLIST_ARRAY:
      return .array((0..<plist_array_get_size(node)).compactMap { plist_array_get_item(node, $0).map(value) })
    case PLIST_DICT: return .dictionary(members(node))
    case PLIST_BOOLEAN: return .other("a boolean")
    case PLIST_UINT, PLIST_REAL: return .other("a number")
    case PLIST_DATE: return .other("a date")
    case PLIST_DATA: return .other("data")
    default: return .other("a value of an unsupported kind")
    }
  }

  private static func members(_ node: plist_t) -> [String: PropertyList] {
    var members: [String: PropertyList] = [:]
    var iterator: plist_dict_iter?
    plist_dict_new_iter(node, &iterator)
    defer { free(iterator) }
    while true {
      var key: UnsafeMutablePointer<CChar>?
      var member: plist_t?
      plist_dict_next_item(node, iterator, &key, &member)
      guard let key, let member else { return members }
      members[String(cString: key)] = value(member)
      free(key)
    }
  }
}
