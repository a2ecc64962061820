import Glibc
import TestSupport
import Testing

@testable import easim

/// With `--save-files`, easim chooses the file names, overwrites no files, and limits how many it writes.
@Suite struct SavedFilesTests {
  private let place = TemporaryFolder()

  @Test func filesGetUnusedNamesWithMatchingExtensions() throws {
    place.makeFolder("files")
    place.write("mine", to: "files/file-0001.bin")
    place.link("files/file-0002.bin", to: "/nowhere")
    let files = try SavedFiles(in: place.file("files"))
    #expect(try files.save([1, 2]) == place.file("files/file-0003.bin"))
    #expect(try files.save([0xFF, 0xD8, 0xFF, 0xE0]) == place.file("files/file-0004.jpg"))
    #expect(try files.save([0x89, 0x50, 0x4E, 0x47]) == place.file("files/file-0005.png"))
    #expect(place.bytes("files/file-0001.bin") == Array("mine".utf8))
    #expect(place.bytes("files/file-0003.bin") == [1, 2])
    #expect(place.names("files").count == 5)
  }

  @Test func aMissingFolderIsMadeAndAFileInItsPlaceIsRefused() throws {
    #expect(try SavedFiles(in: place.file("new")).save([]) == place.file("new/file-0001.bin"))
    place.write("x", to: "taken")
    #expect(throws: UsageError.self) { try SavedFiles(in: place.file("taken")) }
    #expect(throws: UsageError.self) { try SavedFiles(in: place.file("not/there")) }
  }

  @Test func aRunSavesALimitedNumberOfFiles() throws {
    let files = try SavedFiles(in: place.file("files"), countLimit: 3, byteLimit: 10)
    _ = try files.save([UInt8](repeating: 0, count: 8))
    #expect(throws: UsageError("one run saves at most 1000 files and 1 GiB")) { try files.save([1, 2, 3]) }
    _ = try files.save([1])
    _ = try files.save([1])
    #expect(throws: UsageError("one run saves at most 1000 files and 1 GiB")) { try files.save([]) }
    #expect(place.names("files").count == 3)
  }

  @Test func aFolderThatIsGoneIsAnErrorOfTheSystem() throws {
    let files = try SavedFiles(in: place.file("files"))
    #expect(rmdir(place.file("files")) == 0)
    let error = #expect(throws: UsageError.self) { try files.save([1]) }
    #expect(error?.message == "No such file or directory")
  }
}
