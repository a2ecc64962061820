/// An endpoint 0 event in FunctionFS's twelve-byte format. The first eight bytes contain the setup packet, if any, and
/// the ninth contains the kind of event.
enum FunctionFSEvent: Equatable {
  case bind
  case unbind
  /// The host selected the configuration or the alternate setting, so the endpoints restart.
  case enable
  /// The host selected configuration 0, reset the device or disconnected, so the endpoints no longer exist.
  case disable
  /// The host sent a request that the kernel does not answer itself.
  case setup(ControlEndpoint.Setup)
  case suspend
  case resume
  case unknown(UInt8)

  static let size = 12

  /// Parses the events in the bytes that were read. Ignores an incomplete event at the end.
  static func read(_ bytes: ArraySlice<UInt8>) -> [Self] {
    stride(from: bytes.startIndex, through: bytes.endIndex - size, by: size).map { at in
      switch bytes[at + 8] {
      case 0: .bind
      case 1: .unbind
      case 2: .enable
      case 3: .disable
      case 4: .setup(ControlEndpoint.Setup(bytes[at..<at + 8]))
      case 5: .suspend
      case 6: .resume
      case let other: .unknown(other)
      }
    }
  }
}

/// Translates events from endpoint 0 into effects on a simulated accessory.
///
/// The kernel answers standard requests (descriptors, addresses, configurations, halts) itself and reports some of them
/// as events. The kernel forwards all other requests. If an event shows that the kernel has answered a request, this
/// type reconstructs the request. All requests go to a ``ControlEndpoint``, which USB/IP devices use as well, so that
/// gadgets and USB/IP devices behave alike.
///
/// The kernel queues only a few events and drops those that newer events make obsolete: a single `enable` can stand for
/// a `disable` and an `enable`, and an `unbind` replaces all earlier events. This type therefore accepts every event in
/// every state.
struct GadgetControl {
  /// How to answer a setup packet through endpoint 0's file.
  enum Reply: Equatable {
    /// Write the bytes as the data stage.
    case data([UInt8])
    /// Read zero bytes, which completes a request without a data stage.
    case done
    /// Make FunctionFS stall by accessing endpoint 0 in the wrong direction: read while the host is reading, or write
    /// while the host is writing.
    case stall(hostReads: Bool)
  }

  private var control: ControlEndpoint
  private let addresses: [UInt8]

  var isEnabled: Bool { control.isConfigured }

  init(_ shape: USBAccessoryShape) {
    control = ControlEndpoint(shape)
    addresses = shape.interfaces(at: shape.speed).flatMap(\.endpoints).map(\.address)
  }

  mutating func handle(_ event: FunctionFSEvent) -> (reply: Reply?, effect: ControlEndpoint.Effect) {
    switch event {
    case .enable: return (nil, control.handle(Self.chooses(1)).effect)
    case .disable, .unbind: return (nil, isEnabled ? control.handle(Self.chooses(0)).effect : .nothing)
    case .bind, .suspend, .resume, .unknown: return (nil, .nothing)
    case .setup(let setup): return answer(setup)
    }
  }

  /// Returns the SET_CONFIGURATION request that the host must have sent in order to select `configuration`.
  private static func chooses(_ configuration: UInt8) -> ControlEndpoint.Setup {
    ControlEndpoint.Setup([0x00, 9, configuration, 0, 0, 0, 0, 0])
  }

  private mutating func answer(_ told: ControlEndpoint.Setup) -> (reply: Reply?, effect: ControlEndpoint.Effect) {
    var setup = told
    if setup.type & 0x1F == 2 {
      // In requests, FunctionFS replaces the address of an endpoint with the number of the endpoint's file.
      let place = Int(setup.index) - 1
      setup.index = addresses.indices.contains(place) ? UInt16(addresses[place]) : 0
    }
    let hostReads = setup.type & 0x80 != 0
    let (answer, effect) = control.handle(setup)
    switch answer {
    case .data(let bytes) where hostReads: return (.data(bytes), effect)
    case .data where setup.length == 0: return (.done, effect)
    case .data, .stall: return (.stall(hostReads: hostReads), effect)
    }
  }
}
