import AccessoryCore
import AccessoryFormats
import Certificates
import LinuxIO

/// An authentication coprocessor on another board. A program or a Unix socket provides the certificate and the
/// signatures. Each request is one line.
///
/// ```
///   certificate              ──▶   30820…        the certificate for AA01, in hex
///   sign 0123…               ──▶   9f3c…         the response for AA03
///                            ──▶   error TEXT    if it cannot answer
/// ```
final class LineSigner: AccessoryAuthenticator {
  /// The time limit for an answer. The slowest coprocessors take 1.7 s to sign.
  static let limit = Duration.seconds(10)

  let certificate: [UInt8]
  /// The reason why an Apple device would refuse the certificate, or nil if easim can parse the certificate.
  let objection: String?
  /// Always true, because a coprocessor may take seconds to sign.
  var isSlow: Bool { true }

  /// The coprocessor generation, as derived from the key in the certificate, or nil if the certificate cannot be read.
  private let generation: CoprocessorGeneration?
  private let line: Locked<SignerLine>

  /// Connects to the signer and requests the certificate. This call blocks until the answer arrives.
  ///
  /// - Parameters:
  ///   - place: `exec:COMMAND` for a shell command, or `unix:PATH` for a socket.
  ///   - allowsOtherUsers: whether the socket may belong to another user.
  /// - Throws: an error that names the signer and the problem.
  init(_ place: String, allowsOtherUsers: Bool = false) throws(AuthenticatorError) {
    let line = try SignerLine(place, allowsOtherUsers: allowsOtherUsers)
    let certificate = try line.ask("certificate")
    let reading = Result { () throws(AuthenticatorError) in try AccessoryVerifier().generation(of: certificate) }
    switch reading {
    case .success(let found): (generation, objection) = (found, nil)
    case .failure(let error): (generation, objection) = (nil, error.description)
    }
    self.certificate = certificate
    self.line = Locked(line)
  }

  /// Requests a signature for the challenge. This call blocks until the answer arrives.
  func respond(to challenge: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    if let expected = generation?.challengeByteCount, challenge.count != expected {
      throw .wrongChallengeSize(expected: expected, actual: challenge.count)
    }
    let response = try line.withLock { line throws(AuthenticatorError) in
      try line.ask("sign \(Hex.plain(challenge))")
    }
    if let expected = generation?.responseByteCount, response.count != expected {
      throw .wrongResponseSize(expected: expected, actual: response.count)
    }
    return response
  }
}

/// The connection to a signer. The loop runs only while a caller is waiting, on the caller's thread.
private final class SignerLine: ChildProcessHandler, ChannelHandler {
  private let place: String
  private let loop: EpollLoop
  private var child: ChildProcess?
  private var cable: Cable?
  private var output = LineSplitter()
  private var errors = LineSplitter()
  private var answers: [String] = []
  /// The number of requests that have timed out but may still be answered.
  private var lateAnswers = 0
  private var complaint: String?
  private var end: String?

  init(_ place: String, allowsOtherUsers: Bool) throws(AuthenticatorError) {
    self.place = place
    do throws(SystemError) { loop = try EpollLoop() } catch { throw .signer("\(place) cannot be used: \(error)") }
    let rest = String(place.dropFirst("exec:".count))
    switch place.prefix("exec:".count) {
    case "exec:" where !rest.isEmpty: try start(ProcessCommand("/bin/sh", ["-c", rest]))
    case "unix:" where !rest.isEmpty: try connect(rest, allowsOtherUsers: allowsOtherUsers)
    default: throw .signer("'\(Excerpt.of(place))' is not a signer: write exec:COMMAND or unix:PATH")
    }
  }

  deinit {
    child = nil
    cable?.main.close()
  }

  private func start(_ command: ProcessCommand) throws(AuthenticatorError) {
    if let objection = ProgramFinder.objection(to: command) { throw .signer("\(place): \(objection)") }
    do { child = try ChildProcess(command, on: loop, self) } catch { throw .signer("\(place): \(error)") }
  }

  private func connect(_ path: String, allowsOtherUsers: Bool) throws(AuthenticatorError) {
    var options = TransportOptions()
    options.allowsOtherUsers = allowsOtherUsers
    var answer: Transports.Answer?
    Transports.connect(to: .unix(path: path), on: loop, options: options, timeout: LineSigner.limit) { answer = $0 }
    loop.run(until: { answer != nil })
    switch answer {
    case .success(let (cable, _)):
      self.cable = cable
      cable.main.start(self)
    case .failure(let error): throw .signer("\(place): \(error)")
    case nil: throw .signer("cannot connect to \(place)")
    }
  }

  func ask(_ request: String) throws(AuthenticatorError) -> [UInt8] {
    let word = request.prefix { $0 != " " }
    answers = []
    let isSent = send("\(request)\n")
    loop.run(until: { !answers.isEmpty || end != nil }, limit: LineSigner.limit)
    guard let answer = answers.first else {
      if end == nil { lateAnswers += 1 }
      let reason =
        end ?? (isSent ? nil : "it does not read its requests")
        ?? "nothing arrived within \(DurationText.format(LineSigner.limit))"
      let said = complaint.map { "; the last line of its stderr: \($0)" } ?? ""
      throw .signer("\(place) did not answer '\(word)': \(reason)\(said)")
    }
    if answer == "error" || answer.hasPrefix("error ") {
      throw .signer("\(place) answered '\(word)' with: \(answer)")
    }
    do {
      let bytes = try Hex.parse(answer)
      if !bytes.isEmpty { return bytes }
    } catch {
      throw .signer("\(place) answered '\(word)' with '\(Excerpt.of(answer))', which is not hex: \(error)")
    }
    throw .signer("\(place) answered '\(word)' with an empty line")
  }

  /// Sends a request. Returns false if only part of the request was accepted. Requests are rarely accepted in part,
  /// because pipes and sockets have room for hundreds of them.
  private func send(_ text: String) -> Bool {
    guard end == nil else { return false }
    let bytes = Array(text.utf8)
    return (child?.write(bytes.span.bytes) ?? cable?.main.send(bytes.span.bytes)) == bytes.count
  }

  private func take(_ bytes: RawSpan) {
    output.take(bytes) { line in
      if lateAnswers > 0 { lateAnswers -= 1 } else { answers.append(line) }
    }
  }

  // MARK: A program

  func child(_ child: ChildProcess, printed bytes: RawSpan) { take(bytes) }

  func child(_ child: ChildProcess, complained bytes: RawSpan) { errors.take(bytes) { complaint = $0 } }

  func childTakesInput(_ child: ChildProcess) {}

  func childClosedInput(_ child: ChildProcess) {}

  func child(_ child: ChildProcess, endedWith ending: ProcessEnding) {
    output.end { answers.append($0) }
    errors.end { complaint = $0 }
    end = ending.description
  }

  // MARK: A socket

  func channel(_ channel: any Channel, received bytes: RawSpan) { take(bytes) }

  func channelIsWritable(_ channel: any Channel) {}

  func channel(_ channel: any Channel, endedWith end: ChannelEnd) { self.end = end.description }
}
