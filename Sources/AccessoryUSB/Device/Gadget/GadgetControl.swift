/// One event of endpoint 0 as FunctionFS reports it: twelve bytes, a setup packet or nothing, then the kind.
enum FunctionFSEvent: Equatable {
  /// The gadget was bound to its controller.
  case bind
  case unbind
  /// The host selected the configuration or the alternate setting: the endpoints can be used, and start over.
  case enable
  /// The host selected configuration 0, reset the device or disconnected: the endpoints no longer exist.
  case disable
  /// A request that the kernel does not answer itself.
  case setup(ControlEndpoint.Setup)
  case suspend
  /// The bus was resumed.
  case resume
  /// A kind that this program does not know.
  case unknown(UInt8)

  static let size = 12

  /// The events in the bytes that were read; an incomplete one at the end is ignored.
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

/// Turns the events of endpoint 0 into the behavior of a simulated accessory.
///
/// The kernel answers standard requests (descriptors, addresses, configurations, halts) and only reports them; it
/// passes on all others. Both are passed to the same ``ControlEndpoint`` that a USB/IP device uses, so that both kinds
/// of devices behave alike. For a request that the kernel has answered, the request that the host must have sent is
/// reconstructed.
///
/// The kernel keeps few events and drops those that a later one makes obsolete: an `enable` can mean a `disable` and an
/// `enable`, and an `unbind` replaces everything before it. Every event is therefore valid in every state.
struct GadgetControl {
  /// How a setup packet is answered through the file of endpoint 0.
  enum Reply: Equatable {
    /// Write it, as the data stage.
    case data([UInt8])
    /// Read zero bytes, which completes a request without a data stage.
    case done
    /// Read while the host reads, or write while the host writes, which makes FunctionFS stall.
    case stall(hostReads: Bool)
  }

  private var control: ControlEndpoint
  /// The declared addresses of the endpoints, in the order of their files.
  private let addresses: [UInt8]

  /// Whether the host uses the endpoints.
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

  /// SET_CONFIGURATION.
  private static func chooses(_ configuration: UInt8) -> ControlEndpoint.Setup {
    ControlEndpoint.Setup([0x00, 9, configuration, 0, 0, 0, 0, 0])
  }

  private mutating func answer(_ told: ControlEndpoint.Setup) -> (reply: Reply?, effect: ControlEndpoint.Effect) {
    var setup = told
    if setup.type & 0x1F == 2 {
      // In a request to an endpoint, FunctionFS replaces the endpoint's address with the number of its file.
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
