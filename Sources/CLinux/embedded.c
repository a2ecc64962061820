// Embeds the files that programs contain: the live page, and the shipped profiles and scenarios. Add each new file to
// this list; tests compare the list with the folders. C compiles such a list in a moment; the array literals that
// SwiftPM generates for `.embedInCode` took ten seconds.
#include "CLinux.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const struct {
  const char *path;
  const unsigned char *text;
} files[] = {
    {"page/index.html", (const unsigned char[]){
#embed "../AccessoryPages/files/index.html" suffix(, 0)
    }},
    {"page/style.css", (const unsigned char[]){
#embed "../AccessoryPages/files/style.css" suffix(, 0)
    }},
    {"page/icon.svg", (const unsigned char[]){
#embed "../AccessoryPages/files/icon.svg" suffix(, 0)
    }},
    {"page/bursts.js", (const unsigned char[]){
#embed "../AccessoryPages/files/bursts.js" suffix(, 0)
    }},
    {"page/calls.js", (const unsigned char[]){
#embed "../AccessoryPages/files/calls.js" suffix(, 0)
    }},
    {"page/controls.js", (const unsigned char[]){
#embed "../AccessoryPages/files/controls.js" suffix(, 0)
    }},
    {"page/dialogue.js", (const unsigned char[]){
#embed "../AccessoryPages/files/dialogue.js" suffix(, 0)
    }},
    {"page/dom.js", (const unsigned char[]){
#embed "../AccessoryPages/files/dom.js" suffix(, 0)
    }},
    {"page/events.js", (const unsigned char[]){
#embed "../AccessoryPages/files/events.js" suffix(, 0)
    }},
    {"page/fields.js", (const unsigned char[]){
#embed "../AccessoryPages/files/fields.js" suffix(, 0)
    }},
    {"page/forms.js", (const unsigned char[]){
#embed "../AccessoryPages/files/forms.js" suffix(, 0)
    }},
    {"page/lanepaint.js", (const unsigned char[]){
#embed "../AccessoryPages/files/lanepaint.js" suffix(, 0)
    }},
    {"page/lanes.js", (const unsigned char[]){
#embed "../AccessoryPages/files/lanes.js" suffix(, 0)
    }},
    {"page/list.js", (const unsigned char[]){
#embed "../AccessoryPages/files/list.js" suffix(, 0)
    }},
    {"page/main.js", (const unsigned char[]){
#embed "../AccessoryPages/files/main.js" suffix(, 0)
    }},
    {"page/model.js", (const unsigned char[]){
#embed "../AccessoryPages/files/model.js" suffix(, 0)
    }},
    {"page/overview.js", (const unsigned char[]){
#embed "../AccessoryPages/files/overview.js" suffix(, 0)
    }},
    {"page/packets.js", (const unsigned char[]){
#embed "../AccessoryPages/files/packets.js" suffix(, 0)
    }},
    {"page/pcapng.js", (const unsigned char[]){
#embed "../AccessoryPages/files/pcapng.js" suffix(, 0)
    }},
    {"page/rpc.js", (const unsigned char[]){
#embed "../AccessoryPages/files/rpc.js" suffix(, 0)
    }},
    {"page/scenarios.js", (const unsigned char[]){
#embed "../AccessoryPages/files/scenarios.js" suffix(, 0)
    }},
    {"page/sessions.js", (const unsigned char[]){
#embed "../AccessoryPages/files/sessions.js" suffix(, 0)
    }},
    {"page/source.js", (const unsigned char[]){
#embed "../AccessoryPages/files/source.js" suffix(, 0)
    }},
    {"page/store.js", (const unsigned char[]){
#embed "../AccessoryPages/files/store.js" suffix(, 0)
    }},
    {"page/tabs.js", (const unsigned char[]){
#embed "../AccessoryPages/files/tabs.js" suffix(, 0)
    }},
    {"page/toast.js", (const unsigned char[]){
#embed "../AccessoryPages/files/toast.js" suffix(, 0)
    }},
    {"page/trace.js", (const unsigned char[]){
#embed "../AccessoryPages/files/trace.js" suffix(, 0)
    }},
    {"profiles/camera.json5", (const unsigned char[]){
#embed "../../profiles/camera.json5" suffix(, 0)
    }},
    {"profiles/car.json5", (const unsigned char[]){
#embed "../../profiles/car.json5" suffix(, 0)
    }},
    {"profiles/card-reader.json5", (const unsigned char[]){
#embed "../../profiles/card-reader.json5" suffix(, 0)
    }},
    {"profiles/charger.json5", (const unsigned char[]){
#embed "../../profiles/charger.json5" suffix(, 0)
    }},
    {"profiles/dock.json5", (const unsigned char[]){
#embed "../../profiles/dock.json5" suffix(, 0)
    }},
    {"profiles/echo.json5", (const unsigned char[]){
#embed "../../profiles/echo.json5" suffix(, 0)
    }},
    {"profiles/gps.json5", (const unsigned char[]){
#embed "../../profiles/gps.json5" suffix(, 0)
    }},
    {"profiles/heart-rate.json5", (const unsigned char[]){
#embed "../../profiles/heart-rate.json5" suffix(, 0)
    }},
    {"profiles/lawk-view.json5", (const unsigned char[]){
#embed "../../profiles/lawk-view.json5" suffix(, 0)
    }},
    {"profiles/location.json5", (const unsigned char[]){
#embed "../../profiles/location.json5" suffix(, 0)
    }},
    {"profiles/microphone.json5", (const unsigned char[]){
#embed "../../profiles/microphone.json5" suffix(, 0)
    }},
    {"profiles/misbehaving.json5", (const unsigned char[]){
#embed "../../profiles/misbehaving.json5" suffix(, 0)
    }},
    {"profiles/multi.json5", (const unsigned char[]){
#embed "../../profiles/multi.json5" suffix(, 0)
    }},
    {"profiles/older-auth.json5", (const unsigned char[]){
#embed "../../profiles/older-auth.json5" suffix(, 0)
    }},
    {"profiles/printer.json5", (const unsigned char[]){
#embed "../../profiles/printer.json5" suffix(, 0)
    }},
    {"profiles/scanner.json5", (const unsigned char[]){
#embed "../../profiles/scanner.json5" suffix(, 0)
    }},
    {"profiles/scripted.json5", (const unsigned char[]){
#embed "../../profiles/scripted.json5" suffix(, 0)
    }},
    {"profiles/sensor.json5", (const unsigned char[]){
#embed "../../profiles/sensor.json5" suffix(, 0)
    }},
    {"profiles/sink.json5", (const unsigned char[]){
#embed "../../profiles/sink.json5" suffix(, 0)
    }},
    {"profiles/terminal.json5", (const unsigned char[]){
#embed "../../profiles/terminal.json5" suffix(, 0)
    }},
    {"scenarios/background-and-back.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/background-and-back.json5" suffix(, 0)
    }},
    {"scenarios/busy-after-a-cancelled-request.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/busy-after-a-cancelled-request.json5" suffix(, 0)
    }},
    {"scenarios/coalesced-while-suspended.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/coalesced-while-suspended.json5" suffix(, 0)
    }},
    {"scenarios/dead-after-a-day.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/dead-after-a-day.json5" suffix(, 0)
    }},
    {"scenarios/deaf-after-unregister.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/deaf-after-unregister.json5" suffix(, 0)
    }},
    {"scenarios/early-publication.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/early-publication.json5" suffix(, 0)
    }},
    {"scenarios/flicker.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/flicker.json5" suffix(, 0)
    }},
    {"scenarios/ghost.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/ghost.json5" suffix(, 0)
    }},
    {"scenarios/ignored-after-fast-replugging.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/ignored-after-fast-replugging.json5" suffix(, 0)
    }},
    {"scenarios/killed-with-a-session-open.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/killed-with-a-session-open.json5" suffix(, 0)
    }},
    {"scenarios/large-writes-collapse.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/large-writes-collapse.json5" suffix(, 0)
    }},
    {"scenarios/late-authentication.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/late-authentication.json5" suffix(, 0)
    }},
    {"scenarios/never-announced.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/never-announced.json5" suffix(, 0)
    }},
    {"scenarios/nil-at-first.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/nil-at-first.json5" suffix(, 0)
    }},
    {"scenarios/no-answer-to-the-first-write.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/no-answer-to-the-first-write.json5" suffix(, 0)
    }},
    {"scenarios/no-room-to-write.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/no-room-to-write.json5" suffix(, 0)
    }},
    {"scenarios/only-the-first-settings.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/only-the-first-settings.json5" suffix(, 0)
    }},
    {"scenarios/only-the-first-transaction.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/only-the-first-transaction.json5" suffix(, 0)
    }},
    {"scenarios/phantom-session.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/phantom-session.json5" suffix(, 0)
    }},
    {"scenarios/power-cycled-during-set-up.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/power-cycled-during-set-up.json5" suffix(, 0)
    }},
    {"scenarios/pulled-in-the-open-delay.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/pulled-in-the-open-delay.json5" suffix(, 0)
    }},
    {"scenarios/pulled-mid-upload.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/pulled-mid-upload.json5" suffix(, 0)
    }},
    {"scenarios/radio-shared-with-audio.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/radio-shared-with-audio.json5" suffix(, 0)
    }},
    {"scenarios/refused-until-replugged.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/refused-until-replugged.json5" suffix(, 0)
    }},
    {"scenarios/replies-in-pieces.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/replies-in-pieces.json5" suffix(, 0)
    }},
    {"scenarios/retry-with-the-old-accessory.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/retry-with-the-old-accessory.json5" suffix(, 0)
    }},
    {"scenarios/second-session-crashes.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/second-session-crashes.json5" suffix(, 0)
    }},
    {"scenarios/session-closed-by-the-accessory.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/session-closed-by-the-accessory.json5" suffix(, 0)
    }},
    {"scenarios/session-taken-by-another-sdk.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/session-taken-by-another-sdk.json5" suffix(, 0)
    }},
    {"scenarios/sessions-end-at-once.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/sessions-end-at-once.json5" suffix(, 0)
    }},
    {"scenarios/sessions-end-in-episodes.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/sessions-end-in-episodes.json5" suffix(, 0)
    }},
    {"scenarios/silent-after-the-background.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/silent-after-the-background.json5" suffix(, 0)
    }},
    {"scenarios/silent-stall.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/silent-stall.json5" suffix(, 0)
    }},
    {"scenarios/slow-after-coming-forward.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/slow-after-coming-forward.json5" suffix(, 0)
    }},
    {"scenarios/slow-set-up-in-the-background.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/slow-set-up-in-the-background.json5" suffix(, 0)
    }},
    {"scenarios/small-buffer-drops-bytes.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/small-buffer-drops-bytes.json5" suffix(, 0)
    }},
    {"scenarios/stale-bytes.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/stale-bytes.json5" suffix(, 0)
    }},
    {"scenarios/the-other-accessory-leaves.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/the-other-accessory-leaves.json5" suffix(, 0)
    }},
    {"scenarios/there-before-the-app.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/there-before-the-app.json5" suffix(, 0)
    }},
    {"scenarios/timer-aborts-the-connection.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/timer-aborts-the-connection.json5" suffix(, 0)
    }},
    {"scenarios/told-of-bytes-only-once.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/told-of-bytes-only-once.json5" suffix(, 0)
    }},
    {"scenarios/transport-switch.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/transport-switch.json5" suffix(, 0)
    }},
    {"scenarios/two-apps-and-neither-connects.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/two-apps-and-neither-connects.json5" suffix(, 0)
    }},
    {"scenarios/unannounced-in-the-background.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/unannounced-in-the-background.json5" suffix(, 0)
    }},
    {"scenarios/wedged-by-fast-opening.json5", (const unsigned char[]){
#embed "../../profiles/scenarios/wedged-by-fast-opening.json5" suffix(, 0)
    }},
};

const unsigned char *clinux_embedded(unsigned index, const char **path) {
  if (index >= sizeof files / sizeof files[0]) return NULL;
  *path = files[index].path;
  return files[index].text;
}
