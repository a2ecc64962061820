import AccessoryProfiles
import Certificates
import Glibc

/// Finds profiles by path, in the user's folder, or among the built-in profiles.
enum Profiles {
  static var library: ProfileLibrary {
    let home =
      getenv("XDG_CONFIG_HOME").map { String(cString: $0) } ?? getenv("HOME").map { String(cString: $0) + "/.config" }
    return ProfileLibrary(userFolder: home.map { "\($0)/easim/profiles" })
  }

  /// Returns the coprocessor that a profile requires. If accessories have the same serial number, they have the same
  /// coprocessor in every process.
  static func coprocessor(for profile: Profile) -> SimulatedCoprocessor {
    SimulatedCoprocessor(
      seed: profile.identity.serialNumber.utf8.stableHash,
      generation: profile.authentication.generation == .current ? .current : .older,
      reading: profile.authentication.challenge == .digest ? .digest : .hashed)
  }
}
