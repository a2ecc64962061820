import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import Foundation
import PropertyLists
import TestSupport
import Testing

@testable import ExternalAccessory

/// An Info.plist, XML and binary, by both libraries: libplist in easim and Foundation in apps.
@Suite struct InfoPlistTests {
  enum Library: CaseIterable {
    case libplist, foundation

    func read(_ file: PropertyListFile) throws(SourceProblem) -> PropertyList {
      switch self {
      case .libplist: try LibPlist.read(file)
      case .foundation: try FoundationPropertyList.read(file)
      }
    }
  }

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

  /// The same values in the form of app bundles.
  static func binary() throws -> [UInt8] {
    let object = try PropertyListSerialization.propertyList(from: Data(xml.utf8), format: nil)
    return Array(try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0))
  }

  @Test(arguments: Library.allCases) func bothFormsHaveTheSameValues(library: Library) throws {
    let plist = try library.read(PropertyListFile(Array(Self.xml.utf8), path: "x"))
    #expect(try library.read(PropertyListFile(Self.binary(), path: "b")) == plist)
    #expect(plist["CFBundleName"] == .text("R&D <李未可>"))
    #expect(
      plist["UISupportedExternalAccessoryProtocols"] == .array([.text("com.lawaken.iap2"), .text("com.example.echo")]))
    #expect(plist["Version"] == .other("a number") && plist["Ratio"] == .other("a number"))
    #expect(plist["Day"] == .other("a date") && plist["Icon"] == .other("data") && plist["Empty"] == .text(""))
    #expect(plist["None"] == nil)
  }

  @Test(arguments: Library.allCases, [false, true])
  func theFileSaysWhatIsDeclaredAndWhichModesThereAre(library: Library, isBinary: Bool) throws {
    let folder = TemporaryFolder()
    let path = folder.write(isBinary ? try Self.binary() : Array(Self.xml.utf8), to: "Info.plist")
    let manifest = try AppManifest.read(file: path, with: library.read)
    #expect(manifest.declares("com.lawaken.iap2") && !manifest.declares("com.b"))
    #expect(manifest.keepsAccessoriesInBackground)
    #expect(
      manifest.provenance
        == "\(path) declares com.lawaken.iap2, com.example.echo under UISupportedExternalAccessoryProtocols")
    #expect(try AppManifest.find(among: ["/nowhere/Info.plist", path], with: library.read) == manifest)
  }

  @Test(arguments: Library.allCases) func aFileOfAnotherShapeIsAnError(library: Library) throws {
    let folder = TemporaryFolder()
    let list = folder.write("<plist>\n<array/></plist>", to: "list")
    let error = #expect(throws: SourceProblem.self) { try AppManifest.read(file: list, with: library.read) }
    #expect(error?.description == "\(list): an Info.plist must be a dictionary, found an array")
    let number = folder.write(
      "<plist><dict>\n<key>UISupportedExternalAccessoryProtocols</key>\n<integer>1</integer></dict></plist>",
      to: "number")
    let other = #expect(throws: SourceProblem.self) { try AppManifest.read(file: number, with: library.read) }
    #expect(
      other?.description
        == "\(number): UISupportedExternalAccessoryProtocols: expected an array of strings, found a number")
  }

  @Test(arguments: Library.allCases) func xmlThatIsNoPropertyListIsAnError(library: Library) {
    for text in ["<html></html>", "<plist><array><string>a</array></plist>", "<plist><strin/></plist>"] {
      let error = #expect(throws: SourceProblem.self) {
        try library.read(PropertyListFile(Array(text.utf8), path: "Info.plist"))
      }
      #expect(error?.description.hasPrefix("Info.plist is not a valid property list: ") == true)
    }
  }

  @Test(arguments: Library.allCases) func everyCutAndEveryChangedByteIsAnAnswerAndNeverATrap(library: Library) throws {
    for bytes in [Array(Self.xml.utf8), try Self.binary()] {
      for count in bytes.indices { attempt(Array(bytes[..<count]), library) }
      for index in bytes.indices {
        for byte in [0x00, 0x3C, 0x3E, 0x26, 0x5F, 0xA1, 0xD1, 0xFF] as [UInt8] {
          var changed = bytes
          changed[index] = byte
          attempt(changed, library)
        }
      }
    }
  }

  /// libplist ends the process at a key with one, and cuts ASCII off.
  @Test(arguments: Library.allCases, ["a\0李", "a\0b", "\0"]) func aNULInTheTextOfABinaryFileIsAnError(
    library: Library, text: String
  ) throws {
    for object in [[text: 1], ["key": text], ["key": [text]]] as [[String: Any]] {
      let bytes = try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0)
      let error = #expect(throws: SourceProblem.self) {
        try library.read(PropertyListFile(Array(bytes), path: "Info.plist"))
      }
      #expect(error?.description.hasSuffix(" is text with a NUL character") == true, "\(String(describing: error))")
    }
  }

  /// A reference may point anywhere, also into the middle of a text.
  @Test(arguments: Library.allCases) func anyOffsetOfAnObjectIsAnAnswerAndNeverATrap(library: Library) throws {
    let bytes = try Self.binary()
    let table = Int(bytes[bytes.count - 1]) | Int(bytes[bytes.count - 2]) << 8
    for index in table..<bytes.count - 32 {
      for byte in 0...255 as ClosedRange<UInt8> {
        var changed = bytes
        changed[index] = byte
        attempt(changed, library)
      }
    }
  }

  @Test(arguments: Library.allCases) func whatIsNestedAsDeepAsAllowedIsRead(library: Library) throws {
    let depth = PropertyListFile.deepest
    let text =
      "<plist>" + String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth) + "</plist>"
    var list = try library.read(PropertyListFile(Array(text.utf8), path: "deep"))
    for _ in 1..<depth {
      guard case .array(let inner) = list, inner.count == 1 else {
        Issue.record("a list has one list in it")
        return
      }
      list = inner[0]
    }
    #expect(list == .array([]))
  }

  private func attempt(_ bytes: [UInt8], _ library: Library) {
    guard let file = try? PropertyListFile(bytes, path: "changed") else { return }
    _ = try? library.read(file)
  }
}
