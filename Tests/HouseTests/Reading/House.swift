import TestSupport

/// Everything a check looks at: the plan, and the Swift files of every target.
struct House {
  let plan: PackagePlan
  let files: [SourceFile]

  init(plan: PackagePlan, files: [SourceFile]) {
    self.plan = plan
    self.files = files
  }

  /// This repository, read once.
  static let standing = Result {
    let paths = ["Sources", "Tests"].flatMap { Repository.files(under: $0, suffix: ".swift") }
    return House(
      plan: try PackagePlan(parsing: try Repository.text("Package.swift")),
      files: try paths.map { SourceFile(path: $0, text: try Repository.text($0)) })
  }

  /// The target whose folder a file is in.
  func target(of file: SourceFile) -> PackagePlan.Target? {
    plan.targets.first { file.path.hasPrefix("\($0.folder)/") }
  }

  func files(of target: PackagePlan.Target) -> [SourceFile] {
    files.filter { $0.path.hasPrefix("\(target.folder)/") }
  }
}
