import AccessoryCables
import AccessoryCore
import Glibc
import TestSupport
import Testing

@Suite struct LocalDirectoryTests {
  let temporary = TemporaryFolder()

  func standard(_ variables: [String: String]) -> LocalDirectory {
    .standard { variables[$0] }
  }

  @Test func theEnvironmentNamesTheLocalDirectoryBeforeAnythingElse() {
    let local = standard(["EASIM_LOCAL": "/srv/local/", "XDG_RUNTIME_DIR": temporary.path])
    #expect(local.path == "/srv/local")
  }

  @Test func withoutANameTheLocalDirectoryIsInTheRuntimeDirectory() {
    let local = standard(["XDG_RUNTIME_DIR": temporary.path, "TMPDIR": "/var/tmp"])
    #expect(local.path == temporary.path + "/easim")
  }

  @Test(arguments: ["", "relative", "/nowhere/at/all"])
  func aRuntimeDirectoryThatIsNoneGivesWayToTheTemporaryOne(runtime: String) {
    #expect(standard(["XDG_RUNTIME_DIR": runtime]).path == "/tmp/easim-\(geteuid())")
    let local = standard(["XDG_RUNTIME_DIR": runtime, "TMPDIR": temporary.path])
    #expect(local.path == "\(temporary.path)/easim-\(geteuid())")
  }

  @Test func aRelativePathIsMeantFromHere() {
    let here = getcwd(nil, 0).map { pointer in
      defer { free(pointer) }
      return String(cString: pointer)
    }
    #expect(LocalDirectory("local").path == "\(here ?? "")/local")
  }

  @Test func anAddressNamesTheDirectoryUnlessItIsTheStandardOne() {
    let other = LocalDirectory(temporary.path)
    #expect(other.address(of: "S1").description == "local:\(temporary.path)#S1")
    #expect(other.address(of: nil).description == "local:\(temporary.path)#")
    #expect(LocalDirectory(nil).address(of: "S1").description == "local:S1")
  }

  @Test func aLocalDirectoryIsMadeForItsOwnerAlone() throws {
    let local = LocalDirectory(temporary.path + "/local")
    #expect(try !local.check())
    try local.make()
    try local.make()
    var status = stat()
    #expect(stat(local.path, &status) == 0 && status.st_mode & 0o7777 == 0o700)
    #expect(try local.check())
  }

  /// easim must never give advice that locks other users out of /tmp or out of a folder with other files.
  @Test(arguments: [
    (mode_t(0o777), LocalError.Others.everybody, false, true),
    (0o770, .group, false, true), (0o720, .group, false, true),
    (0o777, .everybody, true, false), (0o1777, .everybody, false, false), (0o2775, .group, false, false),
  ])
  func aLocalDirectoryThatOthersMayWriteToIsRefusedAndItsModeMendedOnlyIfNothingElseIsThere(
    mode: mode_t, others: LocalError.Others, hasOtherFiles: Bool, isMended: Bool
  ) throws {
    let local = LocalDirectory(temporary.path + "/shared")
    try local.make()
    if hasOtherFiles { temporary.write("mine", to: "shared/letter.txt") }
    chmod(local.path, mode)
    let error = LocalError.writable(local.path, by: others, holdsOnlyOwnFiles: isMended)
    #expect(throws: error) { try local.make() }
    #expect(throws: error) { try local.check() }
    #expect(error.description.hasPrefix("\(others.rawValue) can write to the local directory \(local.path), "))
    #expect(error.description.contains("chmod 700 \(local.path)") == isMended)
    #expect(error.description.contains("EASIM_LOCAL=DIR"))
    chmod(local.path, 0o755)
    #expect(try local.check())
  }

  @Test(.enabled("only root can give a directory away", { geteuid() == 0 }))
  func aLocalDirectoryOfAnotherUserIsRefused() throws {
    let local = LocalDirectory(temporary.path + "/theirs")
    try local.make()
    chown(local.path, 4_711, 4_711)
    #expect(throws: LocalError.notOwned(local.path, by: 4_711)) { try local.make() }
    #expect(LocalError.notOwned(local.path, by: 4_711).description.contains("EASIM_LOCAL=DIR"))
  }

  @Test func aFileIsNoLocalDirectory() throws {
    let path = temporary.path + "/file"
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    #expect(throws: LocalError.notADirectory(path)) { try LocalDirectory(path).make() }
  }

  @Test func aLinkInTheTemporaryDirectoryIsNotFollowed() throws {
    let elsewhere = LocalDirectory(temporary.path + "/elsewhere")
    try elsewhere.make()
    let local = standard(["TMPDIR": temporary.path])
    symlink(elsewhere.path, local.path)
    #expect(throws: LocalError.notADirectory(local.path)) { try local.make() }
    symlink(elsewhere.path, temporary.path + "/chosen")
    #expect(try LocalDirectory(temporary.path + "/chosen").check(), "a link that somebody chose is theirs to follow")
  }

  @Test func aLocalDirectoryIsNotMadeWhereNothingIs() {
    let path = temporary.path + "/no/local"
    #expect(throws: LocalError.noParent(path)) { try LocalDirectory(path).make() }
  }

  @Test func aPathThatLeavesNoRoomForASocketIsRefused() {
    let path = "/tmp/" + String(repeating: "x", count: LocalDirectory.longestPath - 4)
    #expect(throws: LocalError.pathTooLong(path)) { try LocalDirectory(path).make() }
    #expect(LocalDirectory.longestPath + 1 + "k3x9qa-123456789.sock".utf8.count == Address.longestUnixPath)
  }
}
