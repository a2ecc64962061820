#import "EasimLink.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const int connectLimit = 5000;      // milliseconds
static const NSTimeInterval callLimit = 60;  // app.showPicker has its own limit
static const NSTimeInterval pickerLimit = 3700;

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

// Connects, but never waits longer than the limit, whatever the other machine does.
static int connectTo(const struct addrinfo *place) {
  int made = socket(place->ai_family, SOCK_STREAM, 0);
  if (made < 0) return -1;
  int on = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(made, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#ifdef SO_NOSIGPIPE
  setsockopt(made, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  int flags = fcntl(made, F_GETFL);
  fcntl(made, F_SETFL, flags | O_NONBLOCK);
  int code = connect(made, place->ai_addr, place->ai_addrlen) == 0 ? 0 : errno;
  if (code == EINPROGRESS) {
    struct pollfd wait = {.fd = made, .events = POLLOUT};
    socklen_t size = sizeof code;
    code = ETIMEDOUT;
    if (poll(&wait, 1, connectLimit) == 1) getsockopt(made, SOL_SOCKET, SO_ERROR, &code, &size);
  }
  fcntl(made, F_SETFL, flags);
  if (code == 0) return made;
  close(made);
  errno = code;
  return -1;
}

@implementation EasimLink

- (instancetype)initWithRemote:(NSString *)remote delegate:(id<EasimLinkDelegate>)delegate {
  if (!(self = [super init])) return nil;
  _delegate = delegate;
  _socket = -1;
  NSRange hash = [remote rangeOfString:@"#"];
  NSString *place = hash.length ? [remote substringToIndex:hash.location] : nil;
  NSRange colon = [place rangeOfString:@":" options:NSBackwardsSearch];
  if (!place || !colon.length || hash.location + 1 >= [remote length]) {
    EASIM_RELEASE(self);
    return nil;
  }
  NSCharacterSet *brackets = [NSCharacterSet characterSetWithCharactersInString:@"[]"];
  NSString *host = [place substringToIndex:colon.location];
  _host = EASIM_RETAIN([host stringByTrimmingCharactersInSet:brackets]);
  _port = EASIM_RETAIN([place substringFromIndex:colon.location + 1]);
  _token = EASIM_RETAIN([remote substringFromIndex:hash.location + 1]);
  _condition = [[NSCondition alloc] init];
  _answers = [[NSMutableDictionary alloc] init];
  _waiting = [[NSMutableSet alloc] init];
  return self;
}

- (void)dealloc {
  if (_socket >= 0) close(_socket);
  EASIM_RELEASE(_host);
  EASIM_RELEASE(_port);
  EASIM_RELEASE(_token);
  EASIM_RELEASE(_condition);
  EASIM_RELEASE(_answers);
  EASIM_RELEASE(_waiting);
  EASIM_DEALLOC_SUPER;
}

- (int)connectWithFirstLine:(NSString *)line {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
  int made = -1;
  if (getaddrinfo([_host UTF8String], [_port UTF8String], &hints, &found) != 0) {
    errno = EADDRNOTAVAIL;
    return -1;
  }
  for (struct addrinfo *place = found; place && made < 0; place = place->ai_next) made = connectTo(place);
  freeaddrinfo(found);
  NSData *bytes = [[line stringByAppendingString:@"\n"] dataUsingEncoding:NSUTF8StringEncoding];
  if (made >= 0 && send(made, [bytes bytes], [bytes length], MSG_NOSIGNAL) != (ssize_t)[bytes length]) {
    close(made);
    return -1;
  }
  return made;
}

- (NSString *)open {
  int made = [self connectWithFirstLine:[@"control " stringByAppendingString:_token]];
  if (made < 0) return [NSString stringWithFormat:@"nothing answers at %@:%@: %s", _host, _port, strerror(errno)];
  [_condition lock];
  if (_socket >= 0) close(_socket);
  _socket = made;
  _isOpen = YES;
  [_condition unlock];
  [NSThread detachNewThreadSelector:@selector(read:) toTarget:self withObject:[NSNumber numberWithInt:made]];
  return nil;
}

- (BOOL)isOpen {
  [_condition lock];
  BOOL isOpen = _isOpen;
  [_condition unlock];
  return isOpen;
}

- (void)close {
  [_condition lock];
  if (_isOpen) shutdown(_socket, SHUT_RDWR);
  [_condition unlock];
}

- (NSDictionary *)call:(NSString *)method with:(NSDictionary *)params {
  return [self call:method with:params problem:NULL];
}

- (NSDictionary *)call:(NSString *)method with:(NSDictionary *)params problem:(NSDictionary **)problem {
  [_condition lock];
  NSNumber *number = [NSNumber numberWithUnsignedInteger:++_last];
  NSDictionary *request = [NSDictionary
      dictionaryWithObjectsAndKeys:@"2.0", @"jsonrpc", number, @"id", method, @"method", params, @"params", nil];
  NSMutableData *line = EASIM_AUTORELEASE(
      [[NSJSONSerialization dataWithJSONObject:request options:0 error:NULL] mutableCopy]);
  [line appendBytes:"\n" length:1];
  const char *bytes = [line bytes];
  size_t left = [line length];
  while (_isOpen && left > 0) {
    ssize_t sent = send(_socket, bytes, left, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) break;
    bytes += sent;
    left -= (size_t)sent;
  }
  NSDictionary *answer = nil;
  if (_isOpen && left == 0) {
    NSTimeInterval seconds = [method isEqualToString:@"app.showPicker"] ? pickerLimit : callLimit;
    NSDate *limit = [NSDate dateWithTimeIntervalSinceNow:seconds];
    [_waiting addObject:number];
    while (_isOpen && ![_answers objectForKey:number] && [_condition waitUntilDate:limit]) {
    }
    answer = EASIM_AUTORELEASE(EASIM_RETAIN([_answers objectForKey:number]));
    [_answers removeObjectForKey:number];
    [_waiting removeObject:number];
  }
  [_condition unlock];
  if (problem) {
    NSDictionary *none = [NSDictionary dictionaryWithObject:@"easim does not answer" forKey:@"message"];
    *problem = answer ? [answer objectForKey:@"error"] : none;
  }
  return [answer objectForKey:@"result"];
}

// MARK: The reading thread

- (void)read:(NSNumber *)number {
  NSMutableData *rest = [[NSMutableData alloc] init];
  NSString *reason = nil;
  char buffer[65536];
  ssize_t count;
  while ((count = recv([number intValue], buffer, sizeof buffer, 0)) > 0 || (count < 0 && errno == EINTR)) {
    if (count < 0) continue;
    @autoreleasepool {
      NSString *said = [self take:buffer length:(size_t)count after:rest];
      if (said) {
        EASIM_RELEASE(reason);
        reason = EASIM_RETAIN(said);
      }
    }
  }
  [_condition lock];
  _isOpen = NO;
  [_condition broadcast];
  [_condition unlock];
  @autoreleasepool {
    [_delegate link:self endedBecause:reason ? reason : @"the server closed the connection"];
  }
  EASIM_RELEASE(rest);
  EASIM_RELEASE(reason);
}

// Takes bytes and handles the complete lines in them. If the server refuses this connection, returns the reason.
- (NSString *)take:(const char *)bytes length:(size_t)length after:(NSMutableData *)rest {
  NSString *refusal = nil;
  const char *end;
  while ((end = memchr(bytes, '\n', length))) {
    size_t count = (size_t)(end - bytes);
    [rest appendBytes:bytes length:count];
    bytes += count + 1;
    length -= count + 1;
    NSString *said = [self handle:rest];
    if (said) refusal = said;
    [rest setLength:0];
  }
  [rest appendBytes:bytes length:length];
  return refusal;
}

- (NSString *)handle:(NSData *)line {
  NSDictionary *message = [NSJSONSerialization JSONObjectWithData:line options:0 error:NULL];
  if (![message isKindOfClass:[NSDictionary class]]) return @"the server sent what is not JSON-RPC";
  NSString *method = [message objectForKey:@"method"];
  if (method) {
    [_delegate link:self received:[message objectForKey:@"params"] of:method];
    return nil;
  }
  NSNumber *number = [message objectForKey:@"id"];
  if (![number isKindOfClass:[NSNumber class]]) {
    NSDictionary *error = [message objectForKey:@"error"];
    NSString *advice = [[error objectForKey:@"data"] objectForKey:@"advice"];
    NSString *said = [error objectForKey:@"message"];
    return advice ? [NSString stringWithFormat:@"%@; %@", said, advice] : said;
  }
  [_condition lock];
  if ([_waiting containsObject:number]) [_answers setObject:message forKey:number];
  [_condition broadcast];
  [_condition unlock];
  return nil;
}

@end
