import AccessoryCore
import Testing

@testable import AccessoryProfiles

/// The section `link` by its format and by the reader written by hand: the same values and the same complaints.
@Suite struct LinkFormatTests {
  private func compare(_ value: JSON5Value) {
    let (old, new) = (ProblemCollector(), ProblemCollector())
    let reader = ObjectReader(value, shape: ProfileShapes.link, path: "link", old)
    let expected = reader.map { ProfileReader.link($0) }
    let found = Profile.Link.format.read(value, onto: Profile.Link(), at: Place("link", new))
    #expect(new.problems == old.problems)
    if old.errorCount == 0 {
      #expect(found == expected)
      // What is written is read back by either.
      let written = found.flatMap { ObjectReader(Profile.Link.format.tree($0), shape: ProfileShapes.link, old) }
      #expect(written.map { ProfileReader.link($0) } == found)
    }
  }

  @Test func shippedFilesAndEverySingleMistake() throws {
    for bytes in SchemaTests.corpus {
      guard let link = try JSON5.read(bytes, file: "f")["link"] else { continue }
      compare(link)
    }
    let link = try #require(try JSON5.read(everyKey, file: "f")["link"])
    let others: [JSON5Value] = [
      .null, .boolean(false), .number(-1), .number(5), .number(100_000), .text("x"), .text("250ms"), .text("9000h"),
      .array([]), .object([]),
    ]
    func change(_ value: JSON5Value, _ rebuild: (JSON5Value) -> JSON5Value) {
      for other in others { compare(rebuild(other)) }
      guard case .object(let members) = value.content else { return }
      for index in members.indices {
        var without = members
        let member = without.remove(at: index)
        compare(rebuild(.object(without)))
        compare(rebuild(.object(without + [member, member])))
        compare(rebuild(.object(without + [.init("x" + member.key, member.value)])))
        change(member.value) { changed in rebuild(.object(without + [.init(member.key, changed)])) }
      }
    }
    change(link) { $0 }
  }
}
