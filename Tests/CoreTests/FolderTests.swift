import AccessoryCore
import Glibc
import TestSupport
import Testing

@Suite struct FolderTests {
  @Test func itsNamesAreSortedAndThoseOfFoldersAreAmongThem() {
    let place = TemporaryFolder()
    for name in ["b", "a", ".c"] { place.write("", to: name) }
    place.makeFolder("d")
    #expect(Folder.names(in: place.path) == [".c", "a", "b", "d"])
  }

  @Test func oneThatIsNotThereHasNone() {
    #expect(Folder.names(in: "/nowhere") == nil)
    #expect(errno == ENOENT)
  }
}
