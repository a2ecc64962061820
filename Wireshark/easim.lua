-- iAP2 for Wireshark and tshark: link packets, control messages and their parameters, in captures of easim
-- (link type USER0), in USB bulk transfers and on RFCOMM channels.
--
--   tshark -X lua_script:Wireshark/easim.lua -r FILE.pcapng
--
-- The names between the two markers are generated from easim's catalogue; DissectorNamesTests compares them.

-- <!-- begin names -->
local names = {
  [0x00B0] = { "StartOOBBTPairing" },
  [0x00B1] = { "OOBBTPairingAccessoryInformation", { [0] = { "transport component", "u16" }, [1] = { "MAC", "blob" } } },
  [0x00B2] = { "OOBBTPairingLinkKeyInformation", { [0] = { "link key", "blob" }, [1] = { "device MAC", "blob" } } },
  [0x00B3] = { "OOBBTPairingCompletionInformation", { [0] = { "result", "u8" } } },
  [0x00B4] = { "StopOOBBTPairing" },
  [0x1D00] = { "StartIdentification" },
  [0x1D01] = { "IdentificationInformation", { [0] = { "name", "utf8" }, [1] = { "model", "utf8" }, [2] = { "manufacturer", "utf8" }, [3] = { "serial number", "utf8" }, [4] = { "firmware version", "utf8" }, [5] = { "hardware version", "utf8" }, [6] = { "messages sent", "list" }, [7] = { "messages received", "list" }, [8] = { "power capability", "u8" }, [9] = { "maximum current mA", "u16" }, [10] = { "protocol", "group", { [0] = { "id", "u8" }, [1] = { "name", "utf8" }, [2] = { "match action", "u8" }, [3] = { "native transport", "u16" }, [4] = { "CarPlay", "none" } } }, [11] = { "team id", "utf8" }, [12] = { "current language", "utf8" }, [13] = { "supported language", "utf8" }, [14] = { "serial transport", "group", { [0] = { "component", "u16" }, [1] = { "name", "utf8" }, [2] = { "iAP2", "none" } } }, [15] = { "USB device transport", "group", { [0] = { "component", "u16" }, [1] = { "name", "utf8" }, [2] = { "iAP2", "none" }, [3] = { "audio rate", "u8" } } }, [16] = { "USB host transport", "group", { [0] = { "component", "u16" }, [1] = { "name", "utf8" }, [2] = { "iAP2", "none" }, [3] = { "CarPlay interface", "u8" }, [4] = { "CarPlay", "none" } } }, [17] = { "Bluetooth transport", "group", { [0] = { "component", "u16" }, [1] = { "name", "utf8" }, [2] = { "iAP2", "none" }, [3] = { "MAC", "blob" } } }, [18] = { "HID", "group", { [0] = { "component", "u16" }, [1] = { "name", "utf8" }, [2] = { "function", "u8" } } }, [20] = { "vehicle information", "group" }, [21] = { "vehicle status", "group" }, [22] = { "location", "group", { [0] = { "component", "u16" }, [1] = { "name", "utf8" } } }, [23] = { "USB host HID", "group" }, [24] = { "wireless CarPlay transport", "group", { [0] = { "component", "u16" }, [1] = { "name", "utf8" }, [2] = { "iAP2", "none" }, [4] = { "CarPlay", "none" } } }, [26] = { "Bluetooth LE transport", "group" }, [29] = { "Bluetooth HID", "group" }, [30] = { "route guidance display", "group" }, [33] = { "road object detection", "group" }, [34] = { "product plan UID", "utf8" } } },
  [0x1D02] = { "IdentificationAccepted" },
  [0x1D03] = { "IdentificationRejected" },
  [0x1D05] = { "CancelIdentification" },
  [0x1D06] = { "IdentificationInformationUpdate", { [0] = { "name", "utf8" }, [1] = { "model", "utf8" }, [2] = { "manufacturer", "utf8" }, [3] = { "serial number", "utf8" }, [4] = { "firmware version", "utf8" }, [5] = { "hardware version", "utf8" }, [6] = { "current language", "utf8" } } },
  [0x4154] = { "StartCallStateUpdates", { [0] = { "remote id", "none" }, [1] = { "name", "none" }, [2] = { "status", "none" }, [3] = { "direction", "none" }, [4] = { "call UUID", "none" }, [6] = { "address book id", "none" }, [7] = { "label", "none" }, [8] = { "service", "none" }, [9] = { "conferenced", "none" }, [10] = { "group", "none" }, [11] = { "disconnect reason", "none" }, [12] = { "start", "none" } } },
  [0x4155] = { "CallStateUpdate", { [0] = { "remote id", "utf8" }, [1] = { "name", "utf8" }, [2] = { "status", "u8" }, [3] = { "direction", "u8" }, [4] = { "call UUID", "utf8" }, [6] = { "address book id", "utf8" }, [7] = { "label", "utf8" }, [8] = { "service", "u8" }, [9] = { "conferenced", "u8" }, [10] = { "group", "u8" }, [11] = { "disconnect reason", "u8" }, [12] = { "start", "u64" } } },
  [0x4156] = { "StopCallStateUpdates" },
  [0x4157] = { "StartCommunicationsUpdates", { [0] = { "signal", "none" }, [1] = { "registration", "none" }, [2] = { "airplane mode", "none" }, [4] = { "carrier", "none" }, [5] = { "cellular supported", "none" }, [6] = { "telephony on", "none" }, [7] = { "FaceTime audio", "none" }, [8] = { "FaceTime video", "none" }, [9] = { "mute", "none" }, [10] = { "calls", "none" }, [11] = { "voicemails", "none" }, [12] = { "initiate", "none" }, [13] = { "end and accept", "none" }, [14] = { "hold and accept", "none" }, [15] = { "swap", "none" }, [16] = { "merge", "none" }, [17] = { "hold", "none" } } },
  [0x4158] = { "CommunicationsUpdate", { [0] = { "signal", "u8" }, [1] = { "registration", "u8" }, [2] = { "airplane mode", "u8" }, [4] = { "carrier", "utf8" }, [5] = { "cellular supported", "u8" }, [6] = { "telephony on", "u8" }, [7] = { "FaceTime audio", "u8" }, [8] = { "FaceTime video", "u8" }, [9] = { "mute", "u8" }, [10] = { "calls", "u8" }, [11] = { "voicemails", "u8" }, [12] = { "initiate", "u8" }, [13] = { "end and accept", "u8" }, [14] = { "hold and accept", "u8" }, [15] = { "swap", "u8" }, [16] = { "merge", "u8" }, [17] = { "hold", "u8" } } },
  [0x4159] = { "StopCommunicationsUpdates" },
  [0x415A] = { "InitiateCall", { [0] = { "type", "u8" }, [1] = { "destination", "utf8" }, [2] = { "service", "u8" }, [3] = { "address book id", "utf8" } } },
  [0x415B] = { "AcceptCall", { [0] = { "action", "u8" }, [1] = { "call UUID", "utf8" } } },
  [0x415C] = { "EndCall", { [0] = { "action", "u8" }, [1] = { "call UUID", "utf8" } } },
  [0x415D] = { "SwapCalls" },
  [0x415E] = { "MergeCalls" },
  [0x415F] = { "HoldStatusUpdate", { [0] = { "hold", "u8" }, [1] = { "call UUID", "utf8" } } },
  [0x4160] = { "MuteStatusUpdate", { [0] = { "mute", "u8" } } },
  [0x4161] = { "SendDTMF", { [0] = { "tone", "u8" }, [1] = { "call UUID", "utf8" } } },
  [0x4170] = { "StartListUpdates" },
  [0x4171] = { "ListUpdate" },
  [0x4172] = { "StopListUpdates" },
  [0x4300] = { "CarPlayAvailability", { [0] = { "wired", "group", { [0] = { "available", "u8" }, [1] = { "USB id", "utf8" } } }, [1] = { "wireless", "group", { [0] = { "available", "u8" }, [1] = { "Bluetooth id", "utf8" } } } } },
  [0x4301] = { "CarPlayStartSession" },
  [0x4302] = { "" },
  [0x4303] = { "" },
  [0x4C00] = { "StartMediaLibraryInformation" },
  [0x4C01] = { "MediaLibraryInformation", { [0] = { "library", "group", { [0] = { "name", "utf8" }, [1] = { "uid", "utf8" }, [2] = { "type", "u8" } } } } },
  [0x4C02] = { "StopMediaLibraryInformation" },
  [0x4C03] = { "StartMediaLibraryUpdates", { [0] = { "library uid", "utf8" }, [1] = { "last revision", "utf8" }, [2] = { "item fields", "group" }, [3] = { "playlist fields", "group" } } },
  [0x4C04] = { "MediaLibraryUpdate", { [0] = { "library uid", "utf8" }, [1] = { "revision", "utf8" }, [2] = { "item", "group" }, [3] = { "playlist", "group" }, [4] = { "deleted item", "u64" }, [5] = { "deleted playlist", "u64" }, [6] = { "reset", "none" }, [7] = { "progress", "u8" } } },
  [0x4C05] = { "StopMediaLibraryUpdates", { [0] = { "library uid", "utf8" } } },
  [0x4C06] = { "PlayMediaLibraryCurrentSelection" },
  [0x4C07] = { "PlayMediaLibraryItems" },
  [0x4C08] = { "PlayMediaLibraryCollection" },
  [0x4C09] = { "PlayMediaLibrarySpecial" },
  [0x4E01] = { "BluetoothComponentInformation", { [0] = { "component status", "group", { [0] = { "component", "u16" }, [1] = { "on", "u8" } } } } },
  [0x4E03] = { "StartBluetoothConnectionUpdates", { [0] = { "component", "u16" } } },
  [0x4E04] = { "BluetoothConnectionUpdate", { [0] = { "component", "u16" } } },
  [0x4E05] = { "StopBluetoothConnectionUpdates" },
  [0x4E09] = { "DeviceInformationUpdate", { [0] = { "device name", "utf8" } } },
  [0x4E0A] = { "DeviceLanguageUpdate", { [0] = { "language", "utf8" } } },
  [0x4E0B] = { "DeviceTimeUpdate", { [0] = { "seconds", "u64" }, [1] = { "zone minutes", "i16" }, [2] = { "DST minutes", "i8" } } },
  [0x4E0C] = { "DeviceUUIDUpdate", { [0] = { "UUID", "utf8" } } },
  [0x4E0D] = { "WirelessCarPlayUpdate", { [0] = { "status", "u8" } } },
  [0x4E0E] = { "DeviceTransportIdentifierNotification", { [0] = { "Bluetooth MAC", "utf8" }, [1] = { "USB id", "utf8" } } },
  [0x5000] = { "StartNowPlayingUpdates", { [0] = { "media item fields", "group", { [0] = { "id", "none" }, [1] = { "title", "none" }, [4] = { "duration ms", "none" }, [6] = { "album", "none" }, [7] = { "track", "none" }, [8] = { "tracks", "none" }, [9] = { "disc", "none" }, [10] = { "discs", "none" }, [12] = { "artist", "none" }, [14] = { "album artist", "none" }, [16] = { "genre", "none" }, [18] = { "composer", "none" }, [26] = { "artwork transfer", "none" }, [27] = { "chapters", "none" } } }, [1] = { "playback fields", "group", { [0] = { "status", "none" }, [1] = { "elapsed ms", "none" }, [2] = { "queue index", "none" }, [3] = { "queue count", "none" }, [4] = { "chapter", "none" }, [5] = { "shuffle", "none" }, [6] = { "repeat", "none" }, [7] = { "app", "none" }, [8] = { "library uid", "none" }, [12] = { "speed", "none" }, [16] = { "bundle id", "none" } } } } },
  [0x5001] = { "NowPlayingUpdate", { [0] = { "media item", "group", { [0] = { "id", "u64" }, [1] = { "title", "utf8" }, [4] = { "duration ms", "u32" }, [6] = { "album", "utf8" }, [7] = { "track", "u16" }, [8] = { "tracks", "u16" }, [9] = { "disc", "u16" }, [10] = { "discs", "u16" }, [12] = { "artist", "utf8" }, [14] = { "album artist", "utf8" }, [16] = { "genre", "utf8" }, [18] = { "composer", "utf8" }, [26] = { "artwork transfer", "u8" }, [27] = { "chapters", "u16" } } }, [1] = { "playback", "group", { [0] = { "status", "u8" }, [1] = { "elapsed ms", "u32" }, [2] = { "queue index", "u32" }, [3] = { "queue count", "u32" }, [4] = { "chapter", "number" }, [5] = { "shuffle", "u8" }, [6] = { "repeat", "u8" }, [7] = { "app", "utf8" }, [8] = { "library uid", "utf8" }, [12] = { "speed", "u16" }, [16] = { "bundle id", "utf8" } } } } },
  [0x5002] = { "StopNowPlayingUpdates" },
  [0x5003] = { "SetNowPlayingInformation", { [0] = { "elapsed ms", "u32" }, [1] = { "queue index", "u32" }, [2] = { "start", "none" } } },
  [0x5200] = { "StartRouteGuidanceUpdates" },
  [0x5201] = { "RouteGuidanceUpdate" },
  [0x5202] = { "RouteGuidanceManeuverInformation" },
  [0x5203] = { "StopRouteGuidanceUpdates" },
  [0x5204] = { "LaneGuidanceInformation" },
  [0x5400] = { "StartAssistiveTouch" },
  [0x5401] = { "StopAssistiveTouch" },
  [0x5402] = { "StartAssistiveTouchInformation" },
  [0x5403] = { "AssistiveTouchInformation" },
  [0x5404] = { "StopAssistiveTouchInformation" },
  [0x5700] = { "RequestWiFiInformation" },
  [0x5701] = { "WiFiInformation", { [0] = { "status", "u8" } } },
  [0x5702] = { "RequestAccessoryWiFiConfigurationInformation" },
  [0x5703] = { "AccessoryWiFiConfigurationInformation", { [1] = { "ssid", "utf8" }, [2] = { "passphrase", "utf8" }, [3] = { "security", "u8" }, [4] = { "channel", "u8" } } },
  [0x6800] = { "StartHID", { [0] = { "component", "u16" }, [1] = { "vendor", "u16" }, [2] = { "product", "u16" }, [3] = { "country", "u8" }, [4] = { "report descriptor", "blob" } } },
  [0x6801] = { "DeviceHIDReport", { [0] = { "component", "u16" }, [1] = { "report", "blob" } } },
  [0x6802] = { "AccessoryHIDReport", { [0] = { "component", "u16" }, [1] = { "report", "blob" } } },
  [0x6803] = { "StopHID", { [0] = { "component", "u16" } } },
  [0x6806] = { "" },
  [0x6807] = { "" },
  [0xA100] = { "StartVehicleStatusUpdates", { [3] = { "range", "none" }, [4] = { "temperature", "none" }, [6] = { "range warning", "none" } } },
  [0xA101] = { "VehicleStatusUpdate", { [3] = { "range", "u16" }, [4] = { "temperature", "i16" }, [6] = { "range warning", "u8" } } },
  [0xA102] = { "StopVehicleStatusUpdates" },
  [0xAA00] = { "RequestAuthenticationCertificate" },
  [0xAA01] = { "AuthenticationCertificate", { [0] = { "certificate", "blob" } } },
  [0xAA02] = { "RequestAuthenticationChallengeResponse", { [0] = { "challenge", "blob" } } },
  [0xAA03] = { "AuthenticationResponse", { [0] = { "response", "blob" } } },
  [0xAA04] = { "AuthenticationFailed" },
  [0xAA05] = { "AuthenticationSucceeded" },
  [0xAA06] = { "AccessoryAuthenticationSerialNumber" },
  [0xAD00] = { "" },
  [0xAD01] = { "" },
  [0xAD02] = { "" },
  [0xAD03] = { "" },
  [0xAE00] = { "StartPowerUpdates", { [0] = { "maximum current drawn", "none" }, [1] = { "will charge", "none" }, [2] = { "accessory power mode", "none" }, [4] = { "external charger", "none" }, [5] = { "charging", "none" }, [6] = { "battery percent", "none" } } },
  [0xAE01] = { "PowerUpdate", { [0] = { "maximum current drawn mA", "u16" }, [1] = { "will charge", "u8" }, [2] = { "accessory power mode", "u8" }, [4] = { "external charger", "u8" }, [5] = { "charging", "u8" }, [6] = { "battery percent", "u16" } } },
  [0xAE02] = { "StopPowerUpdates" },
  [0xAE03] = { "PowerSourceUpdate", { [0] = { "available mA", "u16" }, [1] = { "should charge", "u8" } } },
  [0xAE05] = { "" },
  [0xDA00] = { "StartUSBDeviceModeAudio" },
  [0xDA01] = { "USBDeviceModeAudioInformation", { [0] = { "rate", "u8" }, [1] = { "", "u32" }, [2] = { "", "u32" } } },
  [0xDA02] = { "StopUSBDeviceModeAudio" },
  [0xEA00] = { "StartExternalAccessoryProtocolSession", { [0] = { "protocol", "u8" }, [1] = { "session", "u16" } } },
  [0xEA01] = { "StopExternalAccessoryProtocolSession", { [0] = { "session", "u16" } } },
  [0xEA02] = { "RequestAppLaunch", { [0] = { "bundle id", "utf8" }, [1] = { "alert", "u8" } } },
  [0xEA03] = { "StatusExternalAccessoryProtocolSession", { [0] = { "session", "u16" }, [1] = { "status", "u8" } } },
  [0xFFF0] = { "GPRMCDataStatusValuesNotification" },
  [0xFFFA] = { "StartLocationInformation", { [1] = { "GGA", "none" }, [2] = { "RMC", "none" }, [3] = { "GSV", "none" }, [4] = { "vehicle speed", "none" }, [5] = { "gyro", "none" }, [6] = { "accelerometer", "none" }, [7] = { "heading", "none" } } },
  [0xFFFB] = { "LocationInformation", { [0] = { "NMEA sentence", "utf8" } } },
  [0xFFFC] = { "StopLocationInformation" },
}
-- <!-- end names -->

