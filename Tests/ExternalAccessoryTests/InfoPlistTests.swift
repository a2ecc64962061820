import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import Foundation
import TestSupport
import Testing

@testable import ExternalAccessory

/// Reads an Info.plist in XML and in binary form. Foundation creates the binary files.
@Suite(.waits) struct InfoPlistTests {
  static let xml = """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">
    <!-- what Xcode writes -->
    <dict>
      <key>CFBundleName</key>
      <string>R&amp;D &lt;李&#x672A;&#21487;&gt;</string>
      <key>UISupportedExternalAccessoryProtocols</key>
      <array>
        <string>com.lawaken.iap2</string>
        <!-- the second -->
        <string>com.example.echo</string>
      </array>
      <key>UIBackgroundModes</key>
      <array><string>external-accessory</string></array>
      <key>Version</key><integer>7</integer>
      <key>Ratio</key><real>1.5</real>
      <key>Day</key><date>2026-01-02T03:04:05Z</date>
      <key>Icon</key><data>AAEC</data>
      <key>Empty</key><string/>
    </dict>
    </plist>

    """

  static func binary() throws -> [UInt8] {
    let object = try PropertyListSerialization.propertyList(from: Data(xml.utf8), format: nil)
    return Array(try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0))
  }

  @Test func bothFormsHaveTheSameValues() throws {
    let plist = try PropertyList(Array(Self.xml.utf8), path: "x")
    #expect(try PropertyList(Self.binary(), path: "b") == plist)
    #expect(plist["CFBundleName"] == .text("R&D <李未可>"))
    #expect(
      plist["UISupportedExternalAccessoryProtocols"] == .array([.text("com.lawaken.iap2"), .text("com.example.echo")]))
    #expect(plist["Version"] == .other("a number") && plist["Ratio"] == .other("a number"))
    #expect(plist["Day"] == .other("a date") && plist["Icon"] == .other("data") && plist["Empty"] == .text(""))
    #expect(plist["None"] == nil)
  }

  @Test(arguments: [false, true])
  func theFileSaysWhatIsDeclaredAndWhichModesThereAre(isBinary: Bool) throws {
    let folder = TemporaryFolder()
    let path = folder.write(isBinary ? try Self.binary() : Array(Self.xml.utf8), to: "Info.plist")
    let manifest = try AppManifest.read(file: path)
    #expect(manifest.declares("com.lawaken.iap2") && !manifest.declares("com.b"))
    #expect(manifest.keepsAccessoriesInBackground)
    #expect(
      manifest.provenance
        == "\(path) declares com.lawaken.iap2, com.example.echo under UISupportedExternalAccessoryProtocols")
    #expect(try AppManifest.find(among: ["/nowhere/Info.plist", path]) == manifest)
  }

  @Test func theFileOfTheVariableIsInTheBundleBeforeAnythingOfTheApp() throws {
    let folder = TemporaryFolder()
    let path = folder.write(Array(Self.xml.utf8), to: "Info.plist")
    let result = try TestBundle.run("EarlyReaders/theBundleHasItFromTheStart", ["EASIM_INFO_PLIST": path])
    #expect(result.status == 0 && result.output.contains("1 test in 1 suite passed"), "\(result.output)")
    let bad = folder.write(Array("<plist/>".utf8), to: "Bad.plist")
    let other = try TestBundle.run("EarlyReaders/theBundleHasItFromTheStart", ["EASIM_INFO_PLIST": bad])
    #expect(other.status != 0)
    #expect(
      other.output.hasPrefix("ExternalAccessory: \(bad):1:1: this is not a valid property list"), "\(other.output)")
  }

  @Test func aFileOfAnotherShapeIsAnError() throws {
    let folder = TemporaryFolder()
    let list = folder.write("<plist>\n<array/></plist>", to: "list")
    let error = #expect(throws: SourceProblem.self) { try AppManifest.read(file: list) }
    #expect(error?.description == "\(list): an Info.plist must be a dictionary, found an array")
    let number = folder.write(
      "<plist><dict>\n<key>UISupportedExternalAccessoryProtocols</key>\n<integer>1</integer></dict></plist>",
      to: "number")
    let other = #expect(throws: SourceProblem.self) { try AppManifest.read(file: number) }
    #expect(
      other?.description
        == "\(number): UISupportedExternalAccessoryProtocols: expected an array of strings, found a number")
  }

  @Test func everyCutAndEveryChangedByteIsAnAnswerAndNeverATrap() throws {
    for bytes in [Array(Self.xml.utf8), try Self.binary()] {
      for count in bytes.indices { attempt(Array(bytes[..<count])) }
      for index in stride(from: 0, to: bytes.count, by: 2) {
        for byte in [0x00, 0x3C, 0xA1] as [UInt8] {
          var changed = bytes
          changed[index] = byte
          attempt(changed)
        }
      }
    }
  }

  /// A reference in a binary file may point anywhere, even into the middle of a string.
  @Test func anyOffsetOfAnObjectIsAnAnswerAndNeverATrap() throws {
    let bytes = try Self.binary()
    let table = Int(bytes[bytes.count - 1]) | Int(bytes[bytes.count - 2]) << 8
    for index in table..<bytes.count - 32 {
      for byte in stride(from: 0, through: 255, by: 5) as StrideThrough<UInt8> {
        var changed = bytes
        changed[index] = byte
        attempt(changed)
      }
    }
  }

  private func attempt(_ bytes: [UInt8]) {
    _ = try? PropertyList(bytes, path: "changed")
  }
}

/// Like a global variable in an app, this constant is initialized when the program is loaded, before `main` runs and
/// before the manager is used.
private let declaredFromTheStart = Bundle.main.object(forInfoDictionaryKey: AppManifest.protocolsKey) as? [String]

/// Only ``InfoPlistTests`` runs these tests, in a process with EASIM_INFO_PLIST set.
@Suite(.waits, .enabled(if: TestBundle.isInner)) struct EarlyReaders {
  @Test func theBundleHasItFromTheStart() {
    #expect(declaredFromTheStart == ["com.lawaken.iap2", "com.example.echo"])
    #expect(Bundle.main.infoDictionary?["CFBundleName"] as? String == "R&D <李未可>")
    #expect(Bundle.main.infoDictionary?["Version"] as? Int == 7)
    #expect(Bundle.main.infoDictionary?[AppManifest.modesKey] as? [String] == ["external-accessory"])
  }
}
