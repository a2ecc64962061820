import AccessoryCore
import AccessoryProfiles
import Testing

@Suite struct PropertyListTests {
  static let whole = """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">
    <!-- what Xcode writes -->
    <dict>
      <key>CFBundleName</key>
      <string>R&amp;D &lt;李&#x672A;&#21487;&gt; <![CDATA[<raw> & so]]></string>
      <key>UISupportedExternalAccessoryProtocols</key>
      <array>
        <string>com.lawaken.iap2</string>
        <!-- the second -->
        <string>com.example.echo</string>
      </array>
      <key>UIBackgroundModes</key>
      <array/>
      <key>Version</key><integer>7</integer>
      <key>Flag</key><true/>
      <key>Other</key><dict><key>Empty</key><string/></dict>
    </dict>
    </plist>

    """

  func read(_ text: String) throws(SourceProblem) -> PropertyList {
    try PropertyList.read(Array(text.utf8), file: "Info.plist")
  }

  func complaint(_ text: String) -> String {
    do {
      return "none: \(try read(text))"
    } catch {
      return error.description
    }
  }

  @Test func whatXcodeWritesIsRead() throws {
    let plist = try read(Self.whole)
    #expect(plist["CFBundleName"]?.content == .text("R&D <李未可> <raw> & so"))
    let key = "UISupportedExternalAccessoryProtocols"
    #expect(try plist[key]?.texts(of: key) == ["com.lawaken.iap2", "com.example.echo"])
    #expect(plist["UIBackgroundModes"]?.content == .array([]))
    #expect(plist["Version"]?.content == .other(tag: "integer", "7"))
    #expect(plist["Flag"]?.content == .boolean(true))
    #expect(plist["Other"]?["Empty"]?.content == .text(""))
    #expect(plist["None"] == nil)
    #expect(plist[key]?.position == SourcePosition(file: "Info.plist", line: 9, column: 3))
  }

  @Test func aMarkAtTheBeginningAndReturnsAtLineEndsDoNotMatter() throws {
    let text = "\u{FEFF}" + Self.whole.split(separator: "\n").joined(separator: "\r\n")
    #expect(try read(text)["Version"]?.content == .other(tag: "integer", "7"))
  }

  @Test func aSingleStringCountsAsAListOfOne() throws {
    let plist = try read("<plist><dict><key>k</key><string>a</string></dict></plist>")
    #expect(try plist["k"]?.texts(of: "k") == ["a"])
  }

  @Test(arguments: [
    ("", "1:1: the file is empty: expected <plist>"),
    (
      "bplist00\u{1}",
      "1:1: this is a binary property list: write it as XML, on Linux with `plistutil -i Info.plist -f xml`"
    ),
    ("{}", "1:1: text stands where a tag is expected"),
    ("<html>", "1:1: expected <plist>, found <html>"),
    ("<plist>\n  <dict>\n<key>a</key></dict></plist>", "3:1: the key 'a' has no value"),
    ("<plist><dict><string>a</string></dict></plist>", "1:14: expected a <key>, found <string>"),
    ("<plist><array>\n<string>a</array></plist>", "2:10: expected </string> for line 2, found </array>"),
    ("<plist><array>\n<string>a</string></plist>", "2:19: expected </array> for line 1, found </plist>"),
    ("<plist><array>\n<strin/></array></plist>", "2:1: <strin/> is no value of a property list"),
    ("<plist><string>a & b</string></plist>", "1:18: an '&' begins no entity here: as text it is written '&amp;'"),
    ("<plist><string>&nbsp;</string></plist>", "1:16: the entity '&nbsp;' is not known"),
    ("<plist><string>a < b</string></plist>", "1:18: a '<' begins no tag here: as text it is written '&lt;'"),
    ("<plist><string>a</string>", "1:1: this <plist> is not closed"),
    ("<plist><!-- ", "1:8: '<!--' is not closed: '-->' is missing"),
    ("<plist><true/></plist><x/>", "1:23: expected nothing after </plist>, found <x/>"),
    ("<!DOCTYPE plist [<!ENTITY a \"b\">]><plist/>", "1:1: a document type with definitions of its own is not read"),
    (
      "<plist><dict><key>a</key><true/><key>a</key><true/></dict></plist>",
      "1:33: the key 'a' occurs twice: first at line 1"
    ),
    ("<plist", "1:1: this tag has no '>'"), ("<plist></plist>", "1:1: the <plist> has no value in it"),
  ])
  func whatIsWrongIsSaidWithItsPlace(text: String, expected: String) {
    #expect(complaint(text) == "Info.plist:\(expected)")
  }

  @Test func aValueOfTheWrongKindIsNamedWithItsKey() throws {
    let plist = try read("<plist><dict>\n<key>k</key>\n<array><string>a</string><true/></array></dict></plist>")
    let error = #expect(throws: SourceProblem.self) { try plist["k"]?.texts(of: "k") }
    #expect(error?.description == "Info.plist:3:26: k: expected a <string> in the list, found <true/>")
    let number = try read("<plist><integer>1</integer></plist>")
    #expect(throws: SourceProblem.self) { try number.texts(of: "k") }
  }

  @Test func nothingIsNestedWithoutEnd() {
    let text = "<plist>" + String(repeating: "<array>", count: 100_000)
    #expect(complaint(text).hasSuffix("lists are nested deeper than 64"))
  }

  @Test func everyCutAndEveryChangedByteIsAnAnswerAndNeverATrap() {
    let bytes = Array(Self.whole.utf8)
    for count in 0..<(bytes.count - 9) {
      #expect(throws: SourceProblem.self) { try PropertyList.read(Array(bytes[..<count]), file: "cut") }
    }
    for index in bytes.indices {
      for byte in [0x00, 0x3C, 0x3E, 0x26, 0xFF] as [UInt8] {
        var changed = bytes
        changed[index] = byte
        _ = try? PropertyList.read(changed, file: "changed")
      }
    }
  }

  @Test func aFileThatIsNotThereIsNamed() {
    let error = #expect(throws: SourceProblem.self) { try PropertyList.read(file: "/nowhere/Info.plist") }
    #expect(error?.description == "/nowhere/Info.plist cannot be read: No such file or directory")
  }
}
