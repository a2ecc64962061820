import AccessoryPages
import TestSupport
import Testing

@Suite struct PageFileTests {
  @Test func everyFileOfTheFolderIsEmbeddedAsItIs() throws {
    let folder = "Sources/AccessoryPages/files"
    let names = Repository.files(under: folder).map { String($0.split(separator: "/").last ?? "") }
    let embedded = PageFile.all.values.filter { !$0.name.isEmpty }
    #expect(Set(embedded.map(\.name)) == Set(names))
    for file in embedded {
      #expect(String(decoding: file.bytes, as: UTF8.self) == (try Repository.text("\(folder)/\(file.name)")))
      #expect(file.path == (file.name == "index.html" ? "/" : "/\(file.name)"))
    }
  }

  @Test func everyModuleThatIsImportedIsThere() throws {
    for file in PageFile.all.values where file.name.hasSuffix(".js") {
      let text = String(decoding: file.bytes, as: UTF8.self)
      for part in text.split(separator: "from \"./").dropFirst() {
        #expect(PageFile.all["/\(part.prefix { $0 != "\"" })"] != nil, "\(file.name) imports \(part.prefix(20))")
      }
    }
  }

  /// The live page and the reports use the same style sheet for colors, cards and charts.
  @Test func theLookIsServedAndSaidOnce() throws {
    let look = String(decoding: try #require(PageFile.all["/look.css"]).bytes, as: UTF8.self)
    let own = String(decoding: try #require(PageFile.all["/style.css"]).bytes, as: UTF8.self)
    for part in ["--line0:", ".card {", ".chart .line {", ".legend {"] {
      #expect(look.contains(part) && !own.contains(part), "\(part)")
    }
    let defined = Set(look.matches(of: #/(--[a-z0-9-]+):/#).map { String($0.output.1) } + ["--depth"])
    for name in own.matches(of: #/var\((--[a-z0-9-]+)\)/#).map({ String($0.output.1) }) {
      #expect(defined.contains(name), "\(name)")
    }
  }

  @Test func thePolicyAllowsNothingFromElsewhere() {
    #expect(PageFile.policy.hasPrefix("default-src 'none'"))
    for word in ["unsafe", "http:", "https:", "*", "data:"] { #expect(!PageFile.policy.contains(word)) }
  }
}
