/// One event as FunctionFS tells it on endpoint 0: twelve bytes, a setup packet or nothing, then the kind.
enum FunctionFSEvent: Equatable {
  /// The gadget got its controller.
  case bind
  /// It lost it.
  case unbind
  /// The host chose the configuration or the alternate setting: endpoints can be used, and begin anew.
  case enable
  /// The host chose no configuration, reset the device or left: endpoints are gone.
  case disable
  /// A request that the kernel does not answer itself.
  case setup(ControlEndpoint.Setup)
  /// The bus sleeps.
  case suspend
  /// The bus has awoken.
  case resume
  /// A kind that this program does not know.
  case unknown(UInt8)

  static let size = 12

  /// The events in what was read; a piece at the end is none.
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

/// What a simulated accessory makes of the events of its endpoint 0.
///
/// The kernel answers what every device answers (descriptors, addresses, configurations, halts), tells that it did, and
/// hands on the rest. Both reach the one ``ControlEndpoint`` that a device on USB/IP has, so that the two answer alike:
/// what the kernel has answered goes in as the request that the host must have made.
///
/// The kernel keeps few events and forgets those that a later one makes void: an `enable` may stand for a `disable` and
/// an `enable`, and one `unbind` for whatever was before. So every event is right in every state.
struct GadgetControl {
  /// How a setup packet is answered on the file of endpoint 0.
  enum Reply: Equatable {
    /// Written, as the data stage.
    case data([UInt8])
    /// An empty read, which ends a request without a data stage.
    case done
    /// Reading where the host reads, or writing where it writes: how FunctionFS is told to stall.
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
      // Told of an endpoint, FunctionFS puts the number of its file where the host put its address.
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
