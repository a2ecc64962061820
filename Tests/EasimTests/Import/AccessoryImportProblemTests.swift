import AccessoryFormats
import TestSupport
import Testing

@testable import AccessoryProfiles
@testable import easim

@Suite struct AccessoryImportProblemTests {
  func read(_ text: String) -> AccessoryImport {
    AccessoryImport.read(Array(text.utf8), file: "log")
  }

  static let replacements: [(old: String, new: String, problem: String)] = [
    (
      "  manufacturer: 李未可 \n", "",
      "log:1:1: the accessory that begins here lacks the line 'manufacturer'"
    ),
    (
      "name: 李未可 View AI眼镜", "name: (null)",
      "log:4:1: warning: the field 'name' is (null), so an empty text is used"
    ),
    (
      "16 bytes", "16", "log:14:1: warning: expected a number and ' bytes' after 'certSerial:', found '16'"
    ),
    ("16 bytes", "65 bytes", "log:14:1: warning: 'certSerial' is more than 64 bytes and is omitted"),
    ("607 bytes", "-1 bytes", "log:15:1: warning: expected a number and ' bytes' after 'certData:', found '-1 bytes'"),
    (
      "\"com.lawaken.iap2\"", "\"lawaken\"",
      "log:17:1: 'lawaken' is not a protocol name: expected reverse DNS, such as 'com.example.echo'; it is omitted"
    ),
    (
      "\"com.lawaken.iap2\"", "\"a.b\",\n    \"a.b\"",
      "log:18:1: warning: the protocol 'a.b' is listed twice; the second is ignored"
    ),
    (
      "  dockType:  \n", "  dockType:  \n  colour: blue \n",
      "log:14:1: warning: not understood and ignored: '  colour: blue '"
    ),
    (
      "  dockType:  \n", "  dockType:  \n  dockType: 2 \n",
      "log:14:1: warning: the field 'dockType' occurs twice in one accessory; the first is used"
    ),
    (
      "protocols: (\n    \"com.lawaken.iap2\"\n)", "protocols: none",
      "log:16:1: expected '(' after 'protocols:', followed by one name per line"
    ),
    (
      "  protocols: (\n    \"com.lawaken.iap2\"\n) \n", "",
      "log:1:1: warning: the accessory that begins here has no list of protocols"
    ),
    ("\n) \n", "\n", "log:18:1: warning: the list of protocols before this line is not closed by ')'"),
    ("\n}", "\n", "log:1:1: warning: the accessory that begins here has no closing '}': the text may be truncated"),
    (
      "serialNumber: 0400", "serialNumber: {index}0400",
      "log:7:1: warning: '{index' in the field 'serialNumber' stands for an instance number in a profile"
    ),
    (
      "<EAAccessory: 0x", "<EAThing: 0x",
      "log:1:1: this text contains no accessory: a description begins with '<EAAccessory: 0x…> {'"
    ),
  ]

  @Test(arguments: replacements)
  func whatIsNotAsItShouldBeIsNamedByItsLine(old: String, new: String, problem: String) {
    #expect(read(glassesDump.replacing(old, with: new)).problems.map(\.description) == [problem])
  }

  @Test func anAccessoryThatIsCutOffByTheNextIsStillThere() {
    let first = glassesDump.replacing("\n}", with: "\n")
    let imported = read(first + glassesDump)
    #expect(imported.accessories.map(\.profile.identity.modelNumber) == ["LAWK View", "LAWK View"])
    #expect(
      imported.problems.map(\.description) == [
        "log:1:1: warning: the accessory that begins here has no closing '}': the text may be truncated"
      ])
  }

  @Test func bytesThatAreNotUTF8AreReplacedAndNamed() {
    var bytes = Array(glassesDump.utf8)
    let place = bytes.firstIndex(of: 0xE6) ?? 0
    bytes[place] = 0xFF
    let imported = AccessoryImport.read(bytes, file: "log")
    #expect(
      imported.problems.map(\.description) == ["log:4:1: warning: the line is not UTF-8; invalid bytes were replaced"])
    #expect(imported.accessories.first?.profile.identity.name.hasSuffix("未可 View AI眼镜") == true)
  }

  @Test func tooLongATextIsRefused() {
    let bytes = [UInt8](repeating: 0x20, count: DumpLine.limit + 1)
    #expect(
      AccessoryImport.read(bytes, file: "log").problems.map(\.description) == [
        "log:1:1: the text has 16777217 bytes; the limit is 16777216: extract the accessory"
      ])
  }

  @Test func moreThan256ProtocolsAreLeftOutAndNamed() {
    let list = (0..<300).map { "    \"a.p\($0)\"" }.joined(separator: ",\n")
    let imported = read(glassesDump.replacing("    \"com.lawaken.iap2\"", with: list))
    #expect(imported.accessories.first?.profile.protocols.count == 256)
    #expect(
      imported.problems.map(\.description) == [
        "log:273:1: an accessory has at most 256 protocols; the others are omitted"
      ])
  }

  // MARK: Robustness

  @Test func aDumpCutAtAnyByteIsReadOrNamed() {
    let bytes = Array(glassesDump.utf8)
    for length in 0..<bytes.count {
      let imported = AccessoryImport.read(Array(bytes[..<length]), file: "log")
      #expect(!imported.problems.isEmpty)
    }
  }

  @Test(arguments: 0..<2)
  func aDumpWithWrongBytesIsReadOrNamed(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let tokens = ["\n", "\r", "(", ")", "\"", "\\U", "\\n", "}", "<EAAccessory: 0x1> {", "  name:", ",", "(null)", " "]
    for _ in 0..<500 {
      let text = Bool.random(using: &random) ? glassesDump : PropertyListText.array([glassesDump])
      let bytes = random.damaged(Array(text.utf8), atMost: 8, inserting: tokens)
      let imported = AccessoryImport.read(bytes, file: "log")
      #expect(!imported.accessories.isEmpty || !imported.problems.isEmpty)
      for accessory in imported.accessories { #expect(accessory.profile.check().allSatisfy { !$0.message.isEmpty }) }
    }
  }
}
