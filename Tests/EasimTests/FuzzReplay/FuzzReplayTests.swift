import Foundation
import FuzzTargets
import TestSupport
import Testing

/// Replays every input that has ever broken a fuzz target. A crash in this test means that a bug has returned.
@Suite struct FuzzReplayTests {
  @Test(arguments: [
    "FuzzWire", "FuzzMessages", "FuzzProfiles", "FuzzPropertyLists", "FuzzCaptures", "FuzzControl",
  ])
  func noFindingComesBack(target: String) throws {
    let files = Repository.files(under: "Fuzz/Findings/\(target)")
    // The folder contains at least a README, so an empty list means that the folder has been moved.
    #expect(!files.isEmpty)
    for file in files {
      let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: "\(Repository.root)/\(file)")))
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
