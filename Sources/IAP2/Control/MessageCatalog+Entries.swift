// This table lists every control message that at least two public sources document: its number, name, sender, and named
// parameters. Messages without a name have been captured, but no source describes them.

extension MessageCatalog {
  /// All entries, sorted by number.
  public static let all: [Entry] = [
    Entry(0x00B0, "StartOOBBTPairing", .device),
    Entry(0x00B1, "OOBBTPairingAccessoryInformation", .accessory, "0 u16 transport component; 1 blob MAC"),
    Entry(0x00B2, "OOBBTPairingLinkKeyInformation", .device, "0 blob link key; 1 blob device MAC"),
    Entry(0x00B3, "OOBBTPairingCompletionInformation", .accessory, "0 u8 result"),
    Entry(0x00B4, "StopOOBBTPairing", .device),
    Entry(0x1D00, "StartIdentification", .device),
    Entry(
      0x1D01, "IdentificationInformation", .accessory,
      """
      0 utf8 name; 1 utf8 model; 2 utf8 manufacturer; 3 utf8 serial number; 4 utf8 firmware version; \
      5 utf8 hardware version; 6 list messages sent; 7 list messages received; 8 u8 power capability; \
      9 u16 maximum current mA; \
      10 group protocol {0 u8 id; 1 utf8 name; 2 u8 match action; 3 u16 native transport; 4 none CarPlay}; \
      11 utf8 team id; 12 utf8 current language; 13 utf8 supported language; \
      14 group serial transport {0 u16 component; 1 utf8 name; 2 none iAP2}; \
      15 group USB device transport {0 u16 component; 1 utf8 name; 2 none iAP2; 3 u8 audio rate}; \
      16 group USB host transport {0 u16 component; 1 utf8 name; 2 none iAP2; 3 u8 CarPlay interface; 4 none CarPlay}; \
      17 group Bluetooth transport {0 u16 component; 1 utf8 name; 2 none iAP2; 3 blob MAC}; \
      18 group HID {0 u16 component; 1 utf8 name; 2 u8 function}; 20 group vehicle information; \
      21 group vehicle status; 22 group location {0 u16 component; 1 utf8 name}; 23 group USB host HID; \
      24 group wireless CarPlay transport {0 u16 component; 1 utf8 name; 2 none iAP2; 4 none CarPlay}; \
      26 group Bluetooth LE transport; 29 group Bluetooth HID; 30 group route guidance display; \
      33 group road object detection; 34 utf8 product plan UID
      """),
    Entry(0x1D02, "IdentificationAccepted", .device),
    Entry(0x1D03, "IdentificationRejected", .device),
    Entry(0x1D05, "CancelIdentification", .accessory),
    Entry(
      0x1D06, "IdentificationInformationUpdate", .accessory,
      """
      0 utf8 name; 1 utf8 model; 2 utf8 manufacturer; 3 utf8 serial number; 4 utf8 firmware version; \
      5 utf8 hardware version; 6 utf8 current language
      """),
    Entry(
      0x4154, "StartCallStateUpdates", .accessory,
      """
      0 none remote id; 1 none name; 2 none status; 3 none direction; 4 none call UUID; 6 none address book id; \
      7 none label; 8 none service; 9 none conferenced; 10 none group; 11 none disconnect reason; 12 none start
      """),
    Entry(
      0x4155, "CallStateUpdate", .device,
      """
      0 utf8 remote id; 1 utf8 name; 2 u8 status; 3 u8 direction; 4 utf8 call UUID; 6 utf8 address book id; \
      7 utf8 label; 8 u8 service; 9 u8 conferenced; 10 u8 group; 11 u8 disconnect reason; 12 u64 start
      """),
    Entry(0x4156, "StopCallStateUpdates", .accessory),
    Entry(
      0x4157, "StartCommunicationsUpdates", .accessory,
      """
      0 none signal; 1 none registration; 2 none airplane mode; 4 none carrier; 5 none cellular supported; \
      6 none telephony on; 7 none FaceTime audio; 8 none FaceTime video; 9 none mute; 10 none calls; \
      11 none voicemails; 12 none initiate; 13 none end and accept; 14 none hold and accept; 15 none swap; \
      16 none merge; 17 none hold
      """),
    Entry(
      0x4158, "CommunicationsUpdate", .device,
      """
      0 u8 signal; 1 u8 registration; 2 u8 airplane mode; 4 utf8 carrier; 5 u8 cellular supported; \
      6 u8 telephony on; 7 u8 FaceTime audio; 8 u8 FaceTime video; 9 u8 mute; 10 u8 calls; 11 u8 voicemails; \
      12 u8 initiate; 13 u8 end and accept; 14 u8 hold and accept; 15 u8 swap; 16 u8 merge; 17 u8 hold
      """),
    Entry(0x4159, "StopCommunicationsUpdates", .accessory),
    Entry(0x415A, "InitiateCall", .accessory, "0 u8 type; 1 utf8 destination; 2 u8 service; 3 utf8 address book id"),
    Entry(0x415B, "AcceptCall", .accessory, "0 u8 action; 1 utf8 call UUID"),
    Entry(0x415C, "EndCall", .accessory, "0 u8 action; 1 utf8 call UUID"),
    Entry(0x415D, "SwapCalls", .accessory),
    Entry(0x415E, "MergeCalls", .accessory),
    Entry(0x415F, "HoldStatusUpdate", .accessory, "0 u8 hold; 1 utf8 call UUID"),
    Entry(0x4160, "MuteStatusUpdate", .accessory, "0 u8 mute"),
    Entry(0x4161, "SendDTMF", .accessory, "0 u8 tone; 1 utf8 call UUID"),
    Entry(0x4170, "StartListUpdates", .accessory),
    Entry(0x4171, "ListUpdate", .device),
    Entry(0x4172, "StopListUpdates", .accessory),
    Entry(
      0x4300, "CarPlayAvailability", .device,
      "0 group wired {0 u8 available; 1 utf8 USB id}; 1 group wireless {0 u8 available; 1 utf8 Bluetooth id}"),
    Entry(0x4301, "CarPlayStartSession", .accessory),
    Entry(0x4302, "", nil),
    Entry(0x4303, "", nil),
    Entry(0x4C00, "StartMediaLibraryInformation", .accessory),
    Entry(0x4C01, "MediaLibraryInformation", .device, "0 group library {0 utf8 name; 1 utf8 uid; 2 u8 type}"),
    Entry(0x4C02, "StopMediaLibraryInformation", .accessory),
    Entry(
      0x4C03, "StartMediaLibraryUpdates", .accessory,
      "0 utf8 library uid; 1 utf8 last revision; 2 group item fields; 3 group playlist fields"),
    Entry(
      0x4C04, "MediaLibraryUpdate", .device,
      """
      0 utf8 library uid; 1 utf8 revision; 2 group item; 3 group playlist; 4 u64 deleted item; \
      5 u64 deleted playlist; 6 none reset; 7 u8 progress
      """),
    Entry(0x4C05, "StopMediaLibraryUpdates", .accessory, "0 utf8 library uid"),
    Entry(0x4C06, "PlayMediaLibraryCurrentSelection", .accessory),
    Entry(0x4C07, "PlayMediaLibraryItems", .accessory),
    Entry(0x4C08, "PlayMediaLibraryCollection", .accessory),
    Entry(0x4C09, "PlayMediaLibrarySpecial", .accessory),
    Entry(
      0x4E01, "BluetoothComponentInformation", .accessory, "0 group component status {0 u16 component; 1 u8 on}"),
    Entry(0x4E03, "StartBluetoothConnectionUpdates", .accessory, "0 u16 component"),
    Entry(0x4E04, "BluetoothConnectionUpdate", .device, "0 u16 component"),
    Entry(0x4E05, "StopBluetoothConnectionUpdates", .accessory),
    Entry(0x4E09, "DeviceInformationUpdate", .device, "0 utf8 device name"),
    Entry(0x4E0A, "DeviceLanguageUpdate", .device, "0 utf8 language"),
    Entry(0x4E0B, "DeviceTimeUpdate", .device, "0 u64 seconds; 1 i16 zone minutes; 2 i8 DST minutes"),
    Entry(0x4E0C, "DeviceUUIDUpdate", .device, "0 utf8 UUID"),
    Entry(0x4E0D, "WirelessCarPlayUpdate", .device, "0 u8 status"),
    Entry(0x4E0E, "DeviceTransportIdentifierNotification", .device, "0 utf8 Bluetooth MAC; 1 utf8 USB id"),
    Entry(
      0x5000, "StartNowPlayingUpdates", .accessory,
      """
      0 group media item fields {0 none id; 1 none title; 4 none duration ms; 6 none album; 7 none track; \
      8 none tracks; 9 none disc; 10 none discs; 12 none artist; 14 none album artist; 16 none genre; \
      18 none composer; 26 none artwork transfer; 27 none chapters}; \
      1 group playback fields {0 none status; 1 none elapsed ms; 2 none queue index; 3 none queue count; \
      4 none chapter; 5 none shuffle; 6 none repeat; 7 none app; 8 none library uid; 12 none speed; \
      16 none bundle id}
      """),
    Entry(
      0x5001, "NowPlayingUpdate", .device,
      """
      0 group media item {0 u64 id; 1 utf8 title; 4 u32 duration ms; 6 utf8 album; 7 u16 track; \
      8 u16 tracks; 9 u16 disc; 10 u16 discs; 12 utf8 artist; 14 utf8 album artist; 16 utf8 genre; \
      18 utf8 composer; 26 u8 artwork transfer; 27 u16 chapters}; \
      1 group playback {0 u8 status; 1 u32 elapsed ms; 2 u32 queue index; 3 u32 queue count; \
      4 number chapter; 5 u8 shuffle; 6 u8 repeat; 7 utf8 app; 8 utf8 library uid; 12 u16 speed; \
      16 utf8 bundle id}
      """),
    Entry(0x5002, "StopNowPlayingUpdates", .accessory),
    Entry(0x5003, "SetNowPlayingInformation", .accessory, "0 u32 elapsed ms; 1 u32 queue index; 2 none start"),
    Entry(0x5200, "StartRouteGuidanceUpdates", .accessory),
    Entry(0x5201, "RouteGuidanceUpdate", .device),
    Entry(0x5202, "RouteGuidanceManeuverInformation", .device),
    Entry(0x5203, "StopRouteGuidanceUpdates", .accessory),
    Entry(0x5204, "LaneGuidanceInformation", .device),
    Entry(0x5400, "StartAssistiveTouch", .accessory),
    Entry(0x5401, "StopAssistiveTouch", .accessory),
    Entry(0x5402, "StartAssistiveTouchInformation", .accessory),
    Entry(0x5403, "AssistiveTouchInformation", .device),
    Entry(0x5404, "StopAssistiveTouchInformation", .accessory),
    Entry(0x5700, "RequestWiFiInformation", .accessory),
    Entry(0x5701, "WiFiInformation", .device, "0 u8 status"),
    Entry(0x5702, "RequestAccessoryWiFiConfigurationInformation", .device),
    Entry(
      0x5703, "AccessoryWiFiConfigurationInformation", .accessory,
      "1 utf8 ssid; 2 utf8 passphrase; 3 u8 security; 4 u8 channel"),
    Entry(
      0x6800, "StartHID", .accessory,
      "0 u16 component; 1 u16 vendor; 2 u16 product; 3 u8 country; 4 blob report descriptor"),
    Entry(0x6801, "DeviceHIDReport", .device, "0 u16 component; 1 blob report"),
    Entry(0x6802, "AccessoryHIDReport", .accessory, "0 u16 component; 1 blob report"),
    Entry(0x6803, "StopHID", .accessory, "0 u16 component"),
    Entry(0x6806, "", nil),
    Entry(0x6807, "", nil),
    Entry(0xA100, "StartVehicleStatusUpdates", .device, "3 none range; 4 none temperature; 6 none range warning"),
    Entry(0xA101, "VehicleStatusUpdate", .accessory, "3 u16 range; 4 i16 temperature; 6 u8 range warning"),
    Entry(0xA102, "StopVehicleStatusUpdates", .device),
    Entry(0xAA00, "RequestAuthenticationCertificate", .device),
    Entry(0xAA01, "AuthenticationCertificate", .accessory, "0 blob certificate"),
    Entry(0xAA02, "RequestAuthenticationChallengeResponse", .device, "0 blob challenge"),
    Entry(0xAA03, "AuthenticationResponse", .accessory, "0 blob response"),
    Entry(0xAA04, "AuthenticationFailed", .device),
    Entry(0xAA05, "AuthenticationSucceeded", .device),
    Entry(0xAA06, "AccessoryAuthenticationSerialNumber", .accessory),
    Entry(0xAD00, "", nil),
    Entry(0xAD01, "", nil),
    Entry(0xAD02, "", nil),
    Entry(0xAD03, "", nil),
    Entry(
      0xAE00, "StartPowerUpdates", .accessory,
      """
      0 none maximum current drawn; 1 none will charge; 2 none accessory power mode; \
      4 none external charger; 5 none charging; 6 none battery percent
      """),
    Entry(
      0xAE01, "PowerUpdate", .device,
      """
      0 u16 maximum current drawn mA; 1 u8 will charge; 2 u8 accessory power mode; 4 u8 external charger; \
      5 u8 charging; 6 u16 battery percent
      """),
    Entry(0xAE02, "StopPowerUpdates", .accessory),
    Entry(0xAE03, "PowerSourceUpdate", .accessory, "0 u16 available mA; 1 u8 should charge"),
    Entry(0xAE05, "", nil),
    Entry(0xDA00, "StartUSBDeviceModeAudio", .accessory),
    Entry(0xDA01, "USBDeviceModeAudioInformation", .device, "0 u8 rate; 1 u32; 2 u32"),
    Entry(0xDA02, "StopUSBDeviceModeAudio", .accessory),
    Entry(0xEA00, "StartExternalAccessoryProtocolSession", .device, "0 u8 protocol; 1 u16 session"),
    Entry(0xEA01, "StopExternalAccessoryProtocolSession", .device, "0 u16 session"),
    Entry(0xEA02, "RequestAppLaunch", .accessory, "0 utf8 bundle id; 1 u8 alert"),
    Entry(0xEA03, "StatusExternalAccessoryProtocolSession", .accessory, "0 u16 session; 1 u8 status"),
    Entry(0xFFF0, "GPRMCDataStatusValuesNotification", .device),
    Entry(
      0xFFFA, "StartLocationInformation", .device,
      "1 none GGA; 2 none RMC; 3 none GSV; 4 none vehicle speed; 5 none gyro; 6 none accelerometer; 7 none heading"),
    Entry(0xFFFB, "LocationInformation", .accessory, "0 utf8 NMEA sentence"),
    Entry(0xFFFC, "StopLocationInformation", .device),
  ]
}
