import Glibc
import LinuxIO
import TestSupport
import Testing

/// Checks that a file always has either its complete old contents or its complete new contents.
@Suite struct WholeFileTests {
  private let place = TemporaryFolder()
  private let new = Array("the new text".utf8)

  private func read(_ descriptor: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: 100)
    let count = pread(descriptor, &buffer, buffer.count, 0)
    return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
  }

  private func mode(_ name: String) -> mode_t? {
    var status = stat()
    return stat(place.file(name), &status) == 0 ? status.st_mode & 0o7777 : nil
  }

  @Test func whoHasTheFileOpenKeepsTheOldOneWhole() throws {
    let reader = open(place.write("the old text", to: "r.json"), O_RDONLY)
    defer { close(reader) }
    try WholeFile(place.file("r.json")).write(new)
    #expect(read(reader) == "the old text")
    #expect(place.bytes("r.json") == new)
    #expect(place.names == ["r.json"], "no temporary file is left")
  }

  @Test func untilItIsWrittenNothingChanges() throws {
    let existing = try WholeFile(place.write("old", to: "old"))
    let missing = try WholeFile(place.file("missing"))
    #expect(place.names == ["old"])
    withExtendedLifetime((existing, missing)) {}
    #expect(place.bytes("old") == Array("old".utf8))
  }

  @Test(arguments: [0o600, 0o640, 0o755] as [mode_t]) func theModeOfAnExistingFileIsKept(mode: mode_t) throws {
    chmod(place.write("old", to: "r.json"), mode)
    try WholeFile(place.file("r.json")).write(new)
    #expect(self.mode("r.json") == mode)
  }

  @Test func aLinkIsFollowedAndStays() throws {
    place.makeFolder("elsewhere")
    place.write("old", to: "elsewhere/r.json")
    place.link("r.json", to: "elsewhere/r.json")
    place.link("new.json", to: "elsewhere/new.json")
    for name in ["r.json", "new.json"] {
      try WholeFile(place.file(name)).write(new)
      #expect(place.bytes("elsewhere/\(name)") == new)
      var status = stat()
      #expect(lstat(place.file(name), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    }
    #expect(place.names("elsewhere") == ["new.json", "r.json"])
  }

  @Test func aPipeIsWrittenDirectly() throws {
    try #require(mkfifo(place.file("pipe"), 0o600) == 0)
    let reader = open(place.file("pipe"), O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    try WholeFile(place.file("pipe")).write(new)
    var buffer = [UInt8](repeating: 0, count: 100)
    #expect(Glibc.read(reader, &buffer, 100) == new.count)
    #expect(place.names == ["pipe"])
  }

  @Test func devicesAndDescriptorsAreWrittenDirectly() throws {
    try WholeFile("/dev/null").write(new)
    let descriptor = open(place.write("the old text", to: "r"), O_RDWR)
    defer { close(descriptor) }
    try WholeFile("/proc/self/fd/\(descriptor)").write(new)
    #expect(read(descriptor) == "the new text", "not replaced: this process has it open")
  }

  @Test func whatCannotBeWrittenIsKnownBefore() {
    place.makeFolder("folder")
    func code(_ path: String) -> Int32? {
      do throws(SystemError) { _ = try WholeFile(path) } catch { return error.code }
      return nil
    }
    #expect(code(place.file("missing/r.json")) == ENOENT)
    #expect(code(place.file("folder")) == EISDIR)
    #expect(code("/proc/self/nothing") == ENOENT)
    place.link("circle", to: "circle")
    #expect(code(place.file("circle")) == ELOOP)
    #expect(code("/dev/full") == nil)
  }

  @Test func aDeviceThatIsFullIsAnError() throws {
    let full = try WholeFile("/dev/full")
    #expect(throws: SystemError.self) { try full.write(new) }
  }

  @Test func whatAKilledProcessLeftIsSteppedOver() throws {
    place.write("left", to: ".easim-\(getpid())-0.tmp")
    try WholeFile(place.file("r.json")).write(new)
    #expect(place.bytes("r.json") == new)
    #expect(place.names == [".easim-\(getpid())-0.tmp", "r.json"])
  }
}
