import AccessoryCore
import CLibUSB

/// An open device on a loop: the channel of iAP2, the channels of native transport, and what they share, libusb's
/// events and the release of the device.
///
/// A native channel goes through seven steps. Those that block are done by its ``BlockingUSBCalls``, in order:
///
/// ```
///   asked for ─▶ claimed, alternate 1 ─▶ used ─▶ closed ─▶ transfers back ─▶ alternate 0, released ─▶ forgotten
///                                                  └── the next session on it waits for this ─────────┘
/// ```
///
/// When every channel has ended, the thread that opened the device releases it and attaches its kernel driver again.
public final class USBCable {
  private let device: OpenUSBDevice
  private let loop: any PollingLoop
  private var pump: USBEventPump?
  private var main: USBChannel?
  /// The native channels that are not forgotten, by interface.
  private var nativeChannels: [UInt8: USBChannel] = [:]
  /// Those that wait until an earlier one on the same interface is forgotten.
  private var waiting: [UInt8: USBChannel] = [:]
  /// Transfers of the main channel that are still to be cancelled.
  private var abandoned: AbandonedTransfers?
  /// Transfers in flight point to channels, so channels are kept until all transfers have returned.
  private var keptAlive: USBCable?

  init(_ device: OpenUSBDevice, on loop: any PollingLoop) throws {
    self.device = device
    self.loop = loop
    pump = try USBEventPump(
      device.context, on: loop, handled: { [unowned self] in judgeReturned() },
      hungUp: { [unowned self] in deviceHungUp() })
    let place = USBChannel.Place(
      handle: device.handle, incoming: device.interface.incoming, outgoing: device.interface.outgoing, isNative: false)
    main = USBChannel(place, by: device.calls, early: device.early, on: loop) { [unowned self] _, abandoned in
      main = nil
      self.abandoned = abandoned
      giveBackIfIdle()
    }
    keptAlive = self
  }

  /// How many bytes of an earlier session were dropped before this one.
  public var staleCount: Int { device.staleCount }

  /// The cable as the session layer sees it. Its main channel is not started.
  public var cable: Cable {
    guard let main else { preconditionFailure("a cable must be taken before its channel ends") }
    if device.interface.natives.isEmpty { return Cable(main: main) }
    return Cable(main: main) { [weak self] name throws(NativeChannelRefusal) in
      guard let self else { throw NativeChannelRefusal("the accessory was unplugged") }
      return try openNativeChannel(name)
    }
  }

  private func judgeReturned() {
    main?.judgeReturned()
    for channel in nativeChannels.values { channel.judgeReturned() }
  }

  private func deviceHungUp() {
    main?.deviceHungUp()
    for channel in nativeChannels.values { channel.deviceHungUp() }
  }

  // MARK: Native transport

  private func openNativeChannel(_ protocolName: String) throws(NativeChannelRefusal) -> any Channel {
    guard let native = device.native(of: protocolName) else {
      throw NativeChannelRefusal("the accessory has no interface FF/F0/01 of that name with a pair of bulk endpoints")
    }
    guard main?.isLeaving == false else { throw NativeChannelRefusal("the accessory was unplugged") }
    let place = USBChannel.Place(
      handle: device.handle, incoming: native.incoming, outgoing: native.outgoing, isNative: true)
    let channel = USBChannel(place, by: device.calls, on: loop) { [unowned self] _, abandoned in
      nativeChannelIsIdle(abandoned, native)
    }
    if let before = waiting[native.number] ?? nativeChannels[native.number] {
      guard before.isLeaving, waiting[native.number] == nil else { throw .inUse }
      waiting[native.number] = channel
    } else {
      begin(channel, native)
    }
    return channel
  }

  private func begin(_ channel: USBChannel, _ native: NativeInterface) {
    nativeChannels[native.number] = channel
    let (device, loop, this) = (device, loop, LoopBound(self, on: loop))
    // In a later turn, so that the messages of this turn are sent first, such as that the accessory is accepted.
    loop.schedule(after: .zero) {
      device.calls.run {
        let result = Result { () throws(USBHostError) in try device.begin(native) }
        loop.execute { this.value.nativeChannels[native.number]?.opened(result) }
      }
    }
  }

  private func nativeChannelIsIdle(_ abandoned: AbandonedTransfers, _ native: NativeInterface) {
    let (device, loop, this) = (device, loop, LoopBound(self, on: loop))
    device.calls.run {
      abandoned.takeBack(device.context)
      device.end(native)
      loop.execute { this.value.forgetSide(native) }
    }
  }

  private func forgetSide(_ native: NativeInterface) {
    nativeChannels[native.number] = nil
    if let next = waiting.removeValue(forKey: native.number) { begin(next, native) }
    giveBackIfIdle()
  }

  // MARK: The end

  private func giveBackIfIdle() {
    guard main == nil, nativeChannels.isEmpty, let pump else { return }
    pump.stop()
    self.pump = nil
    let (device, loop, abandoned) = (device, loop, abandoned)
    self.abandoned = nil
    device.calls.run {
      abandoned?.takeBack(device.context)
      device.giveBack()
      // Wakes a loop that waits only for this.
      loop.execute {}
    }
    keptAlive = nil
  }
}

/// A device's handle, for libusb calls that may be made on any thread.
struct USBHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) {
    self.pointer = pointer
  }
}
