import AccessoryCaptures
import AccessoryFormats
import AccessorySessions
import LinuxIO

// The libraries' messages do not mention command-line options, because other programs use the libraries, too. The
// following extensions add easim's options to such messages.

extension Refusal {
  var advice: String { advice(naming: \.option) }
}

extension Refusal.Remedy {
  var option: String? {
    switch self {
    case .acceptAuthentication: "--auth accept"
    case .skipAuthentication: "--auth skip"
    case .acceptIdentification: "--identification lenient"
    case .transcript: "--transcript FILE"
    }
  }
}

extension TimelineEvent {
  var printed: JSONObject { object(naming: \.option) }
}

extension RecordingError {
  var text: String {
    switch self {
    case .transcript: "a transcript does not contain all bytes; record with --capture FILE instead"
    case .noIdentification: "\(self), with --capture FILE"
    case .tooLarge: description
    }
  }
}

extension TransportError {
  var text: String {
    guard case .simulatorsOnly(let address) = self else { return description }
    let other = if case .usbip = address { "a host" } else { "the host at the other end of the cable" }
    let plugged = if case .usbip = address { " once 'easim plug' has plugged it in" } else { "" }
    return "\(address) is where a simulated accessory appears (easim run --on); \(other) finds it at usb:\(plugged)"
  }
}
