import AccessoryFormats
import AccessoryProfiles

/// Invalid variants of a valid document, with one mistake each: a key is missing, misspelled or duplicated, or a value
/// has the wrong type or is out of range.
struct Mutations {
  struct Variant {
    let name: String
    let tree: JSON5Value
  }

  private(set) var variants: [Variant] = []

  init(of document: JSON5Value) {
    visit(document, path: "") { $0 }
  }

  private mutating func add(_ name: String, _ tree: JSON5Value) {
    variants.append(Variant(name: name, tree: tree))
  }

  /// Adds all variants of `value`. `rebuild` returns the whole document with `value` replaced by a variant.
  private mutating func visit(_ value: JSON5Value, path: String, _ rebuild: @escaping (JSON5Value) -> JSON5Value) {
    for (word, other) in wrongValues(for: value) where !path.isEmpty { add("\(path) = \(word)", rebuild(other)) }
    switch value.content {
    case .object(let members):
      for (index, member) in members.enumerated() {
        let place = path.isEmpty ? member.key : "\(path).\(member.key)"
        func with(_ change: (inout [JSON5Member]) -> Void) -> JSON5Value {
          var changed = members
          change(&changed)
          return rebuild(.object(changed))
        }
        add("\(place) missing", with { $0.remove(at: index) })
        add("\(place) misspelt", with { $0[index].key = misspelt(member.key) })
        add("\(place) twice", with { $0.insert(member, at: index) })
        visit(member.value, path: place) { changed in
          var copy = members
          copy[index].value = changed
          return rebuild(.object(copy))
        }
      }
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        visit(element, path: "\(path)[\(index)]") { changed in
          var copy = elements
          copy[index] = changed
          return rebuild(.array(copy))
        }
      }
    case .null, .boolean, .number, .text: break
    }
  }

  private func wrongValues(for value: JSON5Value) -> [(String, JSON5Value)] {
    let huge = 1_000_000_000_000_000
    switch value.content {
    case .null: return []
    case .boolean: return [("1", .number(1)), ("'yes'", .text("yes"))]
    case .number: return [("'x'", .text("x")), ("-1", .number(-1)), ("\(huge)", .number(huge))]
    case .text(let text):
      var wrong: [(String, JSON5Value)] = [("5", .number(5)), ("[]", .array([]))]
      if text.first?.isNumber == true, text.hasSuffix("s") {
        wrong += [("'9000h'", .text("9000h")), ("'200h'", .text("200h")), ("'5'", .text("5"))]
      } else {
        let other = misspelt(text)
        wrong.append(("'\(other)'", .text(other)))
      }
      return wrong
    case .array: return [("'x'", .text("x"))]
    case .object: return [("5", .number(5)), ("[]", .array([]))]
    }
  }

  private func misspelt(_ word: String) -> String {
    guard word.count > 2 else { return word + "x" }
    return String(word.prefix(1) + word.dropFirst(2))
  }

  /// Returns invalid variants of `name,parameter=value,…`: each part is misspelled, has no value, has a wrong value, or
  /// occurs twice.
  static func texts(_ text: String) -> [String] {
    let parts = text.split(separator: ",").map(String.init)
    var wrong = [String(text.prefix(1) + text.dropFirst(2))]
    for (index, part) in parts.enumerated().dropFirst() {
      func with(_ other: String) -> String {
        var changed = parts
        changed[index] = other
        return changed.joined(separator: ",")
      }
      let name = part.prefix { $0 != "=" }
      wrong.append(with(String(part.prefix(1) + part.dropFirst(2))))
      wrong.append(with(String(name)))
      wrong.append(with("\(part),\(part)"))
      for value in ["", "x", "-1", "5", "1000000000000000", "9000h", "5%"] { wrong.append(with("\(name)=\(value)")) }
    }
    return wrong + ["\(text),", "\(text),nothing", "\(text),nothing=1"]
  }
}
