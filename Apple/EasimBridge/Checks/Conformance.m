// The behaviors of docs/external-accessory.md that do not need Apple's run loop, played through the bridge. A process plays
// one behavior: `Conformance NAME`. Without a name it prints all names.

#import <ExternalAccessory/ExternalAccessory.h>
#import <Foundation/Foundation.h>

#import "EasimWorld.h"

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

/// Observes notifications, and is the delegate of accessories and streams.
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

/// What each behavior starts with.
static EasimWorld *world;
static Watch *watch;
static EasimPlug *plug;

static BOOL isWhole(EasimPlug *one) {
  for (NSDictionary *state in [[world call:@"accessory.list" with:[NSDictionary dictionary]] objectForKey:@"accessories"]) {
    if ([[state objectForKey:@"accessory"] isEqualToString:[one name]]) return [[state objectForKey:@"whole"] boolValue];
  }
  return NO;
}

/// Waits until the device has made the accessory known to apps.
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

/// Waits until everything that the server has sent to the app is handled.
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

/// Registers, plugs an echo accessory in and waits for its connect.
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

// MARK: Registration

BEHAVIOR(n1NothingIsPostedBeforeRegistration) {
  plug = [world add:@"echo"];
  [plug plugIn];
  waitUntilPublished();
  CHECK([[manager() connectedAccessories] count] == 1);
  settle();
  CHECK([watch->_notes count] == 0);
}

BEHAVIOR(n2EachRegistrationNeedsItsOwnUnregistration) {
  [manager() registerForLocalNotifications];
  plugged();
  [manager() unregisterForLocalNotifications];
  pullAndWait();
  CHECK([[watch seen] isEqualToString:@"+1 -1"]);
}

BEHAVIOR(n3OneOwnerThatUnregistersTwiceMakesAllDeaf) {
  [manager() registerForLocalNotifications];
  plugged();
  [manager() unregisterForLocalNotifications];
  [manager() unregisterForLocalNotifications];
  [plug pull];
  WAIT([[manager() connectedAccessories] count] == 0);
  settle();
  CHECK([watch->_notes count] == 1);
}

BEHAVIOR(n4UnregisteringBelowZeroIsRecordedAndNotCounted) {
  [manager() unregisterForLocalNotifications];
  plugged();
  CHECK([watch->_notes count] == 1);
  CHECK([[world misuses] length] > 0);
}

BEHAVIOR(n5AndN7TheObjectIsTheManagerOnTheMainThread) {
  plugged();
  CHECK([[watch->_notes objectAtIndex:0] object] == manager());
  CHECK(watch->_allOnMain);
}

BEHAVIOR(n8NothingForWhatWasThereBefore) {
  plug = [world add:@"echo"];
  [plug plugIn];
  waitUntilPublished();
  [manager() registerForLocalNotifications];
  settle();
  CHECK([watch->_notes count] == 0);
  CHECK([[manager() connectedAccessories] count] == 1);
}

BEHAVIOR(n9AndE9AConnectedAccessoryCanBeUsedAtOnce) {
  EASession *session = [[EASession alloc] initWithAccessory:plugged() forProtocol:echo];
  CHECK(session != nil);
  CHECK([[session inputStream] streamStatus] == NSStreamStatusNotOpen);
  CHECK([[session outputStream] streamStatus] == NSStreamStatusNotOpen);
}

BEHAVIOR(n10TheDelegateHearsWithoutRegistration) {
  plug = [world add:@"echo"];
  [plug plugIn];
  WAIT(first() != nil);
  EAAccessory *accessory = [first() retain];
  [accessory setDelegate:watch];
  [plug pull];
  WAIT(watch->_delegateCalls == 1);
  CHECK(![accessory isConnected] && [watch->_notes count] == 0);
}

BEHAVIOR(n11AndN12AndN13TheSameObjectKeepsItsIDAndProtocols) {
  EAAccessory *accessory = [plugged() retain];
  NSUInteger number = [accessory connectionID];
  CHECK([accessory isConnected] && number > 0);
  pullAndWait();
  CHECK([watch noted:0] == accessory && [watch noted:1] == accessory);
  CHECK([accessory connectionID] == number && [[accessory protocolStrings] containsObject:echo]);
  CHECK(![accessory isConnected]);
  [plug plugIn];
  WAIT([watch->_notes count] == 3);
  CHECK([watch noted:2] != accessory && [[watch noted:2] connectionID] != number);
}

