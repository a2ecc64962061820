import AccessoryFormats
import TestSupport
import Testing

@testable import AccessoryProfiles
@testable import AccessorySoak
@testable import AccessoryWorlds

@Suite struct ExtremeNumberTests {
  private static let spellings = ["0", "-1", "65536", "9223372036854775807", "1e308", "NaN"]

  private func variants(of document: String) throws -> [ExtremeNumbers.Variant] {
    let text = try Repository.text("Tests/EasimTests/ErrorTexts/Documents/\(document).json5")
    return ExtremeNumbers.one(of: text, spellings: Self.spellings)
      + ExtremeNumbers.several(of: text, count: 15, seed: 3, spellings: Self.spellings)
  }

  @Test(arguments: ["profile", "behaviors", "scripts"]) func inAProfile(document: String) throws {
    var accepted = 0
    for variant in try variants(of: document) {
      do throws(SourceProblems) {
        let template = try ProfileLibrary().template(text: Array(variant.text.utf8), file: "f", name: "f")
        accepted += 1
        let written = JSON5Writer.write(template.instance(3, of: 5).tree)
        _ = try ProfileLibrary().template(text: Array(written.utf8), file: "f", name: "f")
      } catch {
        #expect(error.problems.allSatisfy { $0.position?.file == "f" || $0.position == nil }, "\(variant): \(error)")
      }
    }
    #expect(accepted > 0)
  }

  @Test(arguments: ["scenario", "scenario-with-apps"]) func inAScenario(document: String) throws {
    var accepted = 0
    for variant in try variants(of: document) {
      do throws(SourceProblems) {
        let file = try scenario(variant.text)
        accepted += 1
        guard case .plan(var plan) = file else { continue }
        guard case .plan(let again) = try scenario(plan.fileText(description: "again")) else {
          Issue.record("\(variant)")
          continue
        }
        plan.about.summary = "again"
        #expect(again == plan, "\(variant)")
      } catch {
        #expect(error.problems.allSatisfy { $0.position?.file == "f" || $0.position == nil }, "\(variant): \(error)")
      }
    }
    #expect(accepted > 0)
  }

  private func scenario(_ text: String) throws(SourceProblems) -> ScenarioFile {
    try ScenarioFile(ScenarioSource(name: "f", path: "f", bytes: Array(text.utf8)), profiles: ProfileLibrary())
  }
}
