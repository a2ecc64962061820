// swift-tools-version: 6.2
// The fuzzers, in a package of their own: libFuzzer brings its own main, which the house's build has no use for.
// Scripts/fuzz builds and runs them. What each does with its bytes is in Tests/Support/FuzzTargets, so that findings
// are replayed by the everyday tests.
import PackageDescription

func fuzzer(_ name: String, _ products: String...) -> Target {
  .executableTarget(
    name: name, dependencies: products.map { .product(name: $0, package: "easim") },
    swiftSettings: [.treatAllWarnings(as: .error)])
}

let package = Package(
  name: "Fuzz",
  dependencies: [.package(name: "easim", path: "..")],
  targets: [
    fuzzer("FuzzWire", "IAP2"), fuzzer("FuzzMessages", "IAP2"),
    fuzzer("FuzzProfiles", "AccessoryProfiles", "AccessoryCore", "AccessoryFormats"),
    fuzzer("FuzzPropertyLists", "AccessoryProfiles"),
    fuzzer("FuzzCaptures", "AccessoryCaptures"),
    fuzzer("FuzzControl", "AccessoryControl", "AccessoryCore"),
  ],
  swiftLanguageModes: [.v6]
)