BEHAVIOR(n14TheListAgreesWithEachNotification) {
  plugged();
  for (int round = 0; round < 5; round++) {
    pullAndWait();
    [plug plugIn];
    WAIT([[watch seen] hasSuffix:@"+1"]);
  }
  CHECK(watch->_listAgreed);
}

BEHAVIOR(n17OthersGoOnWhenOneOwnerUnregistersOnce) {
  [manager() registerForLocalNotifications];
  Watch *other = [[Watch alloc] init];
  plugged();
  [manager() unregisterForLocalNotifications];
  pullAndWait();
  CHECK([other->_notes count] == 2);
}

// MARK: The flicker

BEHAVIOR(f1ConnectWithoutProtocolsDisconnectConnect) {
  [manager() registerForLocalNotifications];
  plug = [world add:@"echo" with:[NSDictionary dictionaryWithObject:[NSArray arrayWithObject:@"flicker"] forKey:@"quirks"]];
  [plug plugIn];
  WAIT([watch->_notes count] == 3);
  CHECK([[watch seen] isEqualToString:@"+0 -0 +1"]);
  CHECK([[watch noted:0] connectionID] != [[watch noted:2] connectionID]);
  CHECK(watch->_listAgreed);
}

BEHAVIOR(f3AndE3ASessionWithAnAccessoryThatWasPulledIsNil) {
  EAAccessory *accessory = [plugged() retain];
  [plug pull];
  WAIT(!isWhole(plug));
  CHECK([[EASession alloc] initWithAccessory:accessory forProtocol:echo] == nil);
}

BEHAVIOR(f11TheAccessoryEndsTheSessionAndStays) {
  EASession *session = openWith(plugged());
  [plug closeSessions];
  WAIT([watch->_input hasSuffix:@"e"] && [watch->_output hasSuffix:@"e"]);
  CHECK([watch->_notes count] == 1 && [[session accessory] isConnected]);
}

// MARK: Suspension

static void post(NSString *name) {
  [[NSNotificationCenter defaultCenter] postNotificationName:name object:nil];
}

BEHAVIOR(s1ASuspendedAppIsToldWhenItRuns) {
  plugged();
  [world suspendApp];
  [plug pull];
  WAIT(!isWhole(plug));
  settle();
  CHECK([watch->_notes count] == 1);
  [world moveAppToForeground];
  WAIT([watch->_notes count] == 2);
}

BEHAVIOR(s2AConnectAndItsDisconnectWhileSuspendedCancelOut) {
  [manager() registerForLocalNotifications];
  settle();
  [world suspendApp];
  plug = [world add:@"echo"];
  [plug plugIn];
  waitUntilPublished();
  [plug unplug];
  WAIT(!isWhole(plug));
  [world moveAppToForeground];
  settle();
  CHECK([watch->_notes count] == 0);
}

BEHAVIOR(s4WithTheModeTheSessionStaysOpen) {
  EASession *session = openWith(plugged());
  post(@"UIApplicationDidEnterBackgroundNotification");
  settle();
  put(session, "still here");
  WAIT(hasRead("still here"));
  post(@"UIApplicationWillEnterForegroundNotification");
  settle();
  CHECK([watch->_notes count] == 1);
}

BEHAVIOR(s5AndF6WithoutTheModeTheBackgroundTakesEverything) {
  openWith(plugged());
  post(@"UIApplicationDidEnterBackgroundNotification");
  WAIT([[watch seen] isEqualToString:@"+1 -1"] && [watch->_input hasSuffix:@"e"] && [watch->_output hasSuffix:@"e"]);
  post(@"UIApplicationWillEnterForegroundNotification");
  WAIT([[watch seen] isEqualToString:@"+1 -1 +1"]);
}

// MARK: Sessions

BEHAVIOR(e1NilForAProtocolThatIsNotOffered) {
  CHECK([[EASession alloc] initWithAccessory:plugged() forProtocol:@"com.lawaken.iap2"] == nil);
}

BEHAVIOR(e2NilForAProtocolThatIsNotDeclared) {
  CHECK([[EASession alloc] initWithAccessory:plugged() forProtocol:@"com.example.undeclared"] == nil);
}

