import AccessoryCore
import AccessoryProfiles

/// Generates the commented profile that `easim profile new NAME --behavior B` prints.
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
        // {index} is replaced by a number that differs for each accessory made from this profile.
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
        // Sends 100 bytes ten times a second, without waiting for a request.
        // Instead of text, you can use pattern: "counting" or "random".
        behavior: { type: "source", rate: 1000, chunk: 100, text: "tick\\r\\n" },
      """
    case .exec:
      """
        // Runs a program for each session. The program reads the bytes that arrive, and its output is sent.
        behavior: { type: "exec", command: "cat", arguments: [] },
      """
    case .script:
      """
        behavior: {
          type: "script",
          // Each request ends with these bytes. Other framings: { fixed: 8 } for 8-byte requests, { frame: … }, "any".
          framing: { delimiter: "\\r\\n" },
          // The first matching rule determines the answer. Requests omit the delimiter, and answers include it.
          rules: [
            { request: "HELLO", response: "\(name) 1.0\\r\\n" },
            // A delayed answer.
            { request: "BATTERY?", response: "BATTERY 87\\r\\n", delay: "40ms" },
            // Bytes that are not text are written in hex.
            { request: { hex: "01 02 03" }, response: { hex: "81 82 83 0d 0a" } },
            // A regular expression. Both answers use the groups of the expression; the second answer is delayed.
            { regex: "SET (\\\\w+)=(\\\\d+)", answers: ["OK\\r\\n", { after: "1s", send: "${1} IS ${2}\\r\\n" }] },
            // A request that is never answered.
            { request: "SILENCE" },
          ],
          // The answer to all other requests; without this line, such requests get no answer.
          otherwise: "ERROR\\r\\n",
        },
      """
    }
  }
}
