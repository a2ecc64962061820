/// A stream of bytes whose two directions end separately: a program's stdin and stdout, or a connected socket. A
/// ``Channel``, by contrast, ends as a whole.
///
/// A stream belongs to one loop. The stream reads only on request, and keeps any bytes that the handler does not accept
/// (at most one read's worth).
package protocol ByteStream: AnyObject {
  /// Sets the handler. Nothing is read before the first ``resumeReading()``.
  func start(_ handler: any ByteStreamHandler)

  /// Offers the kept bytes to the handler again, and then resumes reading.
  func resumeReading()

  func pauseReading()

  /// The number of bytes that have been read but not yet accepted by the handler.
  var unread: Int { get }

  /// Accepts bytes to send, and returns how many were accepted. After a partial send, the handler is notified when
  /// there is room again.
  func send(_ bytes: RawSpan) -> Int

  /// Closes the output once all accepted bytes are written, and notifies the handler in a later turn.
  func endOutput()

  /// Releases both directions and the handler. Bytes accepted for a socket are still sent.
  func close()
}

/// Receives a ``ByteStream``'s events, on the stream's loop. ``ByteStream/resumeReading()`` is the only method of a
/// stream that can call the handler before it returns.
package protocol ByteStreamHandler: AnyObject {
  /// Called when bytes have been read. Returns how many bytes the handler accepted. The stream keeps any bytes that
  /// were not accepted, and stops reading until ``ByteStream/resumeReading()``.
  func stream(_ stream: any ByteStream, received bytes: RawSpan) -> Int

  /// Called when the input has ended and all received bytes have been accepted. The reason is nil after an orderly end.
  func stream(_ stream: any ByteStream, inputEndedBecause reason: String?)

  /// Called when there is room again after a partial send.
  func streamIsWritable(_ stream: any ByteStream)

  /// Called when nothing more can be sent. The reason is nil if the output's reader has disconnected, which is not an
  /// error.
  func stream(_ stream: any ByteStream, outputBrokeBecause reason: String?)

  /// Called after ``ByteStream/endOutput()``, once all accepted bytes have been written.
  func streamOutputEnded(_ stream: any ByteStream)
}