BEHAVIOR(e4ASecondSessionClosesTheFirst) {
  EAAccessory *accessory = plugged();
  openWith(accessory);
  EASession *second = [[EASession alloc] initWithAccessory:accessory forProtocol:echo];
  CHECK(second != nil);
  WAIT([watch->_input hasSuffix:@"e"] && [watch->_output hasSuffix:@"e"]);
}

BEHAVIOR(e5AccessoriesHaveSessionsSideBySide) {
  EASession *one = openWith(plugged());
  EasimPlug *other = [world add:@"lawk-view" with:[NSDictionary dictionaryWithObject:@"echo" forKey:@"behavior"]];
  [other plugIn];
  WAIT([watch->_notes count] == 2);
  EASession *two = [[EASession alloc] initWithAccessory:[watch noted:1] forProtocol:@"com.lawaken.iap2"];
  Watch *second = [[Watch alloc] init];
  [second schedule:two];
  WAIT([second->_output hasPrefix:@"os"]);
  put(one, "one");
  put(two, "two");
  WAIT(hasRead("one") && [second->_read isEqualToData:[NSData dataWithBytes:"two" length:3]]);
}

BEHAVIOR(e7AndE12AReopenedSessionWorksAtOnce) {
  EAAccessory *accessory = plugged();
  for (int round = 0; round < 5; round++) {
    [watch->_input setString:@""];
    [watch->_output setString:@""];
    [watch->_read setLength:0];
    EASession *session = openWith(accessory);
    put(session, "again");
    WAIT(hasRead("again"));
    closeStreams(session);
    [session release];
  }
}

BEHAVIOR(e10AndT21ASessionKnowsNothingOfMessages) {
  EASession *session = openWith(plugged());
  put(session, "two ");
  put(session, "writes");
  WAIT(hasRead("two writes"));
}

BEHAVIOR(e11AStreamKeepsASessionThatWasLetGo) {
  EASession *session = openWith(plugged());
  NSOutputStream *output = [[session outputStream] retain];
  [[session inputStream] retain];
  [session release];
  [output write:(const uint8_t *)"alone" maxLength:5];
  WAIT(hasRead("alone"));
}

BEHAVIOR(e13AClosedSessionIsOverOnTheServer) {
  EASession *session = openWith(plugged());
  put(session, "last words");
  closeStreams(session);
  [session release];
  NSDictionary *state;
  do {
    spin();
    state = [world call:@"session.state" with:[NSDictionary dictionaryWithObject:@"s1" forKey:@"session"]];
  } while ([[state objectForKey:@"open"] boolValue]);
  CHECK([[state objectForKey:@"bytesWritten"] intValue] == 10);
}

BEHAVIOR(e14TheSessionNamesItsAccessoryAndProtocol) {
  EAAccessory *accessory = plugged();
  EASession *session = [[EASession alloc] initWithAccessory:accessory forProtocol:echo];
  CHECK([session accessory] == accessory && [[session protocolString] isEqualToString:echo]);
}

// MARK: Streams

BEHAVIOR(t1DelegateOpenAndScheduleInAnyOrder) {
  EASession *session = [[EASession alloc] initWithAccessory:plugged() forProtocol:echo];
  for (NSStream *stream in [NSArray arrayWithObjects:[session inputStream], [session outputStream], nil]) {
    [stream open];
    [stream scheduleInRunLoop:[NSRunLoop currentRunLoop] forMode:NSDefaultRunLoopMode];
    [stream setDelegate:watch];
  }
  WAIT([watch->_input isEqualToString:@"o"] && [watch->_output isEqualToString:@"os"]);
}

BEHAVIOR(t3AndT6OpenOnceAndSpaceOnlyAfterAWrite) {
  EASession *session = openWith(plugged());
  settle();
  CHECK([watch->_input isEqualToString:@"o"] && [watch->_output isEqualToString:@"os"]);
  put(session, "x");
  WAIT([watch->_output isEqualToString:@"oss"]);
}

BEHAVIOR(t4BytesAreToldAgainWhileSomeAreLeft) {
  watch->_readSize = 1;
  put(openWith(plugged()), "seven77");
  WAIT(hasRead("seven77"));
  CHECK([watch->_input isEqualToString:@"obbbbbbb"]);
}

