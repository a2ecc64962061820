import AccessoryCore

/// What a USB/IP server waits for a client to do. Each case has a time limit, because a client in that state keeps a
/// device or a connection from others.
///
/// A client that has a device and owes nothing can be silent for any time: a kernel whose programs do not use the
/// device sends nothing. TCP's keep-alive notices when such a client is gone.
enum USBIPDebt: CaseIterable {
  /// It has connected, and not sent its request.
  case request
  /// It has asked for a list, or for a device that it cannot have, and does not take the answer.
  case answer
  /// It has a device, and has sent no transfer. Every kernel begins with the descriptors.
  case firstTransfer
  /// It has sent a part of a transfer.
  case restOfTransfer
  /// It does not take the answers to its transfers.
  case transferAnswers

  /// How long it may owe that. Kernels take milliseconds for each.
  var limit: Duration {
    switch self {
    case .request, .answer: USBIPServer.patience
    case .firstTransfer, .restOfTransfer, .transferAnswers: USBIPServer.transferPatience
    }
  }

  /// What the client did wrong when the limit has passed.
  var problem: USBIPError {
    switch self {
    case .request: .tooSlow
    case .answer: .takesNoAnswer
    case .firstTransfer: .usesNothing
    case .restOfTransfer: .endsNoTransfer
    case .transferAnswers: .takesNoTransferAnswers
    }
  }
}
