import AccessoryFormats
import AccessoryHost
import AccessoryProfiles

// Steps, as files have them: a time, and an action (``WorldAction``).

extension Scenario.Step {
  static func format(_ names: ScenarioNames) -> Format<Self> {
    let time = Record("step", summary, Self(at: .zero, .noticeCables(true))) { Field.time(\.at) }
    return WorldAction.format(in: time, at: \.action, names, for: .scenarios)
  }

  /// What a step is, in a sentence.
  package static let summary = "one step: a time, a side and an action"
}

extension Field {
  /// When a step happens.
  package static func time(_ path: Property<Root, Duration>) -> Field {
    Field("at", path, .duration(.zero...Scenario.longest), "the time from the start", isRequired: true)
  }
}

extension Format {
  /// Steps, in the order of time.
  package static func steps<Step>(
    of format: Format<Step>, at time: @escaping @Sendable (Step) -> Duration
  ) -> Format where Value == [Step] {
    Format(.list(format.shape, count: 0...Int.max)) { value, place in
      guard case .array(let elements) = value.content else { return place.expected("a list", value) }
      var steps: [Step] = []
      for (index, element) in elements.enumerated() {
        guard let step = format.read(element, at: place.element(index)) else { continue }
        if let last = steps.last.map(time), time(step) < last, let written = element["at"] {
          place.element(index).key("at").error(
            written, "steps must be in chronological order: the previous step is at \(DurationText.format(last))")
        }
        steps.append(step)
      }
      return steps
    } write: { steps in
      .array(steps.map(format.write))
    }
  }
}