BEHAVIOR(t5AStreamCanBePolledWithoutDelegateAndSchedule) {
  EASession *session = [[EASession alloc] initWithAccessory:plugged() forProtocol:echo];
  [[session inputStream] open];
  [[session outputStream] open];
  WAIT([[session outputStream] hasSpaceAvailable]);
  CHECK(put(session, "polled") == 6);
  WAIT([[session inputStream] hasBytesAvailable]);
  uint8_t buffer[16];
  CHECK([[session inputStream] read:buffer maxLength:16] == 6);
  CHECK([[session inputStream] read:buffer maxLength:16] == 0);
  CHECK([[session inputStream] streamStatus] == NSStreamStatusOpen);
  pullAndWait();
  WAIT([[session inputStream] read:buffer maxLength:16] == 0 &&
       [[session inputStream] streamStatus] == NSStreamStatusAtEnd);
}

/// Writes as much as there is room for, and checks that a full stream takes nothing.
static NSUInteger fill(EASession *session) {
  static uint8_t block[32768];
  NSUInteger sum = 0;
  NSInteger count;
  [plug stall];
  for (int round = 0; round < 10000; round++) {
    count = [[session outputStream] write:block maxLength:sizeof block];
    if (count > 0) sum += (NSUInteger)count;
    if (count == 0 && ![[session outputStream] hasSpaceAvailable]) {
      // The server may still take some.
      for (int turn = 0; turn < 20; turn++) spin();
      if (![[session outputStream] hasSpaceAvailable]) break;
    }
  }
  return sum;
}

BEHAVIOR(t7AndT8AndT18AWriteTakesWhatThereIsRoomFor) {
  EASession *session = openWith(plugged());
  NSUInteger written = fill(session);
  CHECK(![[session outputStream] hasSpaceAvailable]);
  CHECK(put(session, "no room") == 0);
  CHECK([[session outputStream] streamStatus] == NSStreamStatusOpen);
  [plug flow];
  WAIT([watch->_read length] == written);
  WAIT([[session outputStream] hasSpaceAvailable]);
  CHECK(put(session, "room") == 4);
}

BEHAVIOR(t9AWriteAfterTheEndIsABrokenPipe) {
  EASession *session = openWith(plugged());
  pullAndWait();
  WAIT(put(session, "too late") == -1);
  CHECK([[[session outputStream] streamError] code] == EPIPE);
  CHECK([[session outputStream] streamStatus] == NSStreamStatusError);
}

BEHAVIOR(t10TheEndComesOnBothStreamsAfterWhatHadArrived) {
  EASession *session = openWith(plugged());
  watch->_reads = NO;
  put(session, "arrived");
  WAIT([watch->_input hasSuffix:@"b"]);
  pullAndWait();
  CHECK(![watch->_input hasSuffix:@"e"]);
  uint8_t buffer[16];
  CHECK([[session inputStream] read:buffer maxLength:16] == 7);
  WAIT([watch->_input hasSuffix:@"e"] && [watch->_output hasSuffix:@"e"]);
}

BEHAVIOR(t13ReadIsZeroAtTheEnd) {
  EASession *session = openWith(plugged());
  pullAndWait();
  WAIT([watch->_input hasSuffix:@"e"]);
  uint8_t buffer[16];
  CHECK([[session inputStream] read:buffer maxLength:16] == 0);
  CHECK([[session inputStream] streamStatus] == NSStreamStatusAtEnd);
}

BEHAVIOR(t14NothingIsToldAfterCloseAndClosingTwiceIsHarmless) {
  EASession *session = openWith(plugged());
  closeStreams(session);
  closeStreams(session);
  NSString *before = [watch->_input stringByAppendingString:watch->_output];
  pullAndWait();
  settle();
  CHECK([[watch->_input stringByAppendingString:watch->_output] isEqualToString:before]);
  CHECK([[session inputStream] streamStatus] == NSStreamStatusClosed);
}

