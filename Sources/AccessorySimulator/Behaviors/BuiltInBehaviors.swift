import AccessoryProfiles

/// Gives life to the behaviours that profiles name.
public enum BuiltInBehaviors {
  /// The behaviour for its description.
  public static func behavior(_ description: Behavior) -> any AccessoryBehavior {
    switch description {
    case .echo: EchoBehavior()
    case .sink(let checks): SinkBehavior(checks: checks)
    case .source(let source): SourceBehavior(source)
    case .script(let script): ScriptBehavior(script)
    case .exec(let program): ExecBehavior(program)
    }
  }
}
