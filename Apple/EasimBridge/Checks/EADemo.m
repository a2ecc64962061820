// EADemo as a command-line program. It uses ExternalAccessory as Apple's sample does, and contains no code of easim. It
// reads commands from standard input and prints what a screen would show.
//
//   list | open PROTOCOL [NAME] | send TEXT | send10k | close | background | foreground | quit

#import <ExternalAccessory/ExternalAccessory.h>
#import <Foundation/Foundation.h>

static void show(NSString *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  NSString *text = [[NSString alloc] initWithFormat:format arguments:arguments];
  va_end(arguments);
  printf("%s\n", [text UTF8String]);
  fflush(stdout);
  [text release];
}

/// Corresponds to EADSessionController. Manages one session, with its streams on the main run loop, and the bytes that
/// have not been written yet.
@interface SessionController : NSObject <NSStreamDelegate> {
  EASession *_session;
  NSMutableData *_unsent;
  NSUInteger _received, _sum;
}
@end

@implementation SessionController

- (id)init {
  if ((self = [super init])) _unsent = [[NSMutableData alloc] init];
  return self;
}

- (void)dealloc {
  [_unsent release];
  [super dealloc];
}

- (void)openWith:(EAAccessory *)accessory protocol:(NSString *)protocol {
  [self close];
  _session = [[EASession alloc] initWithAccessory:accessory forProtocol:protocol];
  if (!_session) return show(@"no session");
  for (NSStream *stream in [NSArray arrayWithObjects:[_session inputStream], [_session outputStream], nil]) {
    [stream setDelegate:self];
    [stream scheduleInRunLoop:[NSRunLoop currentRunLoop] forMode:NSDefaultRunLoopMode];
    [stream open];
  }
  show(@"session with %@ for %@", [[_session accessory] name], [_session protocolString]);
}

- (void)close {
  if (!_session) return;
  for (NSStream *stream in [NSArray arrayWithObjects:[_session inputStream], [_session outputStream], nil]) {
    [stream close];
    [stream removeFromRunLoop:[NSRunLoop currentRunLoop] forMode:NSDefaultRunLoopMode];
    [stream setDelegate:nil];
  }
  [_session release];
  _session = nil;
  [_unsent setLength:0];
  _received = _sum = 0;
  show(@"closed");
}

- (void)write:(NSData *)data {
  [_unsent appendData:data];
  [self writeSome];
}

- (void)writeSome {
  while ([[_session outputStream] hasSpaceAvailable] && [_unsent length] > 0) {
    NSInteger count = [[_session outputStream] write:[_unsent bytes] maxLength:[_unsent length]];
    if (count < 0) return show(@"write error");
    if (count == 0) return;
    [_unsent replaceBytesInRange:NSMakeRange(0, (NSUInteger)count) withBytes:NULL length:0];
  }
}

- (void)readSome {
  uint8_t buffer[128];
  while ([[_session inputStream] hasBytesAvailable]) {
    NSInteger count = [[_session inputStream] read:buffer maxLength:sizeof buffer];
    if (count <= 0) break;
    for (NSInteger index = 0; index < count; index++) _sum += buffer[index];
    _received += (NSUInteger)count;
  }
  show(@"received %lu bytes, sum %lu", (unsigned long)_received, (unsigned long)_sum);
}

- (void)stream:(NSStream *)stream handleEvent:(NSStreamEvent)event {
  NSString *name = stream == [_session inputStream] ? @"input" : stream == [_session outputStream] ? @"output" : @"other";
  switch (event) {
    case NSStreamEventOpenCompleted: return show(@"%@ open", name);
    case NSStreamEventHasBytesAvailable: return [self readSome];
    case NSStreamEventHasSpaceAvailable: return [self writeSome];
    case NSStreamEventErrorOccurred: return show(@"%@ error", name);
    case NSStreamEventEndEncountered: return show(@"%@ end", name);
    default: return;
  }
}

@end

/// Corresponds to RootViewController: the list of accessories, with commands instead of buttons.
@interface RootController : NSObject <EAAccessoryDelegate> {
  NSMutableArray *_accessories;
  SessionController *_session;
}
@end

@implementation RootController

