// A remote app in plain C: registers, waits through the flicker, opens a session and echoes 10,000 bytes.
//
//   easim serve --control /tmp/easim.sock --remote 127.0.0.1:7000 &    # prints EASIM_REMOTE=127.0.0.1:7000#TOKEN
//   easim ctl --control /tmp/easim.sock accessory.add profile=lawk-view quirks=flicker behavior=echo
//   cc -o remote-app Examples/RemoteApp/remote-app.c && ./remote-app 127.0.0.1:7000#TOKEN &
//   easim ctl --control /tmp/easim.sock accessory.plug accessory=a1
//
// It shares no code with easim. docs/control.md explains each step. A real app would use a JSON library; this
// program finds the few values that it needs by their keys.
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROTOCOL "com.lawaken.iap2"

static int server;
static FILE *control;

static void fail(const char *what) {
  fprintf(stderr, "remote-app: %s\n", what);
  exit(1);
}

// Connects to host:port and sends the first line, which states the purpose of the connection.
static int connect_to(const char *remote, const char *what, const char *secret) {
  char host[256];
  snprintf(host, sizeof host, "%.*s", (int)strcspn(remote, "#"), remote);
  char *colon = strrchr(host, ':');
  if (!colon) fail("expected HOST:PORT#TOKEN");
  *colon = 0;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
  if (getaddrinfo(host, colon + 1, &hints, &found) != 0) fail("the host is unknown");
  int made = socket(found->ai_family, SOCK_STREAM, 0);
  if (connect(made, found->ai_addr, found->ai_addrlen) != 0) fail("no server at this port");
  freeaddrinfo(found);
  dprintf(made, "%s%s\n", what, secret);
  return made;
}

// Reads one line: an answer or a notification.
static char *read_line(void) {
  static char *line;
  static size_t size;
  if (getline(&line, &size, control) < 0) fail("the server closed the connection");
  return line;
}

// Copies the text or number that follows "key": into a separate buffer; the copy is empty if the key is missing.
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
  const char *remote = count > 1 ? words[1] : getenv("EASIM_REMOTE");
  const char *token = remote ? strchr(remote, '#') : NULL;
  if (!token) fail("usage: remote-app HOST:PORT#TOKEN, or set EASIM_REMOTE");
  server = connect_to(remote, "control ", token + 1);
  if (!(control = fdopen(server, "r"))) fail("no memory");

  // Launches the app with the protocols that its Info.plist declares. From now on, it is notified of every connect and
  // disconnect.
  char app[32], params[256];
  snprintf(app, sizeof app, "%s", value(call("app.launch", "{\"protocols\":[\"" PROTOCOL "\"]}"), "app"));
  printf("launched\n");
  fflush(stdout);

  // In a flicker, the first connect has no protocols, so wait for the connect that offers the protocol.
  for (;;) {
    char *line = read_line();
    printf("%s %s\n", value(line, "method"), value(line, "event"));
    if (!strcmp(value(line, "event"), "connect") && strstr(line, "\"" PROTOCOL "\"")) break;
  }

  snprintf(params, sizeof params, "{\"app\":\"%s\",\"protocol\":\"" PROTOCOL "\"}", app);
  char session[32];
  snprintf(session, sizeof session, "%s", value(call("app.open", params), "session"));
  snprintf(params, sizeof params, "{\"session\":\"%s\"}", session);

  // A second connection to the same port carries the session's bytes; its first line contains a ticket for the session.
  int bytes = connect_to(remote, "", value(call("session.port", params), "firstLine"));
  char sent[10000], got[10000];
  for (size_t index = 0; index < sizeof sent; index++) sent[index] = (char)(index * 7 + index / 256);
  if (write(bytes, sent, sizeof sent) != sizeof sent) fail("the session takes nothing");
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
