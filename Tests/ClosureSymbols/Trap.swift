// The trap described in docs/dev/closure-symbols.md. Scripts/closure-symbols must find the trap in each of these
// functions. This file belongs to no target. To see the trap, add the file to a package's tests and run `swift test`.
import Testing

struct World {
  @discardableResult
  func run(_ condition: () -> Bool) async -> Bool { condition() }
}

func withWorld(_ body: (World) async throws -> Void) async rethrows { try await body(World()) }

@Test func macroThenPlain() async throws {
  await withWorld { world in
    let isPluggedIn = true
    #expect(await world.run { isPluggedIn })
    let isOut = await world.run { !isPluggedIn }  // trap
    if isOut { Issue.record("this closure returned false, and the one above ran instead") }
  }
}

@Test func plainTwiceThenMacro() async throws {
  await withWorld { world in
    let isPluggedIn = true
    let isOut = await world.run { !isPluggedIn }
    let isStillOut = await world.run { !isPluggedIn }
    #expect(await world.run { isPluggedIn })  // trap
    if isOut || isStillOut { Issue.record("these closures returned false") }
  }
}

@Test func withoutAnythingOfEasim() async throws {
  await withWorld { _ in
    let numbers = [1, 2, 3]
    #expect(numbers.contains { $0 == 1 })
    if numbers.contains(where: { $0 == 4 }) { Issue.record("there is no 4") }  // trap
  }
}
