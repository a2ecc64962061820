import AccessoryControl
import TestSupport
import Testing

/// The files of the live page are part of the program.
@Suite struct PageFileTests {
  @Test func everyFileOfTheFolderIsEmbeddedAsItIs() throws {
    let folder = "Sources/CPage/files"
    let names = Repository.files(under: folder).map { String($0.split(separator: "/").last ?? "") }
    #expect(Set(PageFile.all.values.map(\.name)) == Set(names))
    for file in PageFile.all.values {
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

  @Test func thePolicyAllowsNothingFromElsewhere() {
    #expect(PageFile.policy.hasPrefix("default-src 'none'"))
    for word in ["unsafe", "http:", "https:", "*", "data:"] { #expect(!PageFile.policy.contains(word)) }
  }
}
