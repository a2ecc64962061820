import AccessoryCore
import FuzzTargets
import Glibc
import TestSupport
import Testing

/// Replays every input that has ever broken a fuzz target. A crash in this test means that a bug has returned.
@Suite struct FuzzReplayTests {
  @Test(arguments: [
    "FuzzWire", "FuzzMessages", "FuzzProfiles", "FuzzPropertyLists", "FuzzCaptures", "FuzzControl",
  ])
  func noFindingComesBack(target: String) throws {
    let findings = try Findings(of: target)
    // The folder contains at least a README, so an empty list means that the folder has been moved.
    #expect(!findings.files.isEmpty)
    for bytes in findings.files {
      switch target {
      case "FuzzWire": FuzzedWire.play(bytes)
      case "FuzzMessages": FuzzedMessage.play(bytes)
      case "FuzzPropertyLists": FuzzedPropertyList.play(bytes)
      case "FuzzCaptures": FuzzedCapture.play(bytes)
      case "FuzzControl": FuzzedControl.play(bytes)
      default: FuzzedProfile.play(bytes)
      }
    }
  }
}

private struct Findings {
  struct Unreadable: Error { let path: String }

  let files: [[UInt8]]

  init(of target: String) throws {
    let folder = "\(Repository.root)/Fuzz/Findings/\(target)"
    guard let names = Folder.names(in: folder) else { throw Unreadable(path: folder) }
    var files: [[UInt8]] = []
    for name in names where !name.hasPrefix(".") {
      guard let file = fopen("\(folder)/\(name)", "r") else { throw Unreadable(path: "\(folder)/\(name)") }
      defer { fclose(file) }
      var bytes = [UInt8](repeating: 0, count: 65_536)
      files.append(Array(bytes.prefix(fread(&bytes, 1, bytes.count, file))))
    }
    self.files = files
  }
}
