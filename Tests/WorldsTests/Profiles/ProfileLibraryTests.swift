import AccessoryFormats
import Glibc
import TestSupport
import Testing

@testable import AccessoryProfiles

@Suite struct ProfileLibraryTests {
  let folder = TemporaryFolder()
  let library: ProfileLibrary

  init() {
    library = ProfileLibrary(userFolder: folder.path)
  }

  func failure(_ reference: String) -> String? {
    #expect(throws: SourceProblems.self) { try library.template(reference) }?.description
  }

  static let shipped =
    "camera, car, card-reader, charger, dock, echo, gps, heart-rate, lawk-view, location, microphone, misbehaving, multi, "
    + "older-auth, printer, scanner, scripted, sensor, sink, terminal"

  // MARK: Finding

  @Test func anUnknownNameIsAnsweredWithTheNearestAndWithWhereOneLooked() {
    #expect(
      failure("lawkview")
        == "no profile 'lawkview', did you mean 'lawk-view'? Looked in \(folder.path) and the shipped profiles "
        + Self.shipped)
    folder.write(document(), to: "kettle.json5")
    #expect(failure("ketle")?.hasPrefix("no profile 'ketle', did you mean 'kettle'? Looked in") == true)
    let error = #expect(throws: SourceProblems.self) { try ProfileLibrary().profile("turntable") }
    #expect(error?.description == "no profile 'turntable': looked in the shipped profiles \(Self.shipped)")
  }

  @Test func theUsersProfileComesBeforeTheShippedOneAndIsListedOnce() throws {
    folder.write(document("description: 'mine'"), to: "echo.json5")
    folder.write(document(), to: "own.json5")
    folder.write("not a profile", to: "notes.txt")
    #expect(try library.profile("echo").summary == "mine")
    #expect(try library.profile("own").name == "own")
    #expect(
      library.names.map(\.name)
        == (Self.shipped.split(separator: ",").map { OptionText.trimmed($0) } + ["own"]).sorted())
    #expect(library.names.filter(\.isUsers).map(\.name) == ["echo", "own"])
  }

  @Test func aPathIsReadWhereItIs() throws {
    let path = folder.write(document(), to: "some.thing.json5")
    #expect(try library.profile(path).name == "some.thing")
    let json = folder.write("{\"version\": 1, \"extends\": \"echo\"}", to: "plain.json")
    #expect(try library.profile(json).name == "plain")
  }

  @Test func aFileThatCannotBeReadSaysWhatTheSystemSays() throws {
    #expect(failure("/nowhere/x.json5") == "/nowhere/x.json5 cannot be read: No such file or directory")
    #expect(failure(folder.path + "/") == "\(folder.path)/ cannot be read: Is a directory")
    #expect(failure("missing.json5") == "missing.json5 cannot be read: No such file or directory")
    #expect(
      failure("/dev/zero") == "/dev/zero cannot be read: it is larger than the limit of 1048576 bytes")
  }

  @Test func aPipeIsWaitedFor() async throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let (source, sink) = (ends[0], ends[1])
    defer { close(source) }
    let text = Array(document("description: 'piped'").utf8)
    let reading = Task.detached { try ProfileLibrary().profile("/dev/fd/\(source)").summary }
    for byte in text { #expect(withUnsafeBytes(of: byte) { write(sink, $0.baseAddress, 1) } == 1) }
    close(sink)
    #expect(try await reading.value == "piped")
  }

  @Test func aMissingUserFolderIsNoMistake() throws {
    #expect(try ProfileLibrary(userFolder: "/nowhere/at/all").profile("echo").name == "echo")
  }

  @Test func problemsNameTheFileTheyAreIn() throws {
    let path = folder.write("{\n  version: 1,\n  accessory: { nam: 1 },\n}", to: "bad.json5")
    let text = failure("bad") ?? ""
    #expect(text.contains("\(path):3:16: unknown key 'nam' in accessory, did you mean 'name'?"))
    #expect(failure(path) == text)
    folder.write("{\n  version 1 }", to: "broken.json5")
    #expect(failure("broken") == "\(folder.path)/broken.json5:2:11: expected ':' after the key 'version', found '1'")
  }

  @Test func theTextOfAProfileIsGivenAsItWasWritten() throws {
    #expect(try library.text("lawk-view").hasPrefix("// 李未可 View AI眼镜"))
  }

  // MARK: Extending

  @Test func aSectionIsMergedKeyByKeyAndAListIsReplaced() throws {
    folder.write(
      document(
        accessory: "ppid: 'P', dockType: 'D'", protocols: "['a.a', 'b.b']",
        """
        link: { maximumOutstandingPackets: 9, maximumPacketLength: 100, sessions: { control: 5 } },
        behavior: { type: 'source', rate: 5 },
        quirks: ['no-status'],
        """), to: "base.json5")
    folder.write(
      """
      {
        version: 1,
        extends: "base",
        accessory: { name: "Child", ppid: null, protocols: ["c.c"] },
        link: { maximumPacketLength: 200, sessions: { externalAccessory: 6 } },
        behavior: { type: "sink" },
      }
      """, to: "child.json5")
    let child = try library.profile("child")
    #expect(child.identity.name == "Child")
    #expect(child.identity.manufacturer == "M")
    #expect(child.identity.productPlanUID == nil)
    #expect(child.identity.dockType == "D")
    #expect(child.protocols.map(\.name) == ["c.c"])
    #expect((child.link.maximumOutstandingPackets, child.link.maximumPacketLength) == (9, 200))
    #expect(child.link.sessionIDs == [5, 6])
    #expect(child.behavior == .sink(check: false))
    #expect(child.quirks.map(\.name) == ["no-status"])
  }

  @Test func aPathInAFileIsRelativeToThatFile() throws {
    folder.write(document("description: 'the base'"), to: "base.json5")
    let path = folder.write("{ version: 1, extends: './base.json5' }", to: "child.json5")
    #expect(try ProfileLibrary().profile(path).summary == "the base")
  }

  @Test func aUsersProfileMayExtendTheShippedOneOfItsOwnName() throws {
    folder.write("{ version: 1, extends: 'echo', accessory: { name: 'My Echo' } }", to: "echo.json5")
    let profile = try library.profile("echo")
    #expect(profile.identity.name == "My Echo")
    #expect(profile.identity.manufacturer == "Example Works")
  }

  @Test func aTextMayExtendByName() throws {
    let profile = try readTemplate("{ version: 1, extends: 'lawk-view' }").instance()
    #expect(profile.identity.manufacturer == "李未可")
  }

  @Test func aCircleIsNamedWithItsWholeChain() throws {
    let (a, b) = ("\(folder.path)/a.json5", "\(folder.path)/b.json5")
    folder.write("{ version: 1, extends: 'b' }", to: "a.json5")
    folder.write(
      "{ version: 1,\n  extends: '../\(folder.path.split(separator: "/").last ?? "")/a.json5' }", to: "b.json5")
    let around = "\(folder.path)/../\(folder.path.split(separator: "/").last ?? "")/a.json5"
    #expect(
      failure("a") == "\(b):2:12: extends: profiles extend each other in a cycle: \(a) → \(b) → \(around)")
    let itself = folder.write("{ version: 1, extends: './self.json5' }", to: "self.json5")
    #expect(
      failure("self")
        == "\(itself):1:24: extends: profiles extend each other in a cycle: \(itself) → \(folder.path)/./self.json5")
  }

  @Test func aChainHasAnEnd() throws {
    for index in 0..<40 { folder.write("{ version: 1, extends: 'c\(index + 1)' }", to: "c\(index).json5") }
    #expect(failure("c0") == "\(folder.path)/c31.json5:1:24: extends: the chain of 'extends' has more than 32 profiles")
  }

  @Test func whatIsExtendedAndDoesNotExistIsNamedWhereItIsSaid() throws {
    let path = folder.write("{ version: 1,\n extends: 'ehco' }", to: "child.json5")
    #expect(
      failure("child")
        == "\(path):2:11: extends: no profile 'ehco', did you mean 'echo'? Looked in \(folder.path) and the shipped "
        + "profiles \(Self.shipped)")
    let other = folder.write("{ version: 1, extends: 'gone.json5' }", to: "other.json5")
    #expect(
      failure("other")
        == "\(other):1:24: extends: \(folder.path)/gone.json5 cannot be read: No such file or directory")
  }

  @Test func mistakesOfTheExtendedFileAreNamedInThatFile() throws {
    let base = folder.write(document(accessory: "dockType: 5"), to: "base.json5")
    folder.write("{ version: 1, extends: 'base' }", to: "child.json5")
    #expect(failure("child") == "\(base):7:11: accessory.dockType: expected text, found number 5")
    let old = folder.write("{ version: 3 }", to: "old.json5")
    folder.write("{ version: 1, extends: 'old' }", to: "young.json5")
    #expect(failure("young") == "\(old):1:12: version: expected 1, the format this program reads, found number 3")
  }
}
