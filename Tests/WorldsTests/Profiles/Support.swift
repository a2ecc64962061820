import AccessoryFormats
import TestSupport

@testable import AccessoryProfiles

let profilesFolder = "\(Repository.root)/profiles"

/// Returns the text of a whole profile with some parts replaced. Each part begins in the first column of its own line:
/// the protocols on line 5, the accessory's keys on line 7, and other sections on line 9.
func document(
  accessory: String = "", protocols: String = "['com.example.echo']", _ sections: String = ""
) -> String {
  """
  { version: 1,
  accessory: { name: 'N', manufacturer: 'M', modelNumber: 'X', serialNumber: 'S', firmwareRevision: '1',
  hardwareRevision: '1',
  protocols:
  \(protocols)
  ,
  \(accessory)
  },
  \(sections)
  }
  """
}

/// The text of a profile that has every key.
let everyKey = ((try? Repository.text("Tests/EasimTests/ErrorTexts/Documents/profile.json5")) ?? "it is missing")
  .replacing("dockType: \"D\",", with: "dockType: \"D\", appMatchTeamID: \"AB12CD34EF\",")

func readTemplate(
  _ text: String, file: String = "f", library: ProfileLibrary = ProfileLibrary()
) throws(SourceProblems) -> ProfileTemplate {
  try library.template(text: Array(text.utf8), file: file, name: "test")
}

func complaints(_ text: String, library: ProfileLibrary = ProfileLibrary()) -> [String] {
  do {
    return try readTemplate(text, library: library).warnings.map(\.description)
  } catch {
    return error.problems.map(\.description)
  }
}
