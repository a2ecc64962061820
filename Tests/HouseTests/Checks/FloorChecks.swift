/// Who may stand on whom. Each check returns its findings as sentences with their place; none is what is wanted.
enum FloorChecks {
  /// What a floor may use of the system. `IAP2` and `AccessoryCore` are bytes, instants and words: they use nothing.
  /// Foundation begins where Apple's API does, and test libraries where the worlds of tests are.
  static func systemModules(onFloor floor: Int) -> Set<String> {
    switch floor {
    case 0: return []
    case 1...4: return ["Glibc", "Synchronization"]
    default:
      let foundation: Set<String> = [
        "Glibc", "Synchronization", "Foundation", "FoundationEssentials", "CoreFoundation", "Dispatch",
      ]
      return floor == 5 ? foundation : foundation.union(["Testing", "XCTest"])
    }
  }

  /// Targets stand only on floors below their own. What is not written in Swift is all ground.
  static func dependenciesGoDown(_ house: House) -> [String] {
    house.plan.targets.filter { $0.kind != .foreign }.flatMap { target in
      target.dependencies.sorted().compactMap { name in
        guard let below = house.plan[name] else { return "\(target.name) depends on \(name), which is no target" }
        guard let floor = target.floor else { return nil }
        guard let lower = below.floor else {
          return "\(target.name) depends on \(name), which is there for tests alone"
        }
        return lower < floor
          ? nil : "\(target.name) on floor \(floor) depends on \(name) on floor \(lower), which is not below it"
      }
    }
  }

  /// Every import is of a target that was declared, or of a part of the system that the floor may use.
  static func importsAreAllowed(_ house: House) -> [String] {
    house.files.flatMap { file -> [String] in
      guard let target = house.target(of: file) else { return ["\(file.path) is in no target's folder"] }
      return file.imports.compactMap { module, line in
        let place = "\(file.path):\(line)"
        if house.plan[module] != nil {
          return target.dependencies.contains(module)
            ? nil : "\(place): \(target.name) imports \(module) and does not declare it in Package.swift"
        }
        guard let floor = target.floor else { return nil }
        return systemModules(onFloor: floor).contains(module)
          ? nil : "\(place): \(target.name) on floor \(floor) may not import \(module)"
      }
    }
  }

  /// What is declared is imported. Tests may declare a program, so that it is built before they start it.
  static func declarationsAreUsed(_ house: House) -> [String] {
    house.plan.targets.filter { $0.kind != .foreign }.flatMap { target in
      let imported = Set(house.files(of: target).flatMap { $0.imports.map(\.module) })
      return target.dependencies.subtracting(imported).sorted().compactMap { name in
        house.plan[name]?.kind == .program && target.kind == .tests
          ? nil : "\(target.name) declares \(name) in Package.swift and never imports it"
      }
    }
  }
}
