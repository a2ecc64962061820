import AccessoryProfiles

/// Gives life to the behaviours that profiles name.
public struct BuiltInBehaviors {
  private let report: (String) -> Void

  /// `report` hears what a behaviour has to say beside its bytes, such as the first wrong byte in a sink.
  public init(report: @escaping (String) -> Void) {
    self.report = report
  }

  /// The behaviour for its description.
  public func behavior(_ description: Behavior) -> any AccessoryBehavior {
    switch description {
    case .echo: EchoBehavior()
    case .sink(let checks): SinkBehavior(checks: checks, report: report)
    case .source, .script, .exec: EchoBehavior()
    }
  }
}