BEHAVIOR(t19EveryByteOfTheBatchesOfTheFieldArrives) {
  EASession *session = openWith(plugged());
  for (NSString *size in [@"128 10240 32768 65536" componentsSeparatedByString:@" "]) {
    NSMutableData *data = [NSMutableData dataWithLength:(NSUInteger)[size integerValue]];
    for (NSUInteger index = 0; index < [data length]; index++) ((uint8_t *)[data mutableBytes])[index] = (uint8_t)(index * 7);
    [watch->_read setLength:0];
    NSUInteger sent = 0;
    while (sent < [data length]) {
      NSInteger count = [[session outputStream] write:(const uint8_t *)[data bytes] + sent maxLength:[data length] - sent];
      if (count < 0) break;
      sent += (NSUInteger)count;
      if (count == 0) spin();
    }
    WAIT([watch->_read isEqualToData:data]);
  }
}

BEHAVIOR(t22AndT23TheStreamsAreTheSameObjectsAndTheirOwnDelegates) {
  EASession *session = [[EASession alloc] initWithAccessory:plugged() forProtocol:echo];
  NSInputStream *input = [session inputStream];
  CHECK(input == [session inputStream] && [session outputStream] == [session outputStream]);
  CHECK((id)[input delegate] == (id)input);
  NSUInteger count = [watch retainCount];
  [input setDelegate:watch];
  CHECK([watch retainCount] == count && (id)[input delegate] == (id)watch);
  [input setDelegate:nil];
  CHECK((id)[input delegate] == (id)input);
}

// MARK: The picker

/// A block by its layout, for a compiler without blocks.
@interface Completion : NSObject {
 @public
  int _flags, _reserved;
  void (*_invoke)(const void *block, NSError *error);
}
@end

static NSInteger pickerCode = -2;
static NSString *seenAtCompletion;

static void completed(const void *block, NSError *error) {
  pickerCode = error ? [error code] : -1;
  seenAtCompletion = [[watch seen] retain];
}

@implementation Completion
- (id)init {
  if ((self = [super init])) _invoke = completed;
  return self;
}
- (id)copy { return [self retain]; }
@end

static void pick(void) {
  pickerCode = -2;
  [manager() showBluetoothAccessoryPickerWithNameFilter:nil completion:[[Completion alloc] init]];
  WAIT(pickerCode != -2);
}

BEHAVIOR(p2AndN6AChoiceConnectsWithTheSelectionAndCompletes) {
  [manager() registerForLocalNotifications];
  plug = [world add:@"echo"];
  [world choose:plug or:nil];
  pick();
  CHECK(pickerCode == -1 && [seenAtCompletion isEqualToString:@"+1"]);
  CHECK([[[watch->_notes objectAtIndex:0] userInfo] objectForKey:EAAccessorySelectedKey] == [watch noted:0]);
  pullAndWait();
  [plug plugIn];
  WAIT([watch->_notes count] == 3);
  CHECK([[[watch->_notes objectAtIndex:2] userInfo] objectForKey:EAAccessorySelectedKey] == nil);
}

BEHAVIOR(p3EachWayOfFailingHasItsError) {
  plugged();
  [world choose:plug or:nil];
  pick();
  CHECK(pickerCode == EABluetoothAccessoryPickerAlreadyConnected);
  [world choose:nil or:@"notFound"];
  pick();
  CHECK(pickerCode == EABluetoothAccessoryPickerResultNotFound);
  [world choose:nil or:@"cancelled"];
  pick();
  CHECK(pickerCode == EABluetoothAccessoryPickerResultCancelled);
  [world choose:nil or:@"failed"];
  pick();
  CHECK(pickerCode == EABluetoothAccessoryPickerResultFailed);
}

// ALL: made by the script from the lines above.
#include "behaviors.inc"

int main(int count, char **words) {
  @autoreleasepool {
    for (size_t index = 0; index < sizeof behaviors / sizeof behaviors[0]; index++) {
      if (count < 2) {
        printf("%s\n", behaviors[index].name);
      } else if (strcmp(words[1], behaviors[index].name) == 0) {
        world = [[EasimWorld alloc] init];
        watch = [[Watch alloc] init];
        manager();
        WAIT([[world call:@"app.list" with:[NSDictionary dictionary]] objectForKey:@"apps"] != nil);
        [manager() connectedAccessories];
        behaviors[index].play();
        if (failures) printf("%s\n%s\n", [[world timeline] UTF8String], [[world misuses] UTF8String]);
        return failures ? 1 : 0;
      }
    }
  }
  return count < 2 ? 0 : 2;
}
