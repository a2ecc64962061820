// Code that the behaviors in Conformance.m share: an observing app and its world.

#import <ExternalAccessory/ExternalAccessory.h>
#import <Foundation/Foundation.h>

#import "EasimTestCase.h"

static NSString *const echo = @"com.example.echo";
static int failures;

#define CHECK(condition) check((condition), #condition, __LINE__)
#define WAIT(condition)                                                       \
  do {                                                                        \
    NSDate *limit = [NSDate dateWithTimeIntervalSinceNow:10];                 \
    while (!(condition) && [limit timeIntervalSinceNow] > 0) spin();          \
    check((condition), #condition, __LINE__);                                 \
  } while (0)

static void check(BOOL holds, const char *what, int line) {
  if (holds) return;
  failures++;
  printf("line %d: not so: %s\n", line, what);
}

static void spin(void) {
  @autoreleasepool {
    [[NSRunLoop currentRunLoop] runMode:NSDefaultRunLoopMode beforeDate:[NSDate dateWithTimeIntervalSinceNow:0.01]];
  }
}

/// Observes notifications, and acts as the delegate of accessories and streams.
@interface Watch : NSObject <EAAccessoryDelegate, NSStreamDelegate> {
 @public
  NSMutableArray *_notes, *_seen;
  NSMutableString *_input, *_output;
  NSMutableData *_read;
  NSUInteger _readSize, _delegateCalls;
  BOOL _listAgreed, _allOnMain, _reads;
}
@end

static EAAccessoryManager *manager(void) { return [EAAccessoryManager sharedAccessoryManager]; }

@implementation Watch

- (id)init {
  if (!(self = [super init])) return nil;
  _notes = [[NSMutableArray alloc] init];
  _seen = [[NSMutableArray alloc] init];
  _input = [[NSMutableString alloc] init];
  _output = [[NSMutableString alloc] init];
  _read = [[NSMutableData alloc] init];
  _listAgreed = _allOnMain = _reads = YES;
  _readSize = 4096;
  NSNotificationCenter *center = [NSNotificationCenter defaultCenter];
  [center addObserver:self selector:@selector(note:) name:EAAccessoryDidConnectNotification object:nil];
  [center addObserver:self selector:@selector(note:) name:EAAccessoryDidDisconnectNotification object:nil];
  return self;
}

- (void)note:(NSNotification *)notification {
  EAAccessory *accessory = [[notification userInfo] objectForKey:EAAccessoryKey];
  BOOL isConnect = [[notification name] isEqualToString:EAAccessoryDidConnectNotification];
  [_notes addObject:notification];
  [_seen addObject:[NSString stringWithFormat:@"%@%lu", isConnect ? @"+" : @"-",
                                              (unsigned long)[[accessory protocolStrings] count]]];
  if ([[manager() connectedAccessories] containsObject:accessory] != isConnect) _listAgreed = NO;
  if (![NSThread isMainThread]) _allOnMain = NO;
}

- (NSString *)seen { return [_seen componentsJoinedByString:@" "]; }

- (EAAccessory *)noted:(NSUInteger)index {
  return [[[_notes objectAtIndex:index] userInfo] objectForKey:EAAccessoryKey];
}

- (void)accessoryDidDisconnect:(EAAccessory *)accessory { _delegateCalls++; }

- (void)stream:(NSStream *)stream handleEvent:(NSStreamEvent)event {
  const char letters[] = "obs!e";
  int index = 0;
  while (index < 4 && event != (NSStreamEvent)(1 << index)) index++;
  NSMutableString *events = [stream isKindOfClass:[NSInputStream class]] ? _input : _output;
  [events appendFormat:@"%c", letters[index]];
  if (event != NSStreamEventHasBytesAvailable || !_reads) return;
  uint8_t buffer[4096];
  NSInteger count = [(NSInputStream *)stream read:buffer maxLength:_readSize];
  if (count > 0) [_read appendBytes:buffer length:(NSUInteger)count];
}

- (void)schedule:(EASession *)session {
  for (NSStream *stream in [NSArray arrayWithObjects:[session inputStream], [session outputStream], nil]) {
    [stream setDelegate:self];
    [stream scheduleInRunLoop:[NSRunLoop currentRunLoop] forMode:NSDefaultRunLoopMode];
    [stream open];
  }
}

- (void)forget { [[NSNotificationCenter defaultCenter] removeObserver:self]; }

@end

/// The objects that each behavior starts with.
static EasimWorld *world;
static Watch *watch;
static EasimPlug *plug;

static BOOL isWhole(EasimPlug *one) {
  for (NSDictionary *state in [[world call:@"accessory.list" with:[NSDictionary dictionary]] objectForKey:@"accessories"]) {
    if ([[state objectForKey:@"accessory"] isEqualToString:[one name]]) return [[state objectForKey:@"whole"] boolValue];
  }
  return NO;
}

/// Waits until the device has published the accessory to apps.
static void waitUntilPublished(void) {
  NSDictionary *wait = [NSDictionary dictionaryWithObjectsAndKeys:@"connect", @"event", @"device", @"side", [plug name],
                                                                  @"accessory", [NSNumber numberWithInt:0], @"after", nil];
  CHECK([[[world call:@"time.runUntil" with:wait] objectForKey:@"reached"] boolValue]);
}

@interface Mark : NSObject {
 @public
  BOOL _isReached;
}
@end
@implementation Mark
- (void)reach { _isReached = YES; }
@end

/// Waits until everything that the server has sent to the app has been handled.
static void settle(void) {
  [manager() registerForLocalNotifications];
  [manager() unregisterForLocalNotifications];
  Mark *mark = [[Mark alloc] init];
  [mark performSelectorOnMainThread:@selector(reach) withObject:nil waitUntilDone:NO];
  WAIT(mark->_isReached);
}

static EAAccessory *first(void) {
  NSArray *all = [manager() connectedAccessories];
  return [all count] ? [all objectAtIndex:0] : nil;
}

/// Registers, plugs in an echo accessory and waits for its connect.
static EAAccessory *plugged(void) {
  [manager() registerForLocalNotifications];
  plug = [world add:@"echo"];
  [plug plugIn];
  WAIT([watch->_notes count] == 1);
  return first();
}

static EASession *openWith(EAAccessory *accessory) {
  EASession *session = [[EASession alloc] initWithAccessory:accessory forProtocol:echo];
  CHECK(session != nil);
  [watch schedule:session];
  WAIT([watch->_input hasPrefix:@"o"] && [watch->_output hasPrefix:@"os"]);
  return session;
}

static void closeStreams(EASession *session) {
  [[session inputStream] close];
  [[session outputStream] close];
}

static NSInteger put(EASession *session, const char *text) {
  return [[session outputStream] write:(const uint8_t *)text maxLength:strlen(text)];
}

static BOOL hasRead(const char *text) {
  return [watch->_read isEqualToData:[NSData dataWithBytes:text length:strlen(text)]];
}

static void pullAndWait(void) {
  [plug pull];
  WAIT([[watch seen] hasSuffix:@"-1"]);
}

#define BEHAVIOR(name) static void name(void)
