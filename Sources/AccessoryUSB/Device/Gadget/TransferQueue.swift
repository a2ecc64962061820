/// Performs the bulk transfers of a gadget: kernel AIO on two files, or a test.
///
/// A transfer is started with a tag and completes once, in a later turn, even when it is cancelled. Those of one
/// direction complete in the order in which they were started.
protocol TransferQueue: AnyObject {
  /// Receives the completions.
  var handler: (any TransferHandler)? { get set }

  /// Starts `count` reads of at most `size` bytes each, and returns how many were started: fewer, without an error,
  /// when cancelled transfers have not completed yet.
  func read(_ count: Int, size: Int, tag: Int) -> Result<Int, TransferProblem>

  /// Starts to write one transfer, which may be empty. Returns false when there is no room for it now.
  func write(_ bytes: ArraySlice<UInt8>, tag: Int) -> Result<Bool, TransferProblem>

  /// Cancels all transfers.
  func cancelAll()
}

/// Receives the results of transfers, on the loop.
protocol TransferHandler: AnyObject {
  /// A transfer has completed. The bytes that were read are valid until this call returns.
  func transferEnded(tag: Int, isRead: Bool, _ problem: TransferProblem?, _ bytes: RawSpan)

  /// All transfers that had completed by now were reported.
  func transfersTold()
}

/// Why a transfer was not started, or failed.
enum TransferProblem: Error, Equatable {
  /// The host does not use the endpoint now, or the transfer was cancelled. This is not a failure.
  case away
  /// The kernel's error number for anything else.
  case failed(Int32)
}