local iap2 = Proto("iap2", "iPod Accessory Protocol 2")

local yes_no = { "yes", "no" }
local f = {
  from = ProtoField.string("iap2.from", "Sender"),
  detection = ProtoField.bytes("iap2.detection", "Detection"),
  skipped = ProtoField.bytes("iap2.skipped", "Bytes of no packet"),
  legacy = ProtoField.bytes("iap2.iap1", "Frame of iAP1"),
  length = ProtoField.uint16("iap2.length", "Length"),
  control = ProtoField.uint8("iap2.control", "Control", base.HEX),
  syn = ProtoField.bool("iap2.control.syn", "Synchronise", 8, yes_no, 0x80),
  ackbit = ProtoField.bool("iap2.control.ack", "Acknowledge", 8, yes_no, 0x40),
  eak = ProtoField.bool("iap2.control.eak", "Extended acknowledgement", 8, yes_no, 0x20),
  rst = ProtoField.bool("iap2.control.rst", "Reset", 8, yes_no, 0x10),
  slp = ProtoField.bool("iap2.control.slp", "Sleep", 8, yes_no, 0x08),
  seq = ProtoField.uint8("iap2.seq", "Sequence number"),
  ack = ProtoField.uint8("iap2.ack", "Acknowledgement number"),
  session = ProtoField.uint8("iap2.session", "Link session"),
  headersum = ProtoField.uint8("iap2.header_checksum", "Header checksum", base.HEX),
  payload = ProtoField.bytes("iap2.payload", "Payload"),
  payloadsum = ProtoField.uint8("iap2.payload_checksum", "Payload checksum", base.HEX),
  bad = ProtoField.bool("iap2.bad_checksum", "Payload checksum is wrong"),
  version = ProtoField.uint8("iap2.syn.version", "Version"),
  window = ProtoField.uint8("iap2.syn.window", "Packets without acknowledgement"),
  longest = ProtoField.uint16("iap2.syn.length", "Longest packet"),
  timeout = ProtoField.uint16("iap2.syn.timeout", "Retransmission timeout (ms)"),
  hold = ProtoField.uint16("iap2.syn.hold", "Acknowledgement timeout (ms)"),
  repeats = ProtoField.uint8("iap2.syn.repeats", "Retransmissions"),
  acks = ProtoField.uint8("iap2.syn.acks", "Packets per acknowledgement"),
  kindid = ProtoField.uint8("iap2.syn.session", "Session"),
  kind = ProtoField.uint8("iap2.syn.kind", "Kind of session", base.DEC,
    { [0] = "control", [1] = "file transfer", [2] = "External Accessory" }),
  list = ProtoField.uint8("iap2.eak.seq", "Received out of order"),
  message = ProtoField.uint16("iap2.message.id", "Message", base.HEX),
  message_name = ProtoField.string("iap2.message.name", "Name"),
  message_length = ProtoField.uint16("iap2.message.length", "Message length"),
  parameter = ProtoField.uint16("iap2.parameter.id", "Parameter"),
  parameter_name = ProtoField.string("iap2.parameter.name", "Name"),
  parameter_value = ProtoField.bytes("iap2.parameter.value", "Value"),
  parameter_text = ProtoField.string("iap2.parameter.text", "Text"),
  ea = ProtoField.uint16("iap2.ea.session", "Accessory session"),
  data = ProtoField.bytes("iap2.ea.data", "Session data"),
}
local fields = {}
for _, field in pairs(f) do fields[#fields + 1] = field end
iap2.fields = fields

local e_sum = ProtoExpert.new("iap2.expert.checksum", "Wrong checksum", expert.group.CHECKSUM, expert.severity.ERROR)
local e_skip = ProtoExpert.new("iap2.expert.skipped", "Bytes that belong to no packet", expert.group.MALFORMED, expert.severity.WARN)
local e_again = ProtoExpert.new("iap2.expert.retransmission", "Retransmission", expert.group.SEQUENCE, expert.severity.NOTE)
local e_gap = ProtoExpert.new("iap2.expert.missing", "Packets before this one are missing", expert.group.SEQUENCE, expert.severity.WARN)
local e_long = ProtoExpert.new("iap2.expert.length", "Longer than the other end takes", expert.group.PROTOCOL, expert.severity.WARN)
iap2.experts = { e_sum, e_skip, e_again, e_gap, e_long }

local get_interface = Field.new("frame.interface_id")
local get_direction = Field.new("frame.packet_flags_direction")
local get_bus, get_device = Field.new("usb.bus_id"), Field.new("usb.device_address")
local get_handle, get_link = Field.new("bthci_acl.chandle"), Field.new("btrfcomm.dlci")

-- What the first pass found, by frame: a list of pieces with their bytes, and what is known about each.
local frames = {}
-- The links, by cable: what each end has sent.
local links = {}

function iap2.init()
  frames = {}
  links = {}
end

local function u16(s, at) return s:byte(at) * 256 + s:byte(at + 1) end

local function sum(s, first, last)
  local value = 0
  for index = first, last do value = (value + s:byte(index)) % 256 end
  return value
end

-- The first whole piece of a stream: its kind and length, or nothing while it is incomplete.
local function piece(s)
  if s:byte(1) == 0 then
    local last = 1
    while s:byte(last + 1) == 0 do last = last + 1 end
    return "padding", last
  end
  if s:byte(1) == 0xFF and #s == 1 then return nil end
  if s:byte(1) == 0xFF and s:byte(2) == 0x5A then
    if #s < 9 then return nil end
    local length = u16(s, 3)
    if sum(s, 1, 9) == 0 and length >= 9 then
      if #s < length then return nil end
      return "packet", length
    end
  elseif s:byte(1) == 0xFF and s:byte(2) == 0x55 then
    if #s < 3 then return nil end
    local length = s:byte(3) + 4
    if s:byte(3) <= 32 and s:byte(3) > 0 then
      if #s < length then return nil end
      if sum(s, 3, length) == 0 then
        return s:sub(1, 6) == "\xFF\x55\x02\x00\xEE\x10" and "detection" or "legacy", length
      end
    end
  end
  -- Up to the next byte that may begin something.
  local next = s:find("\xFF", 2, true)
  return "skipped", next and next - 1 or #s
end

-- The kinds of sessions in the payload of a SYN, by number; nothing when no link could use the table.
local function sessions(payload)
  if #payload < 13 or (#payload - 10) % 3 ~= 0 then return nil end
  local kinds, controls = {}, 0
  for at = 11, #payload, 3 do
    local session, kind = payload:byte(at, at + 1)
    if session == 0 or kinds[session] then return nil end
    kinds[session] = kind
    if kind == 0 then controls = controls + 1 end
  end
  return controls == 1 and kinds or nil
end

local function learn(link, from, s, found)
  local control = s:byte(5)
  local payload = #s > 10 and s:sub(10, -2) or ""
  found.kind = "packet"
  found.bad = #s >= 10 and sum(s, 10, #s) ~= 0
  if found.bad then return end
  local own = link[from]
  if control >= 0x80 then
    own.expected = (s:byte(6) + 1) % 256
    own.longest = #payload >= 4 and u16(payload, 3) or nil
    for session, kind in pairs(sessions(payload) or {}) do link.kinds[session] = kind end
  elseif #payload > 0 and math.floor(control / 32) % 2 == 0 then
    local distance = own.expected and (s:byte(6) - own.expected) % 256 or 0
    if distance >= 128 or own.seen[s:byte(6)] then
      found.again = true
    elseif distance > 0 then
      found.gap = true
      own.seen[s:byte(6)] = true
    else
      own.expected = (s:byte(6) + 1) % 256
      while own.seen[own.expected] do
        own.seen[own.expected] = nil
        own.expected = (own.expected + 1) % 256
      end
    end
  end
  local other = link[from == "A" and "D" or "A"]
  found.long = control < 0x80 and other.longest ~= nil and #s > other.longest
  found.session_kind = link.kinds[s:byte(8)]
end

local function read(number, key, from, s)
  local link = links[key]
  if not link then
    link = { kinds = {}, A = { rest = "", seen = {} }, D = { rest = "", seen = {} } }
    links[key] = link
  end
  local before = #link[from].rest
  local all = link[from].rest .. s
  local list, at = {}, 1
  while at <= #all do
    local kind, length = piece(all:sub(at))
    if not kind then break end
    local bytes = all:sub(at, at + length - 1)
    -- Where it begins in this frame; negative when it began in an earlier one.
    local found = { kind = kind, bytes = bytes, start = at - 1 - before }
    if kind == "packet" then learn(link, from, bytes, found) end
    local last = list[#list]
    if kind == "skipped" and last and last.kind == "skipped" then
      last.bytes = last.bytes .. bytes
    elseif kind ~= "padding" then
      list[#list + 1] = found
    end
    at = at + length
  end
  link[from].rest = all:sub(at)
  frames[number .. key] = { list = list, from = from }
end

local function add_parameters(range, tree, known)
  local at = 0
  while at + 4 <= range:len() do
    local length, id = range(at, 2):uint(), range(at + 2, 2):uint()
    if length < 4 or at + length > range:len() then return end
    local entry = known and known[id]
    local item = tree:add(f.parameter, range(at + 2, 2))
    item:set_len(length)
    item:add(f.parameter_name, range(at, length), entry and entry[1] or "")
    if length > 4 then
      local value = range(at + 4, length - 4)
      item:add(f.parameter_value, value)
      if entry and entry[2] == "group" then
        add_parameters(value, item, entry[3])
      elseif entry and entry[2] == "utf8" then
        item:add(f.parameter_text, value, value:stringz(ENC_UTF_8))
      end
    end
    if entry then item:append_text(" (" .. entry[1] .. ")") end
    at = at + length
  end
end

local function add_messages(range, tree)
  local at, text = 0, {}
  while at + 6 <= range:len() and range(at, 2):uint() == 0x4040 do
    local length, id = range(at + 2, 2):uint(), range(at + 4, 2):uint()
    if length < 6 or at + length > range:len() then break end
    local entry = names[id]
    local item = tree:add(f.message, range(at + 4, 2))
    item:set_len(length)
    item:add(f.message_name, range(at, length), entry and entry[1] or "")
    item:add(f.message_length, range(at + 2, 2))
    if entry then item:append_text(" (" .. entry[1] .. ")") end
    if length > 6 then add_parameters(range(at + 6, length - 6), item, entry and entry[2]) end
    text[#text + 1] = string.format("%04X", id) .. (entry and entry[1] ~= "" and " " .. entry[1] or "")
    at = at + length
  end
  return table.concat(text, " + ")
end

local function add_syn(range, tree)
  if range:len() < 10 then return end
  tree:add(f.version, range(0, 1))
  tree:add(f.window, range(1, 1))
  tree:add(f.longest, range(2, 2))
  tree:add(f.timeout, range(4, 2))
  tree:add(f.hold, range(6, 2))
  tree:add(f.repeats, range(8, 1))
  tree:add(f.acks, range(9, 1))
  for at = 10, range:len() - 3, 3 do
    tree:add(f.kindid, range(at, 1))
    tree:add(f.kind, range(at + 1, 1))
  end
end

local function add_packet(range, tree, found)
  tree:add(f.length, range(2, 2))
  local bits = tree:add(f.control, range(4, 1))
  for _, field in ipairs({ f.syn, f.ackbit, f.eak, f.rst, f.slp }) do bits:add(field, range(4, 1)) end
  tree:add(f.seq, range(5, 1))
  tree:add(f.ack, range(6, 1))
  tree:add(f.session, range(7, 1))
  tree:add(f.headersum, range(8, 1))
  local control = range(4, 1):uint()
  local text = string.format("seq=%d ack=%d", range(5, 1):uint(), range(6, 1):uint())
  local name = control >= 0x80 and (control % 128 >= 64 and "SYN+ACK" or "SYN") or math.floor(control / 32) % 2 == 1 and "EAK"
    or math.floor(control / 16) % 2 == 1 and "RST" or math.floor(control / 8) % 2 == 1 and "SLP"
    or range:len() > 10 and "DATA" or "ACK"
  if range:len() > 9 then tree:add(f.payloadsum, range(range:len() - 1, 1)) end
  local sumitem = tree:add(f.bad, range(0, range:len()), found.bad)
  if found.bad then sumitem:add_proto_expert_info(e_sum) end
  if found.again then tree:add_proto_expert_info(e_again) end
  if found.gap then tree:add_proto_expert_info(e_gap) end
  if found.long then tree:add_proto_expert_info(e_long) end
  if range:len() > 10 then
    local payload = range(9, range:len() - 10)
    local item = tree:add(f.payload, payload)
    if found.bad then
      return "SPOILED " .. text
    elseif name == "SYN" or name == "SYN+ACK" then
      add_syn(payload, item)
    elseif name == "EAK" then
      for at = 0, payload:len() - 1 do item:add(f.list, payload(at, 1)) end
    else
      local is_control = found.session_kind == 0
        or found.session_kind == nil and payload:len() >= 2 and payload(0, 2):uint() == 0x4040
      if is_control then
        text = text .. " " .. add_messages(payload, item)
      elseif found.session_kind == 2 and payload:len() >= 2 then
        item:add(f.ea, payload(0, 2))
        if payload:len() > 2 then item:add(f.data, payload(2, payload:len() - 2)) end
        text = text .. string.format(" accessory-session=%d %d bytes", payload(0, 2):uint(), payload:len() - 2)
      end
    end
  end
  return name .. " " .. text
end

local function show(tvb, pinfo, tree, key, from)
  local number = pinfo.number .. key
  if not pinfo.visited and not frames[number] then read(pinfo.number, key, from, tvb:raw()) end
  local frame = frames[number]
  if not frame then return end
  pinfo.cols.protocol = "iAP2"
  local root = tree:add(iap2, tvb())
  root:add(f.from, tvb(), frame.from)
  local info = {}
  for _, found in ipairs(frame.list) do
    local range
    if found.start >= 0 and found.start + #found.bytes <= tvb:len() then
      range = tvb(found.start, #found.bytes)
    else
      range = ByteArray.new(found.bytes, true):tvb("iAP2 from several transfers")()
    end
    if found.kind == "packet" then
      local item = root:add(range, "Packet")
      local text = add_packet(range, item, found)
      item:set_text(text)
      info[#info + 1] = text
    elseif found.kind == "detection" then
      root:add(f.detection, range)
      info[#info + 1] = "DETECT"
    elseif found.kind == "legacy" then
      root:add(f.legacy, range)
      info[#info + 1] = "IAP1"
    else
      root:add(f.skipped, range):add_proto_expert_info(e_skip)
      info[#info + 1] = "SKIPPED " .. #found.bytes
    end
  end
  pinfo.cols.info = frame.from .. " " .. (#info > 0 and table.concat(info, ", ") or "part of a packet")
end

-- Cables that easim recorded.
function iap2.dissector(tvb, pinfo, tree)
  if tvb:len() == 0 then
    pinfo.cols.protocol = "easim"
    return
  end
  local interface, direction = get_interface(), get_direction()
  local is_received = direction and tonumber(direction.value) == 1
  show(tvb, pinfo, tree, "cable" .. (interface and tostring(interface.value) or "0"), is_received and "A" or "D")
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, iap2)

-- Whether a transfer begins with a sign of iAP2: the detection sequence, or the header of a packet.
local function is_sign(s)
  if s:sub(1, 6) == "\xFF\x55\x02\x00\xEE\x10" then return true end
  return #s >= 9 and s:sub(1, 2) == "\xFF\x5A" and sum(s, 1, 9) == 0 and s:byte(5) % 8 == 0
end

local function try(tvb, pinfo, tree, key)
  local from = pinfo.p2p_dir == 1 and "A" or "D"
  if tvb:len() == 0 then return false end
  local link = links[key]
  if not (link and link[from].found) then
    if not is_sign(tvb:raw()) then return false end
  end
  show(tvb, pinfo, tree, key, from)
  links[key][from].found = true
  return true
end

-- Bulk transfers of USB: what the USB device sends is from the accessory.
iap2:register_heuristic("usb.bulk", function(tvb, pinfo, tree)
  local bus, device = get_bus(), get_device()
  return try(tvb, pinfo, tree, "usb" .. (bus and tostring(bus.value) or "") .. "." .. (device and tostring(device.value) or ""))
end)

-- RFCOMM channels with the service of an accessory or of an Apple device. What is received is shown as from A.
local rfcomm = Proto("iap2_rfcomm", "iPod Accessory Protocol 2 on RFCOMM")
function rfcomm.dissector(tvb, pinfo, tree)
  local handle, link = get_handle(), get_link()
  local key = "bt" .. (handle and tostring(handle.value) or "") .. "." .. (link and tostring(link.value) or "")
  return try(tvb, pinfo, tree, key) and tvb:len() or 0
end
local uuids = DissectorTable.get("bluetooth.uuid")
if uuids then
  uuids:add("00000000-deca-fade-deca-deafdecacaff", rfcomm)
  uuids:add("00000000-deca-fade-deca-deafdecacafe", rfcomm)
end
-- For captures without the list of services: Decode As, or -d btrfcomm.dlci==N,iap2_rfcomm
local dlcis = DissectorTable.get("btrfcomm.dlci")
if dlcis then dlcis:add_for_decode_as(rfcomm) end
