/// The numbers under which scenarios and docs/external-accessory.md refer to a behaviour or a failure, in a few words.
enum FieldNumber {
  /// The few words of a number that a shipped scenario reproduces; a test compares the two lists.
  static let words: [String: String] = [
    // Variants of the flicker.
    "F1": "the flicker", "F2": "a double connect", "F3": "a disconnect during the app's delay",
    "F4": "a missing connect",
    "F5": "a connect after thirty seconds", "F6": "background and foreground", "F8": "a stale accessory",
    "F9": "no reply to an early write", "F11": "the accessory closes the session",
    // Failures in the field.
    "W1": "no protocols before authentication", "W2": "notifications coalesced during suspension",
    "W3": "two connection IDs", "W4": "unregistered by a freed object", "W5": "a connect without a notification",
    "W6": "an early write is never answered", "W7": "bytes-available fires once", "W8": "nil sessions",
    "W9": "writes without space", "W10": "slow large writes", "W11": "slow after coming to the foreground",
    "W12": "unplugged while busy", "W13": "set-up too slow for the background",
    "W14": "endless retries",
    "W15": "ignored after fast replugging", "W16": "races during set-up", "W17": "bytes of an earlier session",
    "W18": "an unnoticed pulled cable", "W19": "the disconnect of another accessory",
    "W20": "another SDK takes the session", "W21": "an app killed with a session open",
    "W22": "busy after a cancelled request", "W23": "sessions that end in episodes",
    "W24": "wedged by fast opening", "W25": "a phantom session", "W26": "a silent stall",
    "W27": "no data after the background", "W28": "a retry or timer from an earlier connect",
    "W29": "an event from freed streams", "W30": "only the first transaction works",
    "W31": "an unnoticed dead session", "W32": "a small buffer that overflows", "W33": "replies in pieces",
    "W34": "only the first settings are obeyed", "W35": "a radio shared with audio",
    // What External Accessory does by nature: notifications, suspension, sessions, streams.
    "N3": "one registration count per process", "N8": "no connect at launch", "N15": "a transport switch",
    "S6": "ten seconds in the background", "E7": "no session at first", "T7": "short writes", "T20": "field throughput",
  ]

  /// `W8 (nil sessions)`.
  static func described(_ number: String) -> String { words[number].map { "\(number) (\($0))" } ?? number }
}
