import AccessoryCables
import AccessoryCore
import Glibc
import TestSupport
import Testing

@Suite struct BenchDirectoryTests {
  let temporary = TemporaryFolder()

  func standard(_ variables: [String: String]) -> BenchDirectory {
    .standard { variables[$0] }
  }

  @Test func theEnvironmentNamesTheBenchBeforeAnythingElse() {
    let bench = standard(["EASIM_BENCH": "/srv/bench/", "XDG_RUNTIME_DIR": temporary.path])
    #expect(bench.path == "/srv/bench")
    #expect(bench.origin == .environment)
  }

  @Test func withoutANameTheBenchIsInTheRuntimeDirectory() {
    let bench = standard(["XDG_RUNTIME_DIR": temporary.path, "TMPDIR": "/var/tmp"])
    #expect(bench.path == temporary.path + "/easim")
    #expect(bench.origin == .runtimeDirectory)
  }

  @Test(arguments: ["", "relative", "/nowhere/at/all"])
  func aRuntimeDirectoryThatIsNoneGivesWayToTheTemporaryOne(runtime: String) {
    let bench = standard(["XDG_RUNTIME_DIR": runtime, "TMPDIR": temporary.path])
    #expect(bench.path == "\(temporary.path)/easim-\(geteuid())")
    #expect(bench.origin == .temporaryDirectory)
  }

  @Test func withNothingSetTheBenchIsTheUsersInTmp() {
    #expect(standard([:]).path == "/tmp/easim-\(geteuid())")
  }

  @Test func aRelativePathIsMeantFromHere() {
    let here = getcwd(nil, 0).map { pointer in
      defer { free(pointer) }
      return String(cString: pointer)
    }
    #expect(BenchDirectory("bench").path == "\(here ?? "")/bench")
  }

  @Test func anAddressNamesTheDirectoryUnlessItIsTheStandardOne() {
    let other = BenchDirectory(temporary.path)
    #expect(other.address(of: "S1").description == "bench:\(temporary.path)#S1")
    #expect(other.address(of: nil).description == "bench:\(temporary.path)#")
    #expect(BenchDirectory(nil).address(of: "S1").description == "bench:S1")
  }

  @Test func aBenchIsMadeForItsOwnerAlone() throws {
    let bench = BenchDirectory(temporary.path + "/bench")
    #expect(try !bench.check())
    try bench.make()
    try bench.make()
    var status = stat()
    #expect(stat(bench.path, &status) == 0 && status.st_mode & 0o7777 == 0o700)
    #expect(try bench.check())
  }

  @Test func aBenchThatEverybodyMayWriteToIsRefusedWithTheCommandThatMendsIt() throws {
    let bench = BenchDirectory(temporary.path + "/open")
    try bench.make()
    chmod(bench.path, 0o777)
    let error = BenchError.writable(bench.path, by: .everybody, isBench: true)
    #expect(throws: error) { try bench.make() }
    #expect(throws: error) { try bench.check() }
    #expect(error.description.contains("chmod 700 \(bench.path)"))
  }

  /// Nobody is advised to lock everybody out of /tmp, or of a folder with other files.
  @Test(arguments: [mode_t(0o1777), 0o2775, 0o777])
  func theModeOfADirectoryThatIsMoreThanABenchIsNotChanged(mode: mode_t) throws {
    let bench = BenchDirectory(temporary.path + "/shared")
    try bench.make()
    if mode == 0o777 { temporary.write("mine", to: "shared/letter.txt") }
    chmod(bench.path, mode)
    let error = BenchError.writable(bench.path, by: mode == 0o2775 ? .group : .everybody, isBench: false)
    #expect(throws: error) { try bench.check() }
    #expect(!error.description.contains("chmod") && error.description.contains("EASIM_BENCH=DIR"))
  }

  @Test(arguments: [mode_t(0o770), 0o720, 0o775]) func aBenchThatItsGroupMayWriteToIsRefusedAsWell(mode: mode_t) throws
  {
    let bench = BenchDirectory(temporary.path + "/shared")
    try bench.make()
    chmod(bench.path, mode)
    let error = BenchError.writable(bench.path, by: .group, isBench: true)
    #expect(throws: error) { try bench.make() }
    #expect(throws: error) { try bench.check() }
    #expect(error.description.hasPrefix("its group may write to the bench \(bench.path), "))
    chmod(bench.path, 0o755)
    #expect(try bench.check())
  }

  @Test(.enabled("only root can give a directory away", { geteuid() == 0 }))
  func aBenchOfAnotherUserIsRefused() throws {
    let bench = BenchDirectory(temporary.path + "/theirs")
    try bench.make()
    chown(bench.path, 4_711, 4_711)
    #expect(throws: BenchError.notOwned(bench.path, by: 4_711)) { try bench.make() }
    #expect(BenchError.notOwned(bench.path, by: 4_711).description.contains("EASIM_BENCH=DIR"))
  }

  @Test func aFileIsNoBench() throws {
    let path = temporary.path + "/file"
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    #expect(throws: BenchError.notADirectory(path)) { try BenchDirectory(path).make() }
  }

  @Test func aLinkInTheTemporaryDirectoryIsNotFollowed() throws {
    let elsewhere = BenchDirectory(temporary.path + "/elsewhere")
    try elsewhere.make()
    let bench = standard(["TMPDIR": temporary.path])
    symlink(elsewhere.path, bench.path)
    #expect(throws: BenchError.notADirectory(bench.path)) { try bench.make() }
    symlink(elsewhere.path, temporary.path + "/chosen")
    #expect(try BenchDirectory(temporary.path + "/chosen").check(), "a link that somebody chose is theirs to follow")
  }

  @Test func aBenchIsNotMadeWhereNothingIs() {
    let path = temporary.path + "/no/bench"
    #expect(throws: BenchError.noParent(path)) { try BenchDirectory(path).make() }
  }

  @Test func aPathThatLeavesNoRoomForASocketIsRefused() {
    let path = "/tmp/" + String(repeating: "x", count: BenchDirectory.longestPath - 4)
    #expect(throws: BenchError.pathTooLong(path)) { try BenchDirectory(path).make() }
    #expect(BenchDirectory.longestPath + 1 + "k3x9qa-123456789.sock".utf8.count == Address.longestUnixPath)
  }
}
