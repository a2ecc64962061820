internal import AccessoryCore
internal import AccessoryProfiles
import Foundation

/// Property lists, XML and binary, by Foundation: an app's package needs no other library for them.
enum FoundationPropertyList {
  /// Reads a file.
  static func read(_ file: PropertyListFile) throws(SourceProblem) -> PropertyList {
    do {
      return value(try PropertyListSerialization.propertyList(from: Data(file.bytes), format: nil))
    } catch {
      let detail = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? "\(error)"
      throw SourceProblem(at: nil, "\(file.path) is not a valid property list: \(detail)")
    }
  }

  /// The depth is bounded by ``PropertyListFile``.
  private static func value(_ object: Any) -> PropertyList {
    switch object {
    case let text as String: .text(text)
    case let array as [Any]: .array(array.map(value))
    case let members as [String: Any]: .dictionary(members.mapValues(value))
    case is Date: .other("a date")
    case is Data: .other("data")
    case is NSNumber: .other("a number")
    default: .other("a value of an unsupported kind")
    }
  }
}
