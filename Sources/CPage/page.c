// Embeds the live page's files in the program. For each new file, add its bytes and its table entry here.
#include "CPage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "files/index.html"
};
static const unsigned char style_css[] = {
#embed "files/style.css"
};
static const unsigned char icon_svg[] = {
#embed "files/icon.svg"
};
static const unsigned char main_js[] = {
#embed "files/main.js"
};
static const unsigned char dom_js[] = {
#embed "files/dom.js"
};
static const unsigned char rpc_js[] = {
#embed "files/rpc.js"
};
static const unsigned char store_js[] = {
#embed "files/store.js"
};
static const unsigned char model_js[] = {
#embed "files/model.js"
};
static const unsigned char lanes_js[] = {
#embed "files/lanes.js"
};
static const unsigned char list_js[] = {
#embed "files/list.js"
};
static const unsigned char calls_js[] = {
#embed "files/calls.js"
};
static const unsigned char forms_js[] = {
#embed "files/forms.js"
};
static const unsigned char overview_js[] = {
#embed "files/overview.js"
};
static const unsigned char sessions_js[] = {
#embed "files/sessions.js"
};
static const unsigned char controls_js[] = {
#embed "files/controls.js"
};
static const unsigned char packets_js[] = {
#embed "files/packets.js"
};
static const unsigned char fields_js[] = {
#embed "files/fields.js"
};
static const unsigned char pcapng_js[] = {
#embed "files/pcapng.js"
};
static const unsigned char bursts_js[] = {
#embed "files/bursts.js"
};
static const unsigned char scenarios_js[] = {
#embed "files/scenarios.js"
};
static const unsigned char events_js[] = {
#embed "files/events.js"
};
static const unsigned char dialogue_js[] = {
#embed "files/dialogue.js"
};
static const unsigned char trace_js[] = {
#embed "files/trace.js"
};
static const unsigned char source_js[] = {
#embed "files/source.js"
};
static const unsigned char toast_js[] = {
#embed "files/toast.js"
};
static const unsigned char tabs_js[] = {
#embed "files/tabs.js"
};
static const unsigned char lanepaint_js[] = {
#embed "files/lanepaint.js"
};

struct file {
  const char *path, *type, *name;
  const unsigned char *bytes;
  size_t count;
};

#define FILE(path, type, name, bytes) {path, type, name, bytes, sizeof bytes}

static const struct file files[] = {
    FILE("/", "text/html; charset=utf-8", "index.html", index_html),
    FILE("/style.css", "text/css; charset=utf-8", "style.css", style_css),
    FILE("/icon.svg", "image/svg+xml", "icon.svg", icon_svg),
    FILE("/main.js", "text/javascript; charset=utf-8", "main.js", main_js),
    FILE("/dom.js", "text/javascript; charset=utf-8", "dom.js", dom_js),
    FILE("/rpc.js", "text/javascript; charset=utf-8", "rpc.js", rpc_js),
    FILE("/store.js", "text/javascript; charset=utf-8", "store.js", store_js),
    FILE("/model.js", "text/javascript; charset=utf-8", "model.js", model_js),
    FILE("/lanes.js", "text/javascript; charset=utf-8", "lanes.js", lanes_js),
    FILE("/list.js", "text/javascript; charset=utf-8", "list.js", list_js),
    FILE("/calls.js", "text/javascript; charset=utf-8", "calls.js", calls_js),
    FILE("/forms.js", "text/javascript; charset=utf-8", "forms.js", forms_js),
    FILE("/overview.js", "text/javascript; charset=utf-8", "overview.js", overview_js),
    FILE("/sessions.js", "text/javascript; charset=utf-8", "sessions.js", sessions_js),
    FILE("/controls.js", "text/javascript; charset=utf-8", "controls.js", controls_js),
    FILE("/packets.js", "text/javascript; charset=utf-8", "packets.js", packets_js),
    FILE("/fields.js", "text/javascript; charset=utf-8", "fields.js", fields_js),
    FILE("/pcapng.js", "text/javascript; charset=utf-8", "pcapng.js", pcapng_js),
    FILE("/bursts.js", "text/javascript; charset=utf-8", "bursts.js", bursts_js),
    FILE("/scenarios.js", "text/javascript; charset=utf-8", "scenarios.js", scenarios_js),
    FILE("/events.js", "text/javascript; charset=utf-8", "events.js", events_js),
    FILE("/dialogue.js", "text/javascript; charset=utf-8", "dialogue.js", dialogue_js),
    FILE("/trace.js", "text/javascript; charset=utf-8", "trace.js", trace_js),
    FILE("/source.js", "text/javascript; charset=utf-8", "source.js", source_js),
    FILE("/toast.js", "text/javascript; charset=utf-8", "toast.js", toast_js),
    FILE("/tabs.js", "text/javascript; charset=utf-8", "tabs.js", tabs_js),
    FILE("/lanepaint.js", "text/javascript; charset=utf-8", "lanepaint.js", lanepaint_js),
};

int cpage_count(void) { return sizeof files / sizeof files[0]; }

const char *cpage_path(int index) { return files[index].path; }
const char *cpage_type(int index) { return files[index].type; }
const char *cpage_name(int index) { return files[index].name; }
const unsigned char *cpage_bytes(int index) { return files[index].bytes; }
size_t cpage_size(int index) { return files[index].count; }
