import AccessoryCore
import AccessoryProfiles

/// The commented profile that `easim profile new NAME --behavior B` prints.
enum StarterProfile {
  static func text(_ name: String, _ behavior: Behavior) -> String {
    """
    // \(name): adapt it to your accessory, then run
    //   easim profile check ./\(name).json5
    //   easim run ./\(name).json5
    // docs/profiles.md explains every key.
    {
      version: 1,
      description: "describe the accessory here in one sentence",
      accessory: {
        name: "\(name)",
        manufacturer: "Example Works",
        modelNumber: "EW-1",
        // {index} gives each accessory made from this profile a different number.
        serialNumber: "EW1-{index:04}",
        firmwareRevision: "1.0",
        hardwareRevision: "1.0",
        // Apps declare these protocols in UISupportedExternalAccessoryProtocols.
        protocols: ["com.example.\(name)"],
      },
    \(lines(name, behavior))
    }

    """
  }

  private static func lines(_ name: String, _ behavior: Behavior) -> String {
    switch behavior {
    case .echo:
      """
        // Sends back what it receives.
        behavior: "echo",
      """
    case .sink:
      """
        // Accepts and discards what it receives; with check, that must be the bytes 00, 01 … FF, 00 …
        behavior: { type: "sink", check: true },
      """
    case .source:
      """
        // Sends unprompted: 100 bytes, ten times a second.
        // Instead of text, you can use pattern: "counting" or "random".
        behavior: { type: "source", rate: 1000, chunk: 100, text: "tick\\r\\n" },
      """
    case .exec:
      """
        // Runs a program for each session: it reads what arrives, and its output is sent.
        behavior: { type: "exec", command: "cat", arguments: [] },
      """
    case .script:
      """
        behavior: {
          type: "script",
          // Each request ends with these bytes. Also { fixed: 8 } for requests of 8 bytes, { frame: … }, or "any".
          framing: { delimiter: "\\r\\n" },
          // The first matching rule answers. Requests are written without the delimiter, answers with it.
          rules: [
            { request: "HELLO", response: "\(name) 1.0\\r\\n" },
            // A delayed answer.
            { request: "BATTERY?", response: "BATTERY 87\\r\\n", delay: "40ms" },
            // Bytes that are not text, in hex.
            { request: { hex: "01 02 03" }, response: { hex: "81 82 83 0d 0a" } },
            // A regular expression, with its groups in two answers, the second of them delayed.
            { regex: "SET (\\\\w+)=(\\\\d+)", answers: ["OK\\r\\n", { after: "1s", send: "${1} IS ${2}\\r\\n" }] },
            // A request that is never answered.
            { request: "SILENCE" },
          ],
          // The answer to everything else; without this line there is none.
          otherwise: "ERROR\\r\\n",
        },
      """
    }
  }
}
