// A remote app in plain C: registers, waits through the flicker, opens a session on a byte port and echoes 10,000 bytes.
//
//   easim serve --control /tmp/easim.sock &
//   export EASIM_CONTROL=/tmp/easim.sock
//   easim ctl accessory.add profile=lawk-view quirks=flicker behavior=echo
//   cc -o remote-app Examples/RemoteApp/remote-app.c && ./remote-app &
//   easim ctl accessory.plug accessory=a1
//
// It shares no code with easim. docs/control.md explains each step. A real app uses a JSON library; here the few values
// that are needed are found by their keys.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PROTOCOL "com.lawaken.iap2"

static int server;
static FILE *control;

static void fail(const char *what) {
  fprintf(stderr, "remote-app: %s\n", what);
  exit(1);
}

// Reads one line: an answer or a notification.
static char *read_line(void) {
  static char *line;
  static size_t size;
  if (getline(&line, &size, control) < 0) fail("the server closed the connection");
  return line;
}

// Copies the text or number behind "key": into a buffer of its own; empty when there is none.
static char *value(const char *line, const char *key) {
  static char found[4][128];
  static int next;
  char *copy = found[next++ % 4], pattern[64];
  snprintf(pattern, sizeof pattern, "\"%s\":", key);
  const char *start = strstr(line, pattern);
  copy[0] = 0;
  if (!start) return copy;
  start += strlen(pattern);
  if (*start == '"') start++;
  size_t length = strcspn(start, "\",}]");
  snprintf(copy, 128, "%.*s", (int)length, start);
  return copy;
}

// Sends a request and returns its answer. Notifications that come before it are printed.
static char *call(const char *method, const char *params) {
  static int id;
  dprintf(server, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}\n", ++id, method, params);
  for (;;) {
    char *line = read_line();
    if (!strstr(line, "\"id\":")) {
      printf("%s %s\n", value(line, "method"), value(line, "event"));
      continue;
    }
    if (strstr(line, "\"error\":{")) fail(value(line, "message"));
    return line;
  }
}

int main(int count, char **words) {
  const char *path = count > 1 ? words[1] : getenv("EASIM_CONTROL");
  struct sockaddr_un place = {.sun_family = AF_UNIX};
  if (!path || strlen(path) >= sizeof place.sun_path) fail("usage: remote-app PATH, or set EASIM_CONTROL");
  strcpy(place.sun_path, path);
  server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(server, (struct sockaddr *)&place, sizeof place) != 0) fail("no server at this path");
  if (!(control = fdopen(server, "r"))) fail("no memory");

  // The app: what its Info.plist declares. From now on it is told of every connect and disconnect.
  char app[32], params[256];
  snprintf(app, sizeof app, "%s", value(call("app.launch", "{\"protocols\":[\"" PROTOCOL "\"]}"), "app"));
  printf("launched\n");
  fflush(stdout);

  // In a flicker the first connect has no protocols: wait for the one that offers ours.
  for (;;) {
    char *line = read_line();
    printf("%s %s\n", value(line, "method"), value(line, "event"));
    if (!strcmp(value(line, "event"), "connect") && strstr(line, "\"" PROTOCOL "\"")) break;
  }

  snprintf(params, sizeof params, "{\"app\":\"%s\",\"protocol\":\"" PROTOCOL "\"}", app);
  char session[32];
  snprintf(session, sizeof session, "%s", value(call("app.open", params), "session"));
  snprintf(params, sizeof params, "{\"session\":\"%s\"}", session);
  char *port = call("session.port", params);

  // The byte port: the token as the first line, and then the session's bytes.
  struct sockaddr_in there = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  there.sin_port = htons((unsigned short)atoi(strrchr(value(port, "address"), ':') + 1));
  int bytes = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(bytes, (struct sockaddr *)&there, sizeof there) != 0) fail("the byte port does not answer");
  dprintf(bytes, "%s\n", value(port, "token"));
  char sent[10000], got[10000];
  for (size_t index = 0; index < sizeof sent; index++) sent[index] = (char)(index * 7 + index / 256);
  if (write(bytes, sent, sizeof sent) != sizeof sent) fail("the byte port takes nothing");
  for (size_t done = 0; done < sizeof got;) {
    ssize_t more = read(bytes, got + done, sizeof got - done);
    if (more <= 0) fail("the session ended");
    done += (size_t)more;
  }
  if (memcmp(sent, got, sizeof sent) != 0) fail("the echo differs");
  printf("10000 bytes came back\n");
  close(bytes);
  return 0;
}
