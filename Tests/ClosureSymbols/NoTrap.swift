// Harmless code that resembles the trap in Trap.swift. Scripts/closure-symbols must report nothing in this file.
import Testing

struct World {
  @discardableResult
  func run(_ condition: () -> Bool) async -> Bool { condition() }

  func expect(line: Int = #line, _ condition: () -> Bool) async {
    if !condition() { Issue.record("line \(line)") }
  }
}

func withWorld(_ body: (World) async throws -> Void) async rethrows { try await body(World()) }

@Test func withoutAMacro() async throws {
  await withWorld { world in
    let isPluggedIn = true
    await world.expect { isPluggedIn }
    let isOut = await world.run { !isPluggedIn }
    #expect(!isOut)
  }
}

@Test func twoMacros() async throws {
  await withWorld { world in
    let isPluggedIn = true
    #expect(await world.run { isPluggedIn })
    #expect(await !world.run { !isPluggedIn })
  }
}

@Test func closuresOfOtherTypes() async throws {
  await withWorld { world in
    let numbers = [1, 2, 3]
    #expect(numbers.contains { $0 == 1 })
    let isEmpty = await world.run { numbers.isEmpty }
    #expect(!isEmpty)
  }
}