- (id)init {
  if (!(self = [super init])) return nil;
  _session = [[SessionController alloc] init];
  NSNotificationCenter *center = [NSNotificationCenter defaultCenter];
  [center addObserver:self selector:@selector(connected:) name:EAAccessoryDidConnectNotification object:nil];
  [center addObserver:self selector:@selector(disconnected:) name:EAAccessoryDidDisconnectNotification object:nil];
  [[EAAccessoryManager sharedAccessoryManager] registerForLocalNotifications];
  _accessories = [[NSMutableArray alloc]
      initWithArray:[[EAAccessoryManager sharedAccessoryManager] connectedAccessories]];
  [self list];
  return self;
}

- (void)list {
  if ([_accessories count] == 0) show(@"No Accessories Connected");
  for (EAAccessory *accessory in _accessories)
    show(@"accessory %@ %@ [%@]", [accessory name], [accessory serialNumber],
         [[accessory protocolStrings] componentsJoinedByString:@" "]);
}

- (void)connected:(NSNotification *)notification {
  EAAccessory *accessory = [[notification userInfo] objectForKey:EAAccessoryKey];
  [accessory setDelegate:self];
  [_accessories addObject:accessory];
  show(@"connect %@ [%@]", [accessory name], [[accessory protocolStrings] componentsJoinedByString:@" "]);
}

- (void)disconnected:(NSNotification *)notification {
  EAAccessory *gone = [[notification userInfo] objectForKey:EAAccessoryKey];
  for (EAAccessory *accessory in [NSArray arrayWithArray:_accessories]) {
    if ([accessory connectionID] == [gone connectionID]) [_accessories removeObject:accessory];
  }
  show(@"disconnect %@", [gone name]);
}

- (void)accessoryDidDisconnect:(EAAccessory *)accessory {
  show(@"delegate disconnect %@", [accessory name]);
}

- (void)obey:(NSString *)line {
  NSArray *words = [line componentsSeparatedByString:@" "];
  NSString *word = [words objectAtIndex:0];
  NSString *rest = [words count] > 1 ? [line substringFromIndex:[word length] + 1] : @"";
  if ([word isEqualToString:@"list"]) [self list];
  if ([word isEqualToString:@"send"]) [_session write:[rest dataUsingEncoding:NSUTF8StringEncoding]];
  if ([word isEqualToString:@"close"]) [_session close];
  if ([word isEqualToString:@"quit"]) exit(0);
  if ([word isEqualToString:@"send10k"]) {
    NSMutableData *data = [NSMutableData dataWithLength:10240];
    for (NSUInteger index = 0; index < 10240; index++) ((uint8_t *)[data mutableBytes])[index] = (uint8_t)index;
    [_session write:data];
  }
  if ([word isEqualToString:@"open"]) {
    NSString *protocol = [words objectAtIndex:1];
    NSString *serial = [words count] > 2 ? [words objectAtIndex:2] : nil;
    for (EAAccessory *accessory in _accessories) {
      if (![[accessory protocolStrings] containsObject:protocol]) continue;
      if (!serial || [[accessory serialNumber] isEqualToString:serial])
        return [_session openWith:accessory protocol:protocol];
    }
    show(@"no accessory offers %@", protocol);
  }
  NSDictionary *names = [NSDictionary dictionaryWithObjectsAndKeys:
      @"UIApplicationDidEnterBackgroundNotification", @"background",
      @"UIApplicationWillEnterForegroundNotification", @"foreground", nil];
  NSString *name = [names objectForKey:word];
  if (name) [[NSNotificationCenter defaultCenter] postNotificationName:name object:nil];
}

// Runs on its own thread, because the streams use the main run loop.
- (void)readCommands {
  char line[1024];
  while (fgets(line, sizeof line, stdin)) {
    @autoreleasepool {
      NSString *text = [[NSString stringWithUTF8String:line]
          stringByTrimmingCharactersInSet:[NSCharacterSet newlineCharacterSet]];
      [self performSelectorOnMainThread:@selector(obey:) withObject:text waitUntilDone:NO];
    }
  }
  exit(0);
}

@end

int main(void) {
  @autoreleasepool {
    // GNUstep deadlocks if this first use of NSRunLoop meets another thread's performSelectorOnMainThread.
    [NSRunLoop currentRunLoop];
    RootController *root = [[RootController alloc] init];
    [NSThread detachNewThreadSelector:@selector(readCommands) toTarget:root withObject:nil];
    while ([[NSRunLoop currentRunLoop] runMode:NSDefaultRunLoopMode beforeDate:[NSDate distantFuture]]) {
    }
  }
  return 0;
}
