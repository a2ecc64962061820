/// What carries out the bulk transfers of a gadget: kernel AIO on two files, or a test.
///
/// A transfer is begun with a tag and ends once, in a later turn, even when it is cancelled; those of one direction end
/// in the order in which they began.
protocol TransferQueue: AnyObject {
  /// Who hears of ends.
  var handler: (any TransferHandler)? { get set }

  /// Begins so many reads of at most `size` bytes each; how many were begun. Fewer than that, without a problem, when
  /// transfers that were cancelled have not ended yet.
  func read(_ count: Int, size: Int, tag: Int) -> Result<Int, TransferProblem>

  /// Begins to write one transfer, of no bytes or more; false when there is no room for it now.
  func write(_ bytes: ArraySlice<UInt8>, tag: Int) -> Result<Bool, TransferProblem>

  /// Asks for the early end of everything under way.
  func cancelAll()
}

/// Who hears what became of transfers, on the loop.
protocol TransferHandler: AnyObject {
  /// A transfer is over. What was read lives until this returns.
  func transferEnded(tag: Int, isRead: Bool, _ problem: TransferProblem?, _ bytes: RawSpan)

  /// All that had ended by now was told.
  func transfersTold()
}

/// Why a transfer was not begun or did not end well.
enum TransferProblem: Error, Equatable {
  /// The host does not use the endpoint now, or the transfer was cancelled: nothing is wrong.
  case away
  /// The kernel's number of anything else.
  case failed(Int32)
}
