import AccessoryFormats
import TestSupport

@testable import AccessoryProfiles

let profilesFolder = "\(Repository.root)/profiles"

/// Returns the text of a whole profile with some parts replaced. Each part begins in the first column of its own line:
/// the protocols on line 5, the accessory's keys on line 7, and other sections on line 9.
func document(
  accessory: String = "", protocols: String = "['com.example.echo']", _ sections: String = ""
) -> String {
  """
  { version: 1,
  accessory: { name: 'N', manufacturer: 'M', modelNumber: 'X', serialNumber: 'S', firmwareRevision: '1',
  hardwareRevision: '1',
  protocols:
  \(protocols)
  ,
  \(accessory)
  },
  \(sections)
  }
  """
}

let everyKey = """
  {
    $schema: "schema/profile.schema.json",
    version: 1,
    description: "all of it",
    accessory: {
      name: "N", manufacturer: "M", modelNumber: "X", serialNumber: "S", ppid: "P", regionCode: "R",
      firmwareRevision: "1", firmwareRevisionPending: "2", hardwareRevision: "3", dockType: "D",
      currentLanguage: "de", supportedLanguages: ["en", "de"], appMatchTeamID: "AB12CD34EF",
      protocols: [
        "com.example.a",
        { name: "com.example.b", id: 0xb1, matchAction: "no-alert", behavior: "sink", nativeTransportComponent: 9 },
        { name: "com.example.c", matchAction: 7 },
      ],
    },
    link: {
      maximumOutstandingPackets: 127, maximumPacketLength: 24, retransmissionTimeout: "20ms",
      cumulativeAcknowledgementTimeout: "10ms", maximumRetransmissions: 1, maximumCumulativeAcknowledgements: 0,
      sessions: { control: 10, controlVersion: 2, externalAccessory: 11, fileTransfer: 12 }, zeroAcknowledgement: true,
    },
    authentication: { generation: "older", challenge: "hashed", certSerial: 14, certData: 900 },
    power: { capability: "advanced", maximumCurrent: 500 },
    messages: { sent: ["0xea03", "RequestAppLaunch"], received: [0xEA00, 59905] },
    transports: [
      { kind: "usbDevice", id: 9, name: "one", supportsIAP2: false },
      { kind: "bluetooth", id: 4, name: "two", mac: "02:00:5e:10:00:0f" },
      { kind: "serial" },
    ],
    usb: {
      vendor: 0xabcd, product: 2, manufacturerString: "m", productString: "p", serialString: "s", speed: "super",
    },
    behavior: { type: "exec", command: "python3", arguments: ["-u", "x.py"], environment: ["KEY"] },
    hid: [{ id: 3, name: "keys", function: "mediaRemote" }],
    location: { id: 4, name: "receiver", provides: ["GGA", "heading"] },
    rules: [
      { send: "StartPowerUpdates", parameters: { "battery percent": true, "77": { hex: "0a 0b" } }, every: "2s" },
      {
        on: "PowerUpdate", with: { charging: 2 }, after: "10ms", until: 0xae02, send: "AE03", select: true, undeclared: true,
        parameters: { "available mA": "=battery percent" },
      },
    ],
    quirks: ["no-status", { name: "flicker", cycles: 3, gap: "1s" }],
  }
  """

func readTemplate(
  _ text: String, file: String = "f", library: ProfileLibrary = ProfileLibrary()
) throws(SourceProblems)
  -> ProfileTemplate
{
  try library.template(text: Array(text.utf8), file: file, name: "test")
}

func complaints(_ text: String, library: ProfileLibrary = ProfileLibrary()) -> [String] {
  do {
    return try readTemplate(text, library: library).warnings.map(\.description)
  } catch {
    return error.problems.map(\.description)
  }
}
