/// The profiles that ship, embedded when the program is built, so that a binary carried elsewhere still knows them.
///
/// The files in `profiles/` are the source; the build turns each into `PackageResources.NAME_json5`. The list here is
/// the only thing to add to for a new one, and a test compares it with the directory.
enum BuiltInProfiles {
  static let files: [(name: String, bytes: [UInt8])] = [
    ("camera", PackageResources.camera_json5),
    ("car", PackageResources.car_json5),
    ("card-reader", PackageResources.card_reader_json5),
    ("charger", PackageResources.charger_json5),
    ("dock", PackageResources.dock_json5),
    ("echo", PackageResources.echo_json5),
    ("gps", PackageResources.gps_json5),
    ("heart-rate", PackageResources.heart_rate_json5),
    ("lawk-view", PackageResources.lawk_view_json5),
    ("location", PackageResources.location_json5),
    ("microphone", PackageResources.microphone_json5),
    ("misbehaving", PackageResources.misbehaving_json5),
    ("multi", PackageResources.multi_json5),
    ("older-auth", PackageResources.older_auth_json5),
    ("printer", PackageResources.printer_json5),
    ("scanner", PackageResources.scanner_json5),
    ("scripted", PackageResources.scripted_json5),
    ("sensor", PackageResources.sensor_json5),
    ("sink", PackageResources.sink_json5),
    ("terminal", PackageResources.terminal_json5),
  ]
}
